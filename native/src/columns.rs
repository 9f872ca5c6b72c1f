//! Columns of whole numbers: what may stand in one, and where its numbers go.

use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

/// Where the numbers of a column go. Threads that read pieces of one file write to different places of the same column,
/// so a place is set without exclusive access to it; that costs no more than a plain write.
#[derive(Clone, Copy)]
pub enum Places<'a> {
    /// As `f64`: the number times `times`, over `over`.
    Floats(&'a [AtomicU64]),
    /// As `i64`: the number times `times`.
    Whole(&'a [AtomicU64]),
    /// As `u8`.
    Bytes(&'a [AtomicU8]),
    /// Nowhere: all of them are this one.
    Same(i64),
}

/// What is in a column, and what becomes of it.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    /// The smallest number that is one.
    pub low: i64,
    /// The largest.
    pub high: i64,
    /// Numbers are hexadecimal, with or without `0x` before them.
    pub hexadecimal: bool,
    pub times: i64,
    pub over: i64,
    pub places: Places<'a>,
}

impl Places<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Floats(places) | Self::Whole(places) => places.len(),
            Self::Bytes(places) => places.len(),
            Self::Same(_) => usize::MAX,
        }
    }
}

/// Numbers of a batch: most are short, and short ones are handled several at a time.
pub trait Number: Copy {
    fn float(self) -> f64;
    fn whole(self) -> i64;
    /// A bound among numbers of this kind.
    fn bound(bound: i64) -> Self;
    fn within(self, low: Self, high: Self) -> bool;
}

impl Number for i64 {
    #[allow(clippy::cast_precision_loss)] // as numpy does it
    fn float(self) -> f64 {
        self as f64
    }

    fn whole(self) -> i64 {
        self
    }

    fn bound(bound: i64) -> Self {
        bound
    }

    fn within(self, low: Self, high: Self) -> bool {
        low <= self && self <= high
    }
}

/// At most eight digits: bounds beyond those of `i32` are beyond all numbers.
impl Number for i32 {
    fn float(self) -> f64 {
        f64::from(self)
    }

    fn whole(self) -> i64 {
        i64::from(self)
    }

    fn bound(bound: i64) -> Self {
        bound.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }

    fn within(self, low: Self, high: Self) -> bool {
        low <= self && self <= high
    }
}

impl Column<'_> {
    /// The only number that there is in the column, if that is so, and it is written in decimal.
    pub fn only_decimal(&self) -> Option<i64> {
        match self.places {
            Places::Same(same) if !self.hexadecimal && self.hold(&[same]) => Some(same),
            _ => None,
        }
    }

    /// Whether all of these can stand in the column.
    fn hold<N: Number>(&self, numbers: &[N]) -> bool {
        let (low, high) = match self.places {
            Places::Same(same) => (self.low.max(same), self.high.min(same)),
            _ => (self.low, self.high),
        };
        let (low, high) = (N::bound(low), N::bound(high));
        // Not `all`: without a way out the loop is done several numbers at a time.
        numbers
            .iter()
            .fold(true, |fits, number| fits & number.within(low, high))
    }

    /// Puts numbers to their places from `row` on, if all of them fit.
    pub fn take<N: Number>(&self, row: usize, numbers: &[N]) -> bool {
        let fit = self.hold(numbers);
        if fit {
            self.put(row, numbers);
        }
        fit
    }

    /// Puts numbers to their places from `row` on.
    pub fn put<N: Number>(&self, row: usize, numbers: &[N]) {
        match self.places {
            #[allow(clippy::cast_precision_loss)] // as numpy does it
            Places::Floats(places) => {
                let (times, over) = (self.times as f64, self.over as f64);
                for (place, number) in places[row..].iter().zip(numbers) {
                    let number = number.float() * times / over;
                    place.store(number.to_bits(), Ordering::Relaxed);
                }
            }
            Places::Whole(places) => {
                for (place, number) in places[row..].iter().zip(numbers) {
                    let number = number.whole().wrapping_mul(self.times);
                    place.store(number as u64, Ordering::Relaxed);
                }
            }
            Places::Bytes(places) => {
                for (place, number) in places[row..].iter().zip(numbers) {
                    place.store(number.whole() as u8, Ordering::Relaxed);
                }
            }
            Places::Same(_) => {}
        }
    }
}

/// The number a cell writes: digits, at most 18, with or without a minus; `None` for all else.
fn decimal(text: &[u8]) -> Option<i64> {
    let (minus, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits
        .iter()
        .fold(0, |number, digit| number * 10 + i64::from(digit - b'0'));
    Some(if minus { -number } else { number })
}

/// The number a hexadecimal cell writes, at most 15 digits; `None` for all else.
fn hexadecimal(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        Some(number * 16 + i64::from(char::from(*digit).to_digit(16)?))
    })
}

pub fn cell(text: &[u8], column: &Column) -> Option<i64> {
    if column.hexadecimal {
        hexadecimal(text)
    } else {
        decimal(text)
    }
    .filter(|number| number.within(column.low, column.high))
}
