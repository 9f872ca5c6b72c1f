//! Cells that are plain short numbers in quotes, as nearly all are: found many at a time, read four at a time.
//!
//! With AVX2, where the processor has what `judge` needs too; every other one takes cells one by one, with the same
//! answers.

#[cfg(target_arch = "x86_64")]
pub use avx2::pass;
#[cfg(not(target_arch = "x86_64"))]
pub use nowhere::pass;

/// A cell that is looked at.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Its number in the line.
    pub cell: usize,
    /// Where the number of the first row goes.
    pub place: usize,
    /// What to add to that for each further row.
    pub step: usize,
}

/// Four numbers: `digits`, `digits.dd` or `-1`, and as bits what they look like.
pub struct Four {
    pub values: [f64; 4],
    /// Has a point.
    pub points: u32,
    /// Is `-1`.
    pub unlimited: u32,
    /// Ends with a zero after its point.
    pub padded: u32,
}

/// Takes the cells of a row.
pub trait Take {
    /// Takes four numbers; false where one of them is not written as its column is.
    fn four(&mut self, cells: &[Wanted; 4], numbers: &Four) -> bool;

    /// Takes the cell that begins at `at`, whatever it is.
    fn one(&mut self, cell: usize, at: usize);
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // since Rust 1.87 those without pointers may be called as they are
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _blsr_u64, _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256,
        _mm256_blendv_epi8, _mm256_blendv_pd, _mm256_castpd_si256, _mm256_castsi256_pd,
        _mm256_cmpeq_epi64, _mm256_cmpeq_epi8, _mm256_cvtepu32_epi64, _mm256_div_pd,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_movemask_epi8,
        _mm256_movemask_pd, _mm256_mul_epu32, _mm256_or_si256, _mm256_set1_epi16,
        _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_set1_epi8, _mm256_set1_pd, _mm256_set_epi64x,
        _mm256_setzero_si256, _mm256_slli_epi64, _mm256_sllv_epi64, _mm256_srli_epi64,
        _mm256_srlv_epi64, _mm256_storeu_pd, _mm256_sub_epi64, _mm256_sub_pd, _mm256_subs_epu8,
        _mm256_testz_si256, _mm256_xor_si256, _mm_loadu_si128,
    };

    use super::{Four, Take, Wanted};
    use crate::skip::{skip, INNER};
    use crate::vectors::BLOCK;

    /// Cells that are found before they are read: where they begin stays next to the processor.
    const MOST: usize = 256;

    /// Cells that nobody wants, so many that they are passed over without a note of where each begins.
    const FAR: usize = 48;

    /// Ends of cells in a block that are noted without a look at how many there are: few blocks have more.
    const USUAL: usize = 12;

    /// Bytes before the first cell: eight before the end of each are read.
    const BEFORE: usize = 8;

    /// Where cells begin, counted from the first of them.
    type Begins = [u32; MOST + BLOCK];

    /// Bytes after the first cell in which others are found: their number fits.
    const FARTHEST: usize = 1 << 31;

    /// A bit for each byte that is this one.
    ///
    /// Safety: AVX2 is there.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn bits(block: &[u8; BLOCK], byte: u8) -> u64 {
        // SAFETY: AVX2 is there. The loads need no alignment and read 32 bytes each, as many as the halves have.
        unsafe {
            let wanted = _mm256_set1_epi8(byte as i8);
            let low = _mm256_loadu_si256(block.as_ptr().cast());
            let high = _mm256_loadu_si256(block.as_ptr().add(BLOCK / 2).cast());
            let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
            let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
            u64::from(low as u32) | u64::from(high as u32) << 32
        }
    }

    /// Notes where the cells after the one at `at` begin, `most` at most, and gives how many. It stops before a cell that has no quotes around it, or has a quote or a comma in it, and near the
    /// line's end.
    ///
    /// Safety: AVX2 and what came before it are there.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn find(line: &[u8], at: usize, most: usize, begins: &mut Begins) -> usize {
        begins[0] = 0;
        if line.get(at) != Some(&b'"') {
            return 0;
        }
        let mut found = 0;
        let mut passed = 0;
        while found < most && passed < FARTHEST {
            // The byte before the cell is looked at as well.
            let base = at - 1 + passed;
            let Some(block) = line.get(base..).and_then(<[u8]>::first_chunk) else {
                break;
            };
            // SAFETY: AVX2 is there.
            let (quotes, commas) = unsafe { (bits(block, b'"'), bits(block, b',')) };
            // A comma stands between two quotes, a quote beside one comma.
            let odd = INNER
                & (commas & !(quotes << 1 & quotes >> 1)
                    | quotes & !((commas << 1) ^ (commas >> 1)));
            let mut ends = commas & INNER;
            if odd != 0 {
                ends &= (1 << odd.trailing_zeros()) - 1;
            }
            let count = ends.count_ones() as usize;
            let room = &mut begins[found + 1..=found + BLOCK / 2];
            let (usual, more) = room.split_at_mut(USUAL);
            // What is noted beyond the last of them is written over, or not looked at.
            for begin in usual {
                *begin = passed as u32 + ends.trailing_zeros();
                ends = _blsr_u64(ends);
            }
            for begin in more.iter_mut().take(count.saturating_sub(USUAL)) {
                *begin = passed as u32 + ends.trailing_zeros();
                ends = _blsr_u64(ends);
            }
            found += count;
            if odd != 0 {
                break;
            }
            passed += BLOCK - 2;
        }
        found.min(most)
    }

    /// The numbers of four cells in quotes, each told by where it begins and where the next one does. `None` where any is
    /// not one such as programs print, or has more than eight characters.
    ///
    /// Safety: AVX2 is there; eight bytes are there up to two before each place in `nexts`, counted from `start`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn four(start: *const u8, begins: &[u32; 4], nexts: &[u32; 4]) -> Option<Four> {
        const ZERO: i64 = 0x3030_3030_3030_3030;
        const POINT: i64 = (b'.' ^ b'0') as i64;
        const MINUS_ONE: i64 = (1 << 56) | ((b'-' ^ b'0') as i64) << 48;
        /// A number below 2^52 in the low bits of this one is that much more.
        const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
        let mut values = [0.0; 4];
        // SAFETY: AVX2 is there. Loads and stores need no alignment. Sixteen bytes are read of each list, as many as four
        // `u32` have, and eight before the quote that closes each cell, which the caller says are there; 32 are written, as
        // many as four `f64` have.
        unsafe {
            let [first, second, third, fourth] = nexts.map(|next| {
                start
                    .add(next as usize)
                    .sub(10)
                    .cast::<i64>()
                    .read_unaligned()
            });
            let wide =
                |list: &[u32; 4]| _mm256_cvtepu32_epi64(_mm_loadu_si128(list.as_ptr().cast()));
            let all = |number: i64| _mm256_set1_epi64x(number);
            let is = |bytes: __m256i, number: i64| _mm256_cmpeq_epi64(bytes, all(number));
            let text = _mm256_set_epi64x(fourth, third, second, first);
            let text = _mm256_xor_si256(text, all(ZERO));
            let length = _mm256_sub_epi64(_mm256_sub_epi64(wide(nexts), wide(begins)), all(3));
            // The characters, first at the low end, then last at the high end; no bits where there are more than eight.
            let shift = _mm256_sub_epi64(all(64), _mm256_slli_epi64(length, 3));
            let from_first = _mm256_srlv_epi64(text, shift);
            let to_last = _mm256_sllv_epi64(from_first, shift);

            let point = is(_mm256_and_si256(to_last, all(0xff << 40)), POINT << 40);
            let minus_one = is(to_last, MINUS_ONE);
            // A zero is a first digit only where it is all there is before the point or the end; no point is first.
            let begin = _mm256_and_si256(from_first, all(0xff));
            let fraction = is(_mm256_and_si256(from_first, all(0xffff)), POINT << 8);
            let alone = _mm256_or_si256(fraction, is(length, 1));
            let zeros = _mm256_andnot_si256(alone, is(begin, 0));
            let odd = _mm256_or_si256(zeros, is(begin, POINT));

            let cents = _mm256_and_si256(to_last, all(0xffff << 48));
            let whole = _mm256_slli_epi64(_mm256_and_si256(to_last, all(0xff_ffff_ffff)), 8);
            let closed_up = _mm256_or_si256(cents, whole);
            let digits = _mm256_blendv_epi8(to_last, closed_up, point);
            let digits = _mm256_andnot_si256(minus_one, digits);
            let above = _mm256_subs_epu8(digits, _mm256_set1_epi8(9));
            let odd = _mm256_or_si256(odd, above);
            if _mm256_testz_si256(odd, odd) == 0 {
                return None;
            }
            // Two digits in each 16 bits, four in each 32, eight in each 64.
            let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a));
            let halves = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
            let high = _mm256_mul_epu32(halves, all(10_000));
            let number = _mm256_add_epi64(high, _mm256_srli_epi64(halves, 32));

            let magic = _mm256_set1_pd(TWO_TO_52);
            let number = _mm256_or_si256(number, _mm256_castpd_si256(magic));
            let number = _mm256_sub_pd(_mm256_castsi256_pd(number), magic);
            let (point, minus_one) = (_mm256_castsi256_pd(point), _mm256_castsi256_pd(minus_one));
            let over = _mm256_blendv_pd(_mm256_set1_pd(1.0), _mm256_set1_pd(100.0), point);
            let number = _mm256_div_pd(number, over);
            let number = _mm256_blendv_pd(number, _mm256_set1_pd(-1.0), minus_one);
            _mm256_storeu_pd(values.as_mut_ptr(), number);
            let last = _mm256_and_si256(digits, all(0xff << 56));
            let last = _mm256_castsi256_pd(_mm256_cmpeq_epi64(last, _mm256_setzero_si256()));
            let points = _mm256_movemask_pd(point) as u32;
            Some(Four {
                values,
                points,
                unlimited: _mm256_movemask_pd(minus_one) as u32,
                padded: points & _mm256_movemask_pd(last) as u32,
            })
        }
    }

    /// Takes the wanted cells, in their order, from cell `cell` at `at` on, and passes over the others. It stops before a
    /// cell that has no quotes around it, or has a quote or a comma in it, and near the line's end; gives that cell's
    /// number and where it begins.
    pub fn pass(
        line: &[u8],
        (cell, at): (usize, usize),
        wanted: &[Wanted],
        take: &mut impl Take,
    ) -> (usize, usize) {
        if at < BEFORE {
            return (cell, at);
        }
        // SAFETY: `judge::possible` was asked before.
        unsafe { pass_cells(line, (cell, at), wanted, take) }
    }

    /// Safety: AVX2 and what came before it are there.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn pass_cells(
        line: &[u8],
        (mut cell, mut at): (usize, usize),
        mut wanted: &[Wanted],
        take: &mut impl Take,
    ) -> (usize, usize) {
        let mut begins = [0; MOST + BLOCK];
        while let (Some(next), Some(last)) = (wanted.first(), wanted.last()) {
            if next.cell - cell >= FAR {
                let Some(there) = skip(line, at, next.cell - cell) else {
                    break;
                };
                (cell, at) = (next.cell, there);
            }
            // SAFETY: AVX2 and what came before it are there.
            let found = unsafe { find(line, at, MOST.min(last.cell + 1 - cell), &mut begins) };
            let end = cell + found;
            // SAFETY: `at` is in the line.
            let start = unsafe { line.as_ptr().add(at) };
            while let Some(cells) = wanted.first_chunk::<4>().filter(|four| four[3].cell < end) {
                let [first, .., last] = cells.map(|wanted| wanted.cell - cell);
                let window: Option<&[u32; 5]> = begins[first..].first_chunk();
                let next_to_each_other = window.filter(|_| last - first == 3);
                // SAFETY: AVX2 is there. Cells with quotes around them are three bytes long at least, and eight bytes
                // stand before the first.
                let numbers = unsafe {
                    if let Some([here @ .., _]) = next_to_each_other {
                        let [_, nexts @ ..] = next_to_each_other.unwrap_or(&[0; 5]);
                        four(start, here, nexts)
                    } else {
                        let here = cells.map(|wanted| begins[wanted.cell - cell]);
                        let nexts = cells.map(|wanted| begins[wanted.cell - cell + 1]);
                        four(start, &here, &nexts)
                    }
                };
                if !numbers.is_some_and(|numbers| take.four(cells, &numbers)) {
                    for wanted in cells {
                        take.one(wanted.cell, at + begins[wanted.cell - cell] as usize);
                    }
                }
                wanted = &wanted[4..];
            }
            while let Some(next) = wanted.first().filter(|next| next.cell < end) {
                take.one(next.cell, at + begins[next.cell - cell] as usize);
                wanted = &wanted[1..];
            }
            (cell, at) = (end, at + begins[found] as usize);
            if found == 0 {
                break;
            }
        }
        (cell, at)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod nowhere {
    use super::{Take, Wanted};

    pub fn pass(_: &[u8], from: (usize, usize), _: &[Wanted], _: &mut impl Take) -> (usize, usize) {
        from
    }
}
