//! Numbers that are judged and not kept: whether cells are written as those above them, many at a time. Their digits are
//! looked at and not turned into numbers.
//!
//! With AVX2 and BMI2, where the processor has both; every other one takes such cells one by one, with the same answers.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
pub use avx2::{judge, possible};
#[cfg(not(target_arch = "x86_64"))]
pub use nowhere::{judge, possible};

/// For each column, as a bit, whether a number with two decimals is what is expected there, and a whole one.
pub struct Expected {
    decimals: Vec<u8>,
    whole: Vec<u8>,
}

/// Bytes of bits that are read together.
const BYTES: usize = size_of::<u64>();

impl Expected {
    /// Of so many columns, none of which has a number yet.
    pub fn new(columns: usize) -> Self {
        let bytes = columns / 8 + BYTES;
        Self {
            decimals: vec![0; bytes],
            whole: vec![0; bytes],
        }
    }

    /// Sets what is expected of a column.
    pub fn set(&mut self, column: usize, decimals: bool, whole: bool) {
        let bit = 1 << (column % 8);
        for (bits, flag) in [(&mut self.decimals, decimals), (&mut self.whole, whole)] {
            let byte = &mut bits[column / 8];
            *byte = if flag { *byte | bit } else { *byte & !bit };
        }
    }

    /// The bits of a column and those after it, 57 at least.
    #[inline(always)]
    pub fn from(&self, column: usize) -> Option<(u64, u64)> {
        let bits = |bits: &[u8]| {
            let bytes = bits.get(column / 8..)?.first_chunk::<BYTES>()?;
            Some(u64::from_le_bytes(*bytes) >> (column % 8))
        };
        Some((bits(&self.decimals)?, bits(&self.whole)?))
    }
}

/// What was passed over: cells, their bytes, and whether a number ends with a zero after its point.
pub struct Judged {
    pub cells: usize,
    pub next: usize,
    pub padded: bool,
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // since Rust 1.87 those without pointers may be called as they are
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_set1_epi8, _mm256_sub_epi8, _pext_u64,
    };

    use super::{Expected, Judged, Range};
    use crate::vectors::BLOCK;

    pub fn possible() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    }

    /// A bit for each byte that is of a kind.
    struct Marks {
        quotes: u64,
        commas: u64,
        digits: u64,
        zeros: u64,
        ones: u64,
        points: u64,
        minuses: u64,
    }

    /// Safety: AVX2 is there.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn marks(block: &[u8; BLOCK]) -> Marks {
        // SAFETY: AVX2 is there. The loads need no alignment and read 32 bytes each, as many as the halves have.
        unsafe {
            let low = _mm256_loadu_si256(block.as_ptr().cast());
            let high = _mm256_loadu_si256(block.as_ptr().add(BLOCK / 2).cast());
            let bits = |low: __m256i, high: __m256i| {
                let (low, high) = (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high));
                u64::from(low as u32) | u64::from(high as u32) << 32
            };
            let is = |byte: u8| {
                let wanted = _mm256_set1_epi8(byte as i8);
                bits(
                    _mm256_cmpeq_epi8(low, wanted),
                    _mm256_cmpeq_epi8(high, wanted),
                )
            };
            let digits = |bytes: __m256i| {
                let above = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8));
                _mm256_cmpeq_epi8(_mm256_min_epu8(above, _mm256_set1_epi8(9)), above)
            };
            Marks {
                quotes: is(b'"'),
                commas: is(b','),
                digits: bits(digits(low), digits(high)),
                zeros: is(b'0'),
                ones: is(b'1'),
                points: is(b'.'),
                minuses: is(b'-'),
            }
        }
    }

    /// Whether so many digits stand together that the number may be longer than one that is printed.
    #[inline(always)]
    fn long(digits: u64) -> u64 {
        let two = digits & (digits >> 1);
        let four = two & (two >> 2);
        let eight = four & (four >> 4);
        eight & (eight >> 8)
    }

    /// Passes over the cells from `at` on that are numbers in quotes, such as programs print, and of the shape that is
    /// expected of their column, or `"-1"`. It stops early where any is something else, and near the line's end.
    pub fn judge(line: &[u8], at: usize, cells: Range<usize>, expected: &Expected) -> Judged {
        // SAFETY: `possible` was asked before.
        unsafe { judge_blocks(line, at, cells, expected) }
    }

    /// Safety: AVX2, BMI2 and what came before them are there.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn judge_blocks(
        line: &[u8],
        at: usize,
        cells: Range<usize>,
        expected: &Expected,
    ) -> Judged {
        let (mut cell, mut next, mut padded) = (cells.start, at, 0);
        while cell < cells.end {
            let Some(block) = line.get(next..).and_then(<[u8]>::first_chunk) else {
                break;
            };
            // SAFETY: AVX2 is there.
            let is = unsafe { marks(block) };
            let mut commas = is.commas;
            let left = cells.end - cell;
            while commas.count_ones() as usize > left {
                commas ^= 1 << commas.ilog2();
            }
            let Some(last) = commas.checked_ilog2() else {
                break;
            };
            let length = last + 1;
            let within = u64::MAX >> (64 - length);
            let begins = (commas << 1 | 1) & within;
            let ends = commas >> 1;
            let firsts = begins << 1;
            let known = is.quotes | is.commas | is.digits | is.points | is.minuses;
            let odd = !known
                | (is.quotes ^ (begins | ends))
                | (firsts & !(is.digits | is.minuses))
                // Two digits follow a point, and nothing but "-1" has a minus.
                | (is.points & !(ends >> 3))
                | (is.minuses & !(firsts & (is.ones >> 1) & (ends >> 2)))
                // A zero is a first digit only where it is all there is before the point or the end.
                | ((is.zeros & firsts) << 1 & is.digits)
                | long(is.digits);
            let Some((decimals, whole)) = expected.from(cell) else {
                break;
            };
            let found = commas.count_ones();
            // SAFETY: BMI2 is there, which is all these need.
            let (with_point, unlimited) = unsafe {
                (
                    _pext_u64(is.points << 4, commas),
                    _pext_u64(is.minuses << 3, commas),
                )
            };
            let unexpected = with_point & !decimals | !(with_point | unlimited | whole);
            if odd & within != 0 || unexpected & (u64::MAX >> (64 - found)) != 0 {
                break;
            }
            padded |= is.points << 2 & is.zeros & within;
            cell += found as usize;
            next += length as usize;
        }
        Judged {
            cells: cell - cells.start,
            next,
            padded: padded != 0,
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod nowhere {
    use super::{Expected, Judged, Range};

    pub fn possible() -> bool {
        false
    }

    pub fn judge(_: &[u8], next: usize, _: Range<usize>, _: &Expected) -> Judged {
        Judged {
            cells: 0,
            next,
            padded: false,
        }
    }
}
