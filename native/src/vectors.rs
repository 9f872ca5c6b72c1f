//! Many bytes at once: ends of cells, and short whole numbers. With SSE2, which every `x86_64` has, and plainly for every
//! other processor; both give the same.

/// Bytes looked at together for the ends of cells.
pub const BLOCK: usize = 64;

const ZEROS: u64 = 0x3030_3030_3030_3030;
const HIGHS: u64 = 0x8080_8080_8080_8080;

#[cfg(not(target_arch = "x86_64"))]
pub use plain::{cell_ends, marks, Eights};
#[cfg(target_arch = "x86_64")]
pub use sse2::{cell_ends, marks, Eights};

/// Eight bytes, the first as the lowest.
#[inline(always)]
pub fn word(data: &[u8], at: usize) -> u64 {
    let bytes: [u8; 8] = data[at..at + 8].try_into().unwrap_or_default();
    u64::from_le_bytes(bytes)
}

/// The value of eight digits, each from 0 to 9, the last in the top byte.
#[inline(always)]
fn value(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// High bits where a byte is above 9.
#[inline(always)]
fn above_nine(digits: u64) -> u64 {
    // A byte above 9 carries into its high bit when 0x76 is added; one of 0x80 and more has it already.
    (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & HIGHS
}

/// The number that the bytes from `start` to `end` write, digits only, at most 16. Eight bytes are there before `end`,
/// and eight from `start` on.
#[inline(always)]
pub fn sixteen(data: &[u8], start: usize, end: usize) -> Option<i64> {
    let length = end.wrapping_sub(start);
    if length.wrapping_sub(1) < 8 {
        let digits = (word(data, start) ^ ZEROS) << (64 - 8 * length);
        (above_nine(digits) == 0).then(|| value(digits) as i64)
    } else if length.wrapping_sub(1) < 16 {
        let last = word(data, end - 8) ^ ZEROS;
        let first = (word(data, start) ^ ZEROS) << (128 - 8 * length);
        let sound = above_nine(first) | above_nine(last) == 0;
        sound.then(|| (value(first) * 100_000_000 + value(last)) as i64)
    } else {
        None
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unused_unsafe)] // since Rust 1.87 those without pointers may be called as they are
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi16, _mm_and_si128, _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_loadu_si128,
        _mm_madd_epi16, _mm_movemask_epi8, _mm_mullo_epi16, _mm_or_si128, _mm_packs_epi32,
        _mm_set1_epi16, _mm_set1_epi32, _mm_set1_epi8, _mm_setzero_si128, _mm_srli_epi16,
        _mm_storeu_si128, _mm_sub_epi8, _mm_subs_epu8, _mm_unpacklo_epi64,
    };

    use super::{word, BLOCK};

    /// A bit for each byte that is a quote, and for each that is a comma.
    #[inline(always)]
    pub fn marks(block: &[u8; BLOCK]) -> (u64, u64) {
        let (mut quotes, mut commas) = (0, 0);
        for (part, bytes) in block.chunks_exact(16).enumerate() {
            // SAFETY: as below.
            let found = unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
                let commas = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b',' as i8));
                (_mm_movemask_epi8(quotes), _mm_movemask_epi8(commas))
            };
            quotes |= u64::from(found.0 as u16) << (16 * part);
            commas |= u64::from(found.1 as u16) << (16 * part);
        }
        (quotes, commas)
    }

    /// A bit for each byte that is a comma or a line feed.
    #[inline(always)]
    pub fn cell_ends(block: &[u8; BLOCK]) -> u64 {
        let mut ends = 0;
        for (part, bytes) in block.chunks_exact(16).enumerate() {
            // SAFETY: SSE2 is there. The load needs no alignment and reads 16 bytes, as many as the chunk has.
            let found = unsafe {
                let bytes = _mm_loadu_si128(bytes.as_ptr().cast());
                let commas = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b',' as i8));
                let feeds = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\n' as i8));
                _mm_movemask_epi8(_mm_or_si128(commas, feeds))
            };
            ends |= u64::from(found as u16) << (16 * part);
        }
        ends
    }

    /// What is kept of the eight bytes before the end of a number of one digit, of two ...
    const KEPT: [u64; 8] = [
        0xff00_0000_0000_0000,
        0xffff_0000_0000_0000,
        0xffff_ff00_0000_0000,
        0xffff_ffff_0000_0000,
        0xffff_ffff_ff00_0000,
        0xffff_ffff_ffff_0000,
        0xffff_ffff_ffff_ff00,
        0xffff_ffff_ffff_ffff,
    ];

    /// What the first of two numbers of two digits counts, and the second; the same for four digits.
    const HUNDRED_AND_ONE: i32 = 0x0001_0064;
    const TEN_THOUSAND_AND_ONE: i32 = 0x0001_2710;

    /// Reads numbers of one to eight digits, four at a time, and remembers whether all were such.
    pub struct Eights<'a> {
        data: &'a [u8],
        /// Lengths less one, together: 8 and more where one of them is.
        lengths: usize,
        /// By how much bytes are above 9, together.
        above: __m128i,
    }

    impl<'a> Eights<'a> {
        pub fn new(data: &'a [u8]) -> Self {
            // SAFETY: SSE2 is there, which is all it needs.
            let above = unsafe { _mm_setzero_si128() };
            Self {
                data,
                lengths: 0,
                above,
            }
        }

        /// Whether all that were read were numbers of one to eight digits.
        pub fn sound(&self) -> bool {
            // SAFETY: SSE2 is there, which is all these need.
            let within =
                unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(self.above, _mm_setzero_si128())) };
            self.lengths < 8 && within == 0xffff
        }

        /// Digits of two cells in eight bytes each, zeros before them.
        #[inline(always)]
        fn two(&mut self, cells: [(usize, usize); 2]) -> __m128i {
            let lengths = cells.map(|(start, end)| end.wrapping_sub(start).wrapping_sub(1));
            self.lengths |= lengths[0] | lengths[1];
            let bytes = cells.map(|(_, end)| word(self.data, end - 8) as i64);
            let kept = lengths.map(|length| KEPT[length & 7] as i64);
            // SAFETY: SSE2 is there, which is all these need.
            unsafe {
                let pair = |two: [i64; 2]| {
                    _mm_unpacklo_epi64(_mm_cvtsi64_si128(two[0]), _mm_cvtsi64_si128(two[1]))
                };
                let digits = _mm_sub_epi8(pair(bytes), _mm_set1_epi8(b'0' as i8));
                let digits = _mm_and_si128(digits, pair(kept));
                let above = _mm_subs_epu8(digits, _mm_set1_epi8(9));
                self.above = _mm_or_si128(self.above, above);
                digits
            }
        }

        /// The numbers of four cells, each from its start to its end; anything where `sound` says no. Eight bytes are
        /// there before each end.
        #[inline(always)]
        pub fn four(&mut self, cells: [(usize, usize); 4]) -> [i32; 4] {
            let [first, second, third, fourth] = cells;
            let mut numbers = [0; 4];
            let halves = [self.two([first, second]), self.two([third, fourth])];
            // SAFETY: SSE2 is there. The store needs no alignment and writes 16 bytes, as many as four `i32` have.
            unsafe {
                let [low, high] = halves.map(|digits| {
                    // Two digits in the low byte of each 16 bits, then four in each 32.
                    let tens = _mm_mullo_epi16(digits, _mm_set1_epi16(10));
                    let pairs = _mm_add_epi16(tens, _mm_srli_epi16(digits, 8));
                    let pairs = _mm_and_si128(pairs, _mm_set1_epi16(0xff));
                    _mm_madd_epi16(pairs, _mm_set1_epi32(HUNDRED_AND_ONE))
                });
                let fours = _mm_packs_epi32(low, high);
                let eights = _mm_madd_epi16(fours, _mm_set1_epi32(TEN_THOUSAND_AND_ONE));
                _mm_storeu_si128(numbers.as_mut_ptr().cast(), eights);
            }
            numbers
        }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod plain {
    use super::{above_nine, value, word, BLOCK, HIGHS, ZEROS};

    /// A bit for each byte that is this one.
    fn found(block: &[u8; BLOCK], byte: u8) -> u64 {
        let wanted = u64::from_ne_bytes([byte; 8]);
        // The high bit of each byte of `word` that is 0, exactly.
        let zeros = |word: u64| !((word & !HIGHS).wrapping_add(!HIGHS) | word | !HIGHS);
        (0..BLOCK).step_by(8).fold(0, |found, at| {
            let here = zeros(word(block, at) ^ wanted);
            // The multiplication gathers eight bits in the top byte.
            found | ((here >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << at
        })
    }

    /// A bit for each byte that is a quote, and for each that is a comma.
    pub fn marks(block: &[u8; BLOCK]) -> (u64, u64) {
        (found(block, b'"'), found(block, b','))
    }

    /// A bit for each byte that is a comma or a line feed.
    pub fn cell_ends(block: &[u8; BLOCK]) -> u64 {
        found(block, b',') | found(block, b'\n')
    }

    /// Reads numbers of one to eight digits, four at a time, and remembers whether all were such.
    pub struct Eights<'a> {
        data: &'a [u8],
        lengths: usize,
        above: u64,
    }

    impl<'a> Eights<'a> {
        pub fn new(data: &'a [u8]) -> Self {
            Self {
                data,
                lengths: 0,
                above: 0,
            }
        }

        /// Whether all that were read were numbers of one to eight digits.
        pub fn sound(&self) -> bool {
            self.lengths < 8 && self.above == 0
        }

        /// The numbers of four cells, each from its start to its end; anything where `sound` says no. Eight bytes are
        /// there before each end.
        pub fn four(&mut self, cells: [(usize, usize); 4]) -> [i32; 4] {
            cells.map(|(start, end)| {
                let length = end.wrapping_sub(start).wrapping_sub(1);
                self.lengths |= length;
                let shift = 56 - 8 * (length & 7);
                let digits = (word(self.data, end - 8) ^ ZEROS) >> shift << shift;
                self.above |= above_nine(digits);
                value(digits) as i32
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes without a pattern, the same each time.
    fn noise() -> impl Iterator<Item = u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
    }

    #[test]
    fn ends_are_found_where_they_are() {
        let alphabet = b",\n\" 0\xac\x8a-\x2d\x2b\x0b\x0d";
        let mut bytes = noise();
        for round in 0..2000 {
            let block: [u8; BLOCK] = std::array::from_fn(|_| {
                let byte = bytes.next().unwrap_or_default();
                if round % 2 == 0 {
                    byte
                } else {
                    alphabet[usize::from(byte) % alphabet.len()]
                }
            });
            let bits = |byte: u8| {
                (0..BLOCK)
                    .filter(|at| block[*at] == byte)
                    .fold(0, |bits, at| bits | 1_u64 << at)
            };
            let (ends, both) = (bits(b',') | bits(b'\n'), (bits(b'"'), bits(b',')));
            assert_eq!((cell_ends(&block), plain::cell_ends(&block)), (ends, ends));
            assert_eq!((marks(&block), plain::marks(&block)), (both, both));
        }
    }

    /// A text after eight bytes that are not looked at, and before eight more.
    fn alone(text: &str) -> (Vec<u8>, usize, usize) {
        let data = [b"99999999", text.as_bytes(), b"99999999"].concat();
        (data, 8, 8 + text.len())
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        for digits in 1..=16_u32 {
            for number in [
                10_i64.pow(digits - 1),
                10_i64.pow(digits) - 1,
                12_345_678_987_654_321 % 10_i64.pow(digits),
            ] {
                let text = format!("{number:0width$}", width = digits as usize);
                let (data, start, end) = alone(&text);
                assert_eq!(sixteen(&data, start, end), Some(number), "{text}");
                let cells = [(start, end); 4];
                let (mut fast, mut slow) = (Eights::new(&data), plain::Eights::new(&data));
                let (four, plain_four) = (fast.four(cells), slow.four(cells));
                assert_eq!(fast.sound(), digits <= 8);
                assert_eq!(slow.sound(), digits <= 8);
                if digits <= 8 {
                    assert_eq!(four.map(i64::from), [number; 4]);
                    assert_eq!(plain_four, four);
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_is_told_wherever_it_stands() {
        let (data, start, end) = alone("");
        assert_eq!(sixteen(&data, start, end), None);
        assert_eq!(sixteen(&data, end + 1, start), None);
        for length in 1..=16 {
            for at in 0..length {
                for wrong in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                    let (mut data, start, end) = alone(&"1".repeat(length));
                    data[start + at] = wrong;
                    assert_eq!(sixteen(&data, start, end), None);
                    for place in 0..4 {
                        let mut cells = [(4, 8); 4];
                        cells[place] = (start, end);
                        let (mut fast, mut slow) = (Eights::new(&data), plain::Eights::new(&data));
                        (_, _) = (fast.four(cells), slow.four(cells));
                        assert!(!fast.sound() && !slow.sound());
                    }
                }
            }
        }
        let mut eights = Eights::new(b"12345678");
        assert_eq!(
            eights.four([(4, 8), (0, 8), (7, 8), (1, 8)]),
            [5678, 12_345_678, 8, 2_345_678]
        );
        assert!(eights.sound());
        _ = eights.four([(4, 8), (8, 8), (7, 8), (1, 8)]);
        assert!(!eights.sound());
    }
}
