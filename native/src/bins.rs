//! The bins of fio, JSON objects of whole numbers by whole numbers, `"bins" : {"40192" : 34854, "40704" : 10472}`: taken
//! out of a text to two columns.
//!
//! The plain Python twin is `esxparse/formats/fio/integers_twin.py`: what one does, the other does.

use memchr::{memchr, memchr2_iter, memchr_iter, memmem, memrchr2};

/// Digits of the longest number: it fits an `i64` whatever they are.
const MOST_DIGITS: usize = 18;

const NAME: &[u8] = b"\"bins\"";

struct Cursor<'a> {
    left: &'a [u8],
}

impl Cursor<'_> {
    fn skip_blanks(&mut self) {
        // fio indents: most of an object of bins is blanks.
        while let Some(left) = self.left.strip_prefix(b"        ") {
            self.left = left;
        }
        let blanks = self
            .left
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        self.left = &self.left[blanks.count()..];
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        let (first, left) = self.left.split_first()?;
        (*first == wanted).then(|| self.left = left)
    }

    fn number(&mut self) -> Option<i64> {
        let mut value = 0;
        let mut digits = 0;
        for byte in self.left.iter().take(MOST_DIGITS + 1) {
            if !byte.is_ascii_digit() {
                break;
            }
            value = value * 10 + i64::from(byte - b'0');
            digits += 1;
        }
        let sound = digits == 1 || (2..=MOST_DIGITS).contains(&digits) && self.left[0] != b'0';
        self.left = &self.left[digits..];
        sound.then_some(value)
    }
}

impl<'a> Cursor<'a> {
    /// Takes an object, if each of its keys is larger than the one before, and puts its numbers to the others.
    fn object(&mut self, keys: &mut Vec<i64>, values: &mut Vec<i64>) -> Option<&'a [u8]> {
        let json = self.left;
        let mut before = -1;
        self.take(b'{')?;
        self.skip_blanks();
        while self.left.first() != Some(&b'}') {
            self.take(b'"')?;
            let key = self.number()?;
            self.take(b'"')?;
            self.skip_blanks();
            self.take(b':')?;
            self.skip_blanks();
            let value = self.number()?;
            if key <= before {
                return None;
            }
            before = key;
            keys.push(key);
            values.push(value);
            self.skip_blanks();
            if self.take(b',').is_some() {
                self.skip_blanks();
                if self.left.first() != Some(&b'"') {
                    return None;
                }
            } else if self.left.first() != Some(&b'}') {
                return None;
            }
        }
        self.take(b'}')?;
        Some(&json[..json.len() - self.left.len()])
    }
}

/// A text whose bins were taken out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The text, with the number of an object, from 0, in the place of each that was taken. All else stays on its line
    /// and in its column.
    pub text: Vec<u8>,
    /// Of all objects, one after the other.
    pub keys: Vec<i64>,
    pub values: Vec<i64>,
    /// How many numbers there are up to the end of each object.
    pub ends: Vec<i64>,
}

impl Taken {
    /// Puts a number in the place of an object, if there is room for it.
    fn put(&mut self, object: &[u8]) -> bool {
        let number = self.ends.len().to_string();
        let last = memrchr2(b'\r', b'\n', object).map_or(0, |at| at + 1);
        if last == 0 && object.len() < number.len() {
            return false;
        }
        self.text.extend_from_slice(number.as_bytes());
        if memchr(b'\r', object).is_none() {
            let lines = memchr_iter(b'\n', object).count();
            self.text.resize(self.text.len() + lines, b'\n');
        } else {
            let ends = memchr2_iter(b'\r', b'\n', object).map(|at| object[at]);
            self.text.extend(ends);
        }
        let blanks = object.len() - if last == 0 { number.len() } else { last };
        self.text.resize(self.text.len() + blanks, b' ');
        self.ends.push(self.keys.len() as i64);
        true
    }
}

/// Takes the bins out of a text; other objects stay. `None` where `"bins"` names something other than an object: that
/// could be taken for the number of one.
pub fn take(json: &[u8]) -> Option<Taken> {
    let mut taken = Taken::default();
    let mut copied = 0;
    for name in memmem::find_iter(json, NAME) {
        let mut at = Cursor {
            left: &json[name + NAME.len()..],
        };
        at.skip_blanks();
        at.take(b':')?;
        at.skip_blanks();
        if at.left.first() != Some(&b'{') {
            return None;
        }
        let begin = json.len() - at.left.len();
        let before = taken.keys.len();
        let object = at.object(&mut taken.keys, &mut taken.values);
        taken.text.extend_from_slice(&json[copied..begin]);
        copied = begin;
        match object {
            Some(object) if taken.put(object) => copied += object.len(),
            _ => {
                taken.keys.truncate(before);
                taken.values.truncate(before);
            }
        }
    }
    taken.text.extend_from_slice(&json[copied..]);
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::take;

    #[test]
    fn bins_are_taken_and_all_else_stays_where_it_is() {
        let json = b"{\"a\": 1, \"bins\" : {\n  \"7\" : 1,\n  \"80\":0\n }, \"bins\": {\"5\": 6}, \"c\": 2}";
        let found = take(json).unwrap();
        let slim = b"{\"a\": 1, \"bins\" : 0\n\n\n  , \"bins\": 1       , \"c\": 2}";
        assert_eq!(found.text, slim);
        assert_eq!(found.keys, [7, 80, 5]);
        assert_eq!(found.values, [1, 0, 6]);
        assert_eq!(found.ends, [2, 3]);
    }

    #[test]
    fn objects_of_all_else_stay() {
        for odd in [
            "{",
            "{\"1\":2",
            "{\"1\":2,}",
            "{\"1\":2 \"3\":4}",
            "{\"1\":-2}",
            "{\"1\":2.5}",
            "{\"01\":2}",
            "{\"1\":02}",
            "{\"2\":1,\"2\":1}",
            "{\"a\":1}",
            "{1:2}",
            "{\"1\":\"2\"}",
            "{\"1\":1234567890123456789}",
        ] {
            let json = format!("\"bins\":{odd}");
            let found = take(json.as_bytes()).unwrap();
            assert_eq!(found.text, json.as_bytes());
            assert_eq!((found.keys.len(), found.ends.len()), (0, 0));
        }
        assert_eq!(take(b"\"bins\": 3"), None);
    }
}
