//! Decimal text to `f64`, correctly rounded.

/// Blanks that may stand around a number in a cell.
const fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// `text` without blanks at its ends.
pub fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text {
        if !is_blank(*first) {
            break;
        }
        text = rest;
    }
    while let [rest @ .., last] = text {
        if !is_blank(*last) {
            break;
        }
        text = rest;
    }
    text
}

fn skip_digits(text: &[u8]) -> (&[u8], bool) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (&text[digits..], digits > 0)
}

/// `[+-] (digits [. digits?] | . digits) [e [+-] digits]`, the whole of `text`.
fn is_decimal(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    };
    let (mut rest, whole) = skip_digits(unsigned);
    let mut fraction = false;
    if let [b'.', after @ ..] = rest {
        (rest, fraction) = skip_digits(after);
    }
    if !(whole || fraction) {
        return false;
    }
    if let [b'e' | b'E', after @ ..] = rest {
        let unsigned = match after {
            [b'+' | b'-', digits @ ..] => digits,
            _ => after,
        };
        let (end, exponent) = skip_digits(unsigned);
        return exponent && end.is_empty();
    }
    rest.is_empty()
}

/// The finite number that `text` (blanks at the ends allowed) writes in decimal; `None` for anything else,
/// `inf`, `nan` and numbers too large for `f64` included.
pub fn decimal(text: &[u8]) -> Option<f64> {
    let text = trim(text);
    if !is_decimal(text) {
        return None;
    }
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    number.is_finite().then_some(number)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Number of bytes before the first `"` in `word` (lowest byte first); 8 where it has none.
#[inline]
pub fn bytes_before_quote(word: u64) -> u32 {
    let quotes = word ^ (ONES * 0x22);
    // The classic zero-byte test: exact up to and including the first zero byte, which is all that is used.
    let found = quotes.wrapping_sub(ONES) & !quotes & HIGHS;
    found.trailing_zeros() / 8
}

/// Value of the first `length` (1 to 8) bytes of `word` where they are `digits` or `digits.dd`, with or without a
/// minus before them, else `None`.
///
/// The shapes are handled without a branch between them: they alternate from cell to cell, which no branch predictor
/// learns. Eight digits and a division by 1 or 100 are exact and correctly rounded, as `decimal` is.
#[inline]
pub fn short_decimal(word: u64, length: u32) -> Option<f64> {
    let minus = word & 0xff == u64::from(b'-');
    let unsigned = word ^ if minus { u64::from(b'-' ^ b'0') } else { 0 };
    // Right-align: the last character in the top byte, '0' in the bytes before the first.
    let digits = unsigned.checked_shl(64 - 8 * length)?;
    let padding = ZEROS.checked_shr(8 * length).unwrap_or(0);
    let aligned = digits | padding;
    let point = ((aligned >> 40) & 0xff) == u64::from(b'.');
    let closed_up =
        (aligned & 0xffff_0000_0000_0000) | ((aligned & 0xff_ffff_ffff) << 8) | u64::from(b'0');
    let eight = if point { closed_up } else { aligned } ^ ZEROS;
    // A byte above 9 carries into its high bit when 0x76 is added; one of 0x80 and more has it already.
    let not_digits = (eight.wrapping_add(0x7676_7676_7676_7676) | eight) & HIGHS != 0;
    // At least one digit, and one before the point: "-", ".25" and "-.25" are left to `decimal`.
    let least = 1 + u32::from(minus) + if point { 3 } else { 0 };
    if not_digits || length < least {
        return None;
    }
    let pairs = eight.wrapping_mul(10).wrapping_add(eight >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    let number = (low.wrapping_add(high) >> 32) as u32;
    let scale = if point { 100.0 } else { 1.0 };
    Some(f64::from(number) / if minus { -scale } else { scale })
}

#[cfg(test)]
#[allow(clippy::float_cmp)] // the numbers are to be exactly those
mod tests {
    use super::*;

    fn word(text: &str) -> u64 {
        let mut bytes = [b'"'; 8];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        u64::from_le_bytes(bytes)
    }

    #[test]
    fn short_decimals_agree_with_the_standard_parser() {
        for hundredths in (0..2_000_000_u32).step_by(7) {
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            let length = u32::try_from(text.len()).unwrap();
            let value = short_decimal(word(&text), length);
            assert_eq!(
                value.map(f64::to_bits),
                text.parse::<f64>().ok().map(f64::to_bits),
                "{text}"
            );
        }
        for whole in (0..100_000_000_u32).step_by(9973) {
            let text = whole.to_string();
            let length = u32::try_from(text.len()).unwrap();
            assert_eq!(
                short_decimal(word(&text), length),
                Some(f64::from(whole)),
                "{text}"
            );
            let negative = format!("-{}", whole / 10);
            let length = u32::try_from(negative.len()).unwrap();
            let value = short_decimal(word(&negative), length);
            assert_eq!(
                value.map(f64::to_bits),
                negative.parse::<f64>().ok().map(f64::to_bits),
                "{negative}"
            );
        }
    }

    #[test]
    fn short_decimals_turn_away_every_other_shape() {
        for text in [
            "-", "--1", "-.25", "1-2", "1.5", "1.234", ".12", ".", "..12", "1.2.34", "12a", "a.00",
            "1e5", " 1", "+1", "1.2 ",
        ] {
            let length = u32::try_from(text.len()).unwrap();
            assert_eq!(short_decimal(word(text), length), None, "{text}");
        }
        assert_eq!(short_decimal(word(""), 0), None);
    }

    #[test]
    fn quotes_are_found_where_they_are() {
        assert_eq!(bytes_before_quote(u64::from_le_bytes(*b"1.23\",\"4")), 4);
        assert_eq!(
            bytes_before_quote(u64::from_le_bytes(*b"\"\"\"\"\"\"\"\"")),
            0
        );
        assert_eq!(bytes_before_quote(u64::from_le_bytes(*b"1234567\"")), 7);
        assert_eq!(bytes_before_quote(u64::from_le_bytes(*b"12345678")), 8);
        assert_eq!(bytes_before_quote(u64::from_le_bytes(*b"!#!#!#\x22#")), 6);
    }

    #[test]
    fn decimals_are_the_whole_text_and_finite() {
        assert_eq!(decimal(b"    73.1 "), Some(73.1));
        assert_eq!(decimal(b"-1"), Some(-1.0));
        assert_eq!(decimal(b"+.5e-3"), Some(0.0005));
        assert_eq!(decimal(b"5."), Some(5.0));
        assert_eq!(
            decimal(b"123456789012345678901234567890"),
            Some(1.234_567_890_123_456_8e29)
        );
        for text in [
            "", " ", "-", ".", "e5", "1e", "1e+", "nan", "-nan", "inf", "infinity", "1_000",
            "0x1f", "1,5", "1 2",
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        assert_eq!(decimal(b"1e999"), None);
    }
}
