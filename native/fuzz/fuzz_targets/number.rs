//! Decimal text to numbers, both ways of reading it, against the standard parser to the bit.

#![no_main]

// The scanner uses what this target does not.
#[allow(dead_code)]
#[path = "../../src/number.rs"]
mod number;
mod reference;

use libfuzzer_sys::fuzz_target;

/// Digits, or digits, a point and two digits, with or without a minus before them and no zeros before the first digit:
/// what a short cell may look like. Gives whether it has a point.
fn short_shape(text: &[u8]) -> Option<bool> {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, cents, point): (&[u8], &[u8], bool) = match text {
        [whole @ .., b'.', tenths, cents] => (whole, &[*tenths, *cents], true),
        _ => (text, &[], false),
    };
    let printed = whole == b"0" || whole.first().is_some_and(|digit| *digit != b'0');
    let digits = whole.iter().chain(cents).all(u8::is_ascii_digit);
    (printed && digits).then_some(point)
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
        let expected = short_shape(short).zip(reference::number(short));
        assert_eq!(
            number::short_decimal(word, length as u32)
                .map(|(value, point)| (point, value.to_bits())),
            expected.map(|(point, value)| (point, value.to_bits())),
            "{short:?}"
        );
        if let reference::Content::Number(_, Some(decimals), _) = reference::content(short) {
            assert_eq!(number::shape(short), decimals, "{short:?}");
        }
    }

    // What is printed, and what is a word, against the whole text.
    let content = reference::content(text);
    let is_number = matches!(content, reference::Content::Number(..));
    assert_eq!(
        number::decimal(text).is_some() && number::is_printed(text),
        is_number
    );
    let word_of = match content {
        reference::Content::Absent => Some(number::Word::Absent),
        reference::Content::Flag(1.0) => Some(number::Word::Yes),
        reference::Content::Flag(_) => Some(number::Word::No),
        _ => None,
    };
    assert_eq!(number::word_of(text), word_of);
});
