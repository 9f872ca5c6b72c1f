//! Decimal text to numbers, both ways of reading it, against the standard parser to the bit.

#![no_main]

// The scanner uses what this target does not.
#[allow(dead_code)]
#[path = "../../src/number.rs"]
mod number;
mod reference;

use libfuzzer_sys::fuzz_target;

/// Digits, or digits, a point and two digits, with or without a minus before them: what a short cell may look like.
fn is_short_shape(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = match text {
        [whole @ .., b'.', _, _] => whole,
        _ => text,
    };
    let cents = &text[text.len() - (text.len() - whole.len()).saturating_sub(1)..];
    !whole.is_empty() && whole.iter().chain(cents).all(u8::is_ascii_digit)
}

fuzz_target!(|text: &[u8]| {
    let plain = reference::number(text);
    assert_eq!(
        number::decimal(text).map(f64::to_bits),
        plain.map(f64::to_bits)
    );

    // Every beginning of the text as a short cell, whatever follows it in the word.
    let mut bytes = [b'"'; 8];
    let used = text.len().min(8);
    bytes[..used].copy_from_slice(&text[..used]);
    let word = u64::from_le_bytes(bytes);
    let quote = bytes.iter().position(|byte| *byte == b'"').unwrap_or(8);
    assert_eq!(number::bytes_before_quote(word) as usize, quote);
    assert_eq!(number::short_decimal(word, 0), None);
    for length in 1..=used {
        let short = &text[..length];
        let expected = if is_short_shape(short) {
            reference::number(short)
        } else {
            None
        };
        assert_eq!(
            number::short_decimal(word, length as u32).map(f64::to_bits),
            expected.map(f64::to_bits),
            "{short:?}"
        );
    }
});
