//! Cells that nobody wants: passed over many bytes at a time, without a look at what is in them.

use crate::vectors::{marks, BLOCK};

/// Fewer cells than these are passed over as fast one by one.
pub const FEWEST: usize = 5;

/// The bits of a block whose neighbours are in it too.
pub const INNER: u64 = u64::MAX >> 2 << 1;

/// Where the cell begins that stands `cells` after the one at `at`. `None` where one of them is not in quotes, has a
/// quote or a comma in it, or stands near the end of the line: they need a closer look.
pub fn skip(line: &[u8], at: usize, cells: usize) -> Option<usize> {
    let mut left = cells as u32;
    // The byte before the cell is looked at as well.
    let mut base = at.checked_sub(1)?;
    loop {
        let block: &[u8; BLOCK] = line.get(base..base + BLOCK)?.try_into().ok()?;
        let (quotes, commas) = marks(block);
        let ends = commas & INNER;
        let mut wanted = INNER;
        let found = ends.count_ones();
        if found >= left {
            let mut last = ends;
            for _ in 1..left {
                last &= last - 1;
            }
            // Up to the last of the commas that are wanted.
            wanted &= last ^ (last - 1);
        }
        let (beside_quotes, beside_commas) =
            ((quotes << 1) & (quotes >> 1), (commas << 1, commas >> 1));
        // A comma stands between two quotes, a quote beside one comma.
        let odd = commas & !beside_quotes | quotes & !(beside_commas.0 ^ beside_commas.1);
        if odd & wanted != 0 {
            return None;
        }
        if found >= left {
            return Some(base + wanted.ilog2() as usize + 1);
        }
        left -= found;
        base += BLOCK - 2;
    }
}

#[cfg(test)]
mod tests {
    use super::skip;
    use crate::cells::any_cell;

    /// The same, one cell after the other.
    fn slowly(line: &[u8], mut at: usize, cells: usize) -> Option<usize> {
        for _ in 0..cells {
            let cell = any_cell(line, at);
            if cell.last {
                return None;
            }
            at = cell.next;
        }
        Some(at)
    }

    #[test]
    fn cells_are_passed_over_as_one_by_one() {
        let line = [r#""0.00","12.5","","-1","1234567890.25","text","#; 9]
            .concat()
            .into_bytes();
        for start in [7, 14, 17] {
            for cells in 1..45 {
                assert_eq!(skip(&line, start, cells), slowly(&line, start, cells));
            }
        }
    }

    #[test]
    fn what_is_odd_is_left_to_a_closer_look() {
        let plain = [r#""0.00","#; 20].concat();
        for odd in [
            r#""0,1","#,
            r#""a"b","#,
            "-1,",
            r#"7"8.25","#,
            r#""","","#,
            r#"",","#,
            ",",
            r#""","#,
            "\"1,",
        ] {
            for before in 1..20 {
                let line = [&plain[..7 * before], odd, &plain, &plain]
                    .concat()
                    .into_bytes();
                for cells in 1..30 {
                    let found = skip(&line, 7, cells);
                    assert!(
                        found.is_none() || found == slowly(&line, 7, cells),
                        "{odd} {before} {cells}"
                    );
                }
            }
        }
        assert_eq!(skip(plain.as_bytes(), 0, 3), None);
        assert_eq!(skip(plain.as_bytes(), 7, 20), None);
    }
}
