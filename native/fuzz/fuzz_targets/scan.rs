//! The scanner of whole lines against a reference: numbers to the bit, lines, odd cells, absent numbers, the shapes of numbers, and
//! what is not to be touched.
//!
//! The first four bytes of an input say how it is scanned, the rest is the data: see `Setting`.

#![no_main]

#[path = "../../src/cells.rs"]
mod cells;
#[path = "../../src/fours.rs"]
mod fours;
#[path = "../../src/judge.rs"]
mod judge;
#[path = "../../src/learnt.rs"]
mod learnt;
#[path = "../../src/number.rs"]
mod number;
mod reference;
#[path = "../../src/scan.rs"]
mod scan;
#[path = "../../src/skip.rs"]
mod skip;
#[allow(dead_code, unused_imports)] // the rest is for whole numbers
#[path = "../../src/vectors.rs"]
mod vectors;

use libfuzzer_sys::fuzz_target;

const UNTOUCHED: f64 = -7.125;
const JUDGED: i64 = -2;

/// How an input is scanned, told by printable bytes so that inputs can be written by hand.
struct Setting {
    /// Cells of a row that the caller knows of.
    cells: usize,
    /// Bytes a line needs to be a row.
    least: usize,
    /// Cells that are wanted, by bit.
    wanted: u8,
    /// Whether each column has a stretch of its own, as in a block, or each row.
    by_column: bool,
    /// Rows for which there is no room.
    rows_missing: usize,
    /// Whether cells beyond those known are counted.
    count: bool,
    /// The place of cells that are not wanted: nowhere, or nowhere and judged all the same.
    elsewhere: i64,
}

impl Setting {
    fn new(bytes: [u8; 4]) -> Self {
        Self {
            cells: usize::from(bytes[0] % 32),
            least: usize::from(bytes[1] % 16),
            wanted: bytes[2],
            by_column: bytes[3] & 1 == 0,
            rows_missing: usize::from(bytes[3] >> 1) % 4 / 3,
            count: bytes[3] & 8 == 0,
            elsewhere: if bytes[3] & 16 == 0 { -1 } else { JUDGED },
        }
    }

    fn wants(&self, cell: usize) -> bool {
        self.wanted >> (cell % 7) & 1 == 1
    }

    /// Place of each cell of the first row, step to the next, and the numbers there is room for.
    fn places(&self, rows: usize) -> (Vec<i64>, Vec<i64>, usize) {
        let (mut first, mut step) = (Vec::new(), Vec::new());
        let wanted = (0..self.cells).filter(|cell| self.wants(*cell)).count();
        let mut lane = 0;
        for cell in 0..self.cells {
            if !self.wants(cell) {
                first.push(self.elsewhere);
                step.push(0);
            } else if self.by_column {
                first.push((lane * rows) as i64);
                step.push(1);
                lane += 1;
            } else {
                first.push(lane as i64);
                step.push(wanted as i64);
                lane += 1;
            }
        }
        (first, step, wanted * rows.saturating_sub(self.rows_missing))
    }
}

/// Shapes of numbers, column by column, as they are met.
struct Shapes {
    last: Vec<u8>,
    told: Vec<usize>,
}

impl Shapes {
    /// Takes the shapes of a row with all its cells; a cell without one has `learnt::UNKNOWN`.
    fn take(&mut self, row: i64, shapes: &[u8], report: &mut learnt::Report) {
        for (cell, shape) in shapes.iter().enumerate() {
            let last = &mut self.last[cell];
            // A cell with nothing in it is of no shape, but where a number in quotes should stand.
            let nothing = *shape == learnt::NOTHING + learnt::BARE && *last >= learnt::BARE;
            if *shape == learnt::UNKNOWN || nothing || *last == learnt::MIXED || *last == *shape {
                continue;
            }
            if *last == learnt::UNKNOWN {
                report.shapes[cell] = *shape;
            } else {
                report.changes.extend([row, cell as i64, i64::from(*shape)]);
                self.told[cell] += 1;
            }
            *last = *shape;
            if self.told[cell] == usize::from(learnt::MOST_CHANGES) {
                (*last, report.shapes[cell]) = (learnt::MIXED, learnt::MIXED);
            }
        }
    }
}

/// The scan, written plainly.
fn expected(
    data: &[u8],
    first: &[i64],
    step: &[i64],
    out: &mut [f64],
    setting: &Setting,
) -> learnt::Report {
    let mut report = learnt::Report {
        shapes: vec![learnt::UNKNOWN; first.len()],
        blank: vec![0; first.len()],
        ..learnt::Report::default()
    };
    let mut known = Shapes {
        last: report.shapes.clone(),
        told: vec![0; first.len()],
    };
    let mut row = 0;
    for (start, end) in reference::lines(data) {
        let line = &data[start..end];
        let cells = reference::cells(line);
        let is_row = line.len() >= setting.least;
        let counted = if is_row && !setting.count {
            cells.len().min(setting.cells)
        } else {
            cells.len()
        };
        report
            .lines
            .extend([start as i64, end as i64, counted as i64]);
        if !is_row {
            continue;
        }
        let mut shapes = vec![learnt::UNKNOWN; first.len()];
        let mut absent = (0, Vec::new());
        let mut padded = false;
        for (cell, (first, step)) in first.iter().zip(step).enumerate() {
            let place = usize::try_from(first + row * step)
                .ok()
                .filter(|place| *first >= 0 && *place < out.len());
            if place.is_none() && *first != JUDGED {
                continue;
            }
            let mut put = |number: f64| {
                if let Some(place) = place {
                    out[place] = number;
                }
            };
            put(f64::NAN);
            let Some(&(from, to, next_glued)) = cells.get(cell) else {
                continue;
            };
            let text = &line[from..to];
            let bare = from == 0 || line[from - 1] != b'"';
            let glued = bare && next_glued && !text.starts_with(b" ");
            let where_it_is = [cell as i64, (start + from) as i64, (start + to) as i64];
            let form = if bare { learnt::BARE } else { 0 };
            match reference::content(text) {
                reference::Content::Number(number, shape, ends_with_zero) if !glued => {
                    put(number);
                    shapes[cell] = shape.map_or(learnt::UNKNOWN, |shape| shape + form);
                    padded |= ends_with_zero;
                }
                reference::Content::Absent => {
                    absent.0 += 1;
                    if absent.0 == 1 {
                        absent.1.extend(where_it_is);
                    }
                    report.blank[cell] = 1;
                    if bare {
                        shapes[cell] = learnt::NOTHING + learnt::BARE;
                    }
                }
                reference::Content::Flag(number) => {
                    put(number);
                    report.odd.push(row);
                    report.odd.extend(where_it_is);
                }
                _ => {
                    report.odd.push(row);
                    report.odd.extend(where_it_is);
                }
            }
        }
        if absent.0 > 0 {
            report.absent.extend([row, absent.0]);
            report.absent.extend(absent.1);
        }
        let commas = line.iter().rev().take_while(|byte| **byte == b',').count();
        if counted >= first.len() && commas >= counted - first.len() {
            known.take(row, &shapes, &mut report);
            report.padded |= padded;
        }
        row += 1;
    }
    report
}

fn bits(numbers: &[f64]) -> Vec<Option<u64>> {
    numbers
        .iter()
        .map(|number| (!number.is_nan()).then(|| number.to_bits()))
        .collect()
}

fuzz_target!(|input: &[u8]| {
    let Some((setting, data)) = input.split_first_chunk::<4>() else {
        return;
    };
    let setting = Setting::new(*setting);
    let lines = reference::lines(data);
    let rows = lines
        .iter()
        .filter(|(start, end)| end - start >= setting.least)
        .count();
    assert_eq!(scan::count_lines(data, setting.least), (lines.len(), rows));

    let (first, step, room) = setting.places(rows);
    let mut plain = vec![UNTOUCHED; room];
    let plain_report = expected(data, &first, &step, &mut plain, &setting);
    let mut fast = vec![UNTOUCHED; room];
    let mut fast_report = scan::scan(
        data,
        &first,
        &step,
        scan::slots(&mut fast),
        setting.least,
        setting.count,
    );
    if setting.rows_missing > 0 {
        // Shapes are told where there is room for all rows.
        (fast_report.shapes, fast_report.changes) =
            (plain_report.shapes.clone(), plain_report.changes.clone());
        fast_report.padded = plain_report.padded;
    }
    assert_eq!(fast_report, plain_report);
    assert_eq!(bits(&fast), bits(&plain));
});
