//! What the scanner promises, written again as plainly as it can be: no words, no shapes, no memory of cells.
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

/// Start and end of the text of each cell of a line.
#[allow(dead_code)] // each target takes what it needs
pub fn cells(line: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    if line.is_empty() {
        return found;
    }
    let mut at = 0;
    loop {
        let (text, next) = cell(line, at);
        found.push(text);
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
#[allow(dead_code)] // each target takes what it needs
pub fn lines(data: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for piece in data.split_inclusive(|byte| *byte == b'\n') {
        let line = piece.strip_suffix(b"\n").unwrap_or(piece);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        found.push((start, start + line.len()));
        start += piece.len();
    }
    found
}
