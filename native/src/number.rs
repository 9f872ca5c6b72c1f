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

/// Digits before the point of the longest number that a program prints: those of 2^64.
const MOST_DIGITS: usize = 20;

/// Whether a program prints the decimal `text` (blanks at its ends allowed) so: no plus before it, a digit before the
/// point and one after it, no zeros before the first digit, and no more digits than 2^64 has. What is left of two numbers
/// between which bytes were lost often is not.
pub fn is_printed(text: &[u8]) -> bool {
    let text = trim(text);
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let (rest, _) = skip_digits(unsigned);
    let whole = unsigned.len() - rest.len();
    let fraction =
        !matches!(rest, [b'.', after @ ..] if !after.first().is_some_and(u8::is_ascii_digit));
    (1..=MOST_DIGITS).contains(&whole) && (whole == 1 || unsigned[0] != b'0') && fraction
}

/// The shape of a decimal: its digits after the point, nine at most, or `EXPONENT`.
pub fn shape(text: &[u8]) -> u8 {
    let text = trim(text);
    if text.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return EXPONENT;
    }
    let point = text.iter().position(|byte| *byte == b'.');
    point.map_or(0, |point| (text.len() - point - 1).min(9) as u8)
}

/// The shape of a number with an exponent.
pub const EXPONENT: u8 = 10;

/// What a cell that holds no number says, where it is one of the words for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// The text holds no number.
    Absent,
    No,
    Yes,
}

/// The longest of the words.
const LONGEST: usize = 9;

/// The word that `text` is, in capitals or not, blanks at its ends allowed.
pub fn word_of(text: &[u8]) -> Option<Word> {
    let text = trim(text);
    let mut lower = [0; LONGEST];
    lower.get_mut(..text.len())?.copy_from_slice(text);
    lower.make_ascii_lowercase();
    match &lower[..text.len()] {
        b"" | b"-" | b"n/a" | b"nan" | b"-nan" | b"inf" | b"-inf" | b"+inf" | b"infinity"
        | b"1.#qnan" | b"-1.#ind" | b"1.#inf" | b"-1.#inf" => Some(Word::Absent),
        b"yes" | b"y" | b"true" | b"on" => Some(Word::Yes),
        b"no" | b"n" | b"false" | b"off" => Some(Word::No),
        _ => None,
    }
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
/// minus before them and no zeros before the first digit, else `None`; and whether there is a point.
///
/// The shapes are handled without a branch between them: they alternate from cell to cell, which no branch predictor
/// learns. Eight digits and a division by 1 or 100 are exact and correctly rounded, as `decimal` is.
#[inline]
pub fn short_decimal(word: u64, length: u32) -> Option<(f64, bool)> {
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
    // A zero before the first digit is left to `decimal` too.
    let begin = word >> if minus { 8 } else { 0 };
    let zero = (begin & 0xff == u64::from(b'0')) & ((begin >> 8) & 0xff != u64::from(b'.'));
    // One branch for all: most cells pass, and none of the terms is worth a branch of its own.
    #[allow(clippy::needless_bitwise_bool)]
    let other = not_digits | (length < least) | (zero & (length > 1 + u32::from(minus)));
    if other {
        return None;
    }
    let pairs = eight.wrapping_mul(10).wrapping_add(eight >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    let number = (low.wrapping_add(high) >> 32) as u32;
    let scale = if point { 100.0 } else { 1.0 };
    Some((
        f64::from(number) / if minus { -scale } else { scale },
        point,
    ))
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
                value.map(|(value, point)| (value.to_bits(), point)),
                text.parse::<f64>()
                    .ok()
                    .map(|value| (value.to_bits(), true)),
                "{text}"
            );
        }
        for whole in (0..100_000_000_u32).step_by(9973) {
            let text = whole.to_string();
            let length = u32::try_from(text.len()).unwrap();
            assert_eq!(
                short_decimal(word(&text), length),
                Some((f64::from(whole), false)),
                "{text}"
            );
            let negative = format!("-{}", whole / 10);
            let length = u32::try_from(negative.len()).unwrap();
            let value = short_decimal(word(&negative), length);
            assert_eq!(
                value.map(|(value, _)| value.to_bits()),
                negative.parse::<f64>().ok().map(f64::to_bits),
                "{negative}"
            );
        }
    }

    #[test]
    fn short_decimals_turn_away_every_other_shape() {
        for text in [
            "-", "--1", "-.25", "1-2", "1.5", "1.234", ".12", ".", "..12", "1.2.34", "12a", "a.00",
            "1e5", " 1", "+1", "1.2 ", "00", "07", "-01", "00.25", "-01.25",
        ] {
            let length = u32::try_from(text.len()).unwrap();
            assert_eq!(short_decimal(word(text), length), None, "{text}");
        }
        assert_eq!(short_decimal(word(""), 0), None);
    }

    #[test]
    fn what_no_program_prints_is_told() {
        for text in [
            "0",
            "-1",
            "0.00",
            "12.34",
            " 73.1",
            "-0.5",
            "1e-05",
            "1.5E+20",
            "18446744073709551615",
            "10",
        ] {
            assert!(is_printed(text.as_bytes()), "{text}");
        }
        for text in [
            "+1",
            "00",
            "007",
            "-01",
            "01.25",
            "12.",
            ".25",
            "-.5",
            "5.e3",
            "184467440737095516150",
        ] {
            assert!(!is_printed(text.as_bytes()), "{text}");
        }
        assert_eq!(
            [&b"7"[..], b"-7.25", b" 73.1 ", b"1.5e3", b"0.12345678901"].map(shape),
            [0, 2, 1, EXPONENT, 9]
        );
    }

    #[test]
    fn words_are_known_in_capitals_or_not() {
        for text in [
            "", " ", "-", "NaN", "-nan", "INF", "Infinity", "N/A", "   -", "-1.#IND",
        ] {
            assert_eq!(word_of(text.as_bytes()), Some(Word::Absent), "{text}");
        }
        assert_eq!(
            [&b"Yes"[..], b"no", b"TRUE ", b"off"].map(word_of),
            [Word::Yes, Word::No, Word::Yes, Word::No].map(Some)
        );
        for text in ["yes!", "vmnic4", "0,1", "infinity and more", "1"] {
            assert_eq!(word_of(text.as_bytes()), None, "{text}");
        }
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
