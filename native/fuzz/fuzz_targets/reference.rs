//! What the scanner promises, written again as plainly as it can be: no machine words, no memory of cells.
//!
//! The grammar is told in `esxparse/formats/esxtop/scan_twin.py`. Where this and the scanner differ, one of them is
//! wrong.

/// The finite number that `text` writes in decimal, blanks at its ends allowed. The standard parser knows more words
/// than digits (`inf`, `nan`): the alphabet keeps them out.
pub fn number(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_matches([' ', '\t']);
    if !text.bytes().all(|byte| b"0123456789+-.eE".contains(&byte)) {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// What a cell holds.
#[allow(dead_code)] // each target takes what it needs
pub enum Content {
    /// A number as programs print it, the digits after its point (`None` for `-1`), and whether a zero ends it.
    Number(f64, Option<u8>, bool),
    /// A word for a number that is not there.
    Absent,
    /// Yes or no.
    Flag(f64),
    /// Anything else.
    Odd,
}

/// What the text of a cell means.
#[allow(dead_code)]
pub fn content(text: &[u8]) -> Content {
    let Ok(text) = std::str::from_utf8(text) else {
        return Content::Odd;
    };
    let text = text.trim_matches([' ', '\t']);
    if let Some(value) = number(text.as_bytes()) {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, _)) => (mantissa, true),
            None => (unsigned, false),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let digits = (1..=20).contains(&whole.len()) && !whole.starts_with('+');
        let printed = digits && (whole == "0" || !whole.starts_with('0')) && fraction != Some("");
        if !printed {
            return Content::Odd;
        }
        let decimals = fraction.map_or(0, |digits| digits.len().min(9) as u8);
        return match (text, exponent) {
            ("-1", _) => Content::Number(value, None, false),
            (_, true) => Content::Number(value, Some(10), false),
            _ => Content::Number(
                value,
                Some(decimals),
                fraction.is_some_and(|digits| digits.ends_with('0')),
            ),
        };
    }
    match text.to_ascii_lowercase().as_str() {
        "" | "-" | "n/a" | "nan" | "-nan" | "inf" | "-inf" | "+inf" | "infinity" | "1.#qnan"
        | "-1.#ind" | "1.#inf" | "-1.#inf" => Content::Absent,
        "yes" | "y" | "true" | "on" => Content::Flag(1.0),
        "no" | "n" | "false" | "off" => Content::Flag(0.0),
        _ => Content::Odd,
    }
}

/// Start and end of the text of each cell of a line, and whether the next one follows it without a comma.
#[allow(dead_code)]
pub fn cells(line: &[u8]) -> Vec<(usize, usize, bool)> {
    let mut found = Vec::new();
    if line.is_empty() {
        return found;
    }
    let mut at = 0;
    loop {
        let ((start, end), next) = cell(line, at);
        found.push((start, end, next == Some(end)));
        match next {
            Some(next) => at = next,
            None => return found,
        }
    }
}

/// Text of the cell at `at`, and where the next begins; `None` where the line has no more.
fn cell(line: &[u8], at: usize) -> ((usize, usize), Option<usize>) {
    let comma = (at..line.len()).find(|&place| line[place] == b',');
    let end = comma.unwrap_or(line.len());
    for quote in (at..end).filter(|&place| line[place] == b'"') {
        let before = &line[at..quote];
        let before = match std::str::from_utf8(before) {
            Ok(text) => text.trim_matches([' ', '\t']),
            Err(_) => continue,
        };
        if before.is_empty() {
            return quoted(line, quote);
        }
        if before == "-" || number(before.as_bytes()).is_some() {
            return ((at, quote), Some(quote));
        }
    }
    ((at, end), comma.map(|comma| comma + 1))
}

/// A quoted cell runs to the first quote that a comma or the end of the line follows; one that has none keeps its
/// opening quote.
fn quoted(line: &[u8], open: usize) -> ((usize, usize), Option<usize>) {
    for place in open + 1..line.len() {
        if line[place] != b'"' {
            continue;
        }
        if place + 1 == line.len() {
            return ((open + 1, place), None);
        }
        if line[place + 1] == b',' {
            return ((open + 1, place), Some(place + 2));
        }
    }
    ((open, line.len()), None)
}

/// Start and end of each line, line ends left out. No line begins at the end of the data.
#[allow(dead_code)]
pub fn lines(data: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for piece in data.split_inclusive(|byte| *byte == b'\n') {
        let line = piece.strip_suffix(b"\n").unwrap_or(piece);
        let ends = line.iter().rev().take_while(|byte| **byte == b'\r').count();
        found.push((start, start + line.len() - ends));
        start += piece.len();
    }
    found
}
