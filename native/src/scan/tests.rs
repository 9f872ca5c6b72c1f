//! What the scanner promises, cell by cell.

use super::*;
use crate::learnt::{MIXED, MOST_CHANGES, UNKNOWN};

fn numbers(data: &[u8], cells: usize) -> (Vec<f64>, Report) {
    let rows = data
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .count();
    let first: Vec<i64> = (0..cells as i64).collect();
    let step = vec![cells as i64; cells];
    let mut out = vec![-7.0; rows * cells];
    let report = scan(data, &first, &step, slots(&mut out), 0, true);
    (out, report)
}

#[test]
fn short_and_long_cells() {
    let (out, report) = numbers(b"\"0.00\",\"12.34\",\"-1\",\"123456789.25\",\"7\"\n", 5);
    assert_eq!(out, [0.0, 12.34, -1.0, 123_456_789.25, 7.0]);
    assert_eq!(
        report,
        Report {
            lines: vec![0, 38, 5],
            shapes: vec![2, 2, UNKNOWN, 2, 0],
            blank: vec![0; 5],
            padded: true,
            ..Report::default()
        }
    );
}

#[test]
fn a_number_glued_to_a_quote_is_two_cells() {
    let (out, report) = numbers(
        b"\"1.00\",    73.1\"8.93\",\"2.00\",   -\"3.00\",    77.6\r\n",
        7,
    );
    assert_eq!(&out[..4], [1.0, 73.1, 8.93, 2.0]);
    assert!(out[4].is_nan());
    assert_eq!(&out[5..], [3.0, 77.6]);
    assert_eq!(report.lines[2], 7);
    assert_eq!(report.absent, [0, 1, 4, 29, 33]);
    assert_eq!(report.blank, [0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(report.shapes, [2, 17, 2, 2, UNKNOWN, 2, 17]);
}

#[test]
fn short_and_long_lines_are_counted() {
    let (out, report) = numbers(b"\"1\",\"2\"\n\"3\",\"4\",\"5\",\n", 3);
    assert_eq!(&out[..2], [1.0, 2.0]);
    assert!(out[2].is_nan());
    assert_eq!(&out[3..], [3.0, 4.0, 5.0]);
    assert_eq!(report.lines, [0, 7, 2, 8, 20, 4]);
}

#[test]
fn a_cell_that_is_never_closed_is_no_number() {
    let (out, report) = numbers(b"\"1.00\",\"73", 2);
    assert_eq!(out[0].to_bits(), 1.0_f64.to_bits());
    assert!(out[1].is_nan());
    assert_eq!(report.odd, [0, 1, 7, 10]);
}

#[test]
fn a_cell_like_the_one_before_it_is_told_from_one_that_only_begins_like_it() {
    let data = b"\"1.25\",\"7\",\"0\"\n\"1.25\",\"77\",\"0\"\n\"1.2\",\"7\",\"0\"\n\"1.25\"x,\"7\",\"0\"\n";
    let (out, report) = numbers(data, 3);
    assert_eq!(&out[..9], [1.25, 7.0, 0.0, 1.25, 77.0, 0.0, 1.2, 7.0, 0.0]);
    assert!(out[9].is_nan());
    assert_eq!(report.odd.len(), 4);
}

#[test]
fn cells_after_the_last_one_wanted_need_not_be_looked_at() {
    let mut out = [0.0; 2];
    let report = scan(
        b"\"1\",\"2\",\"x\"\n\"3\",\"4\"\n",
        &[0],
        &[1],
        slots(&mut out),
        0,
        false,
    );
    assert_eq!(out, [1.0, 3.0]);
    assert_eq!(report.lines, [0, 11, 1, 12, 19, 1]);
}

#[test]
fn a_line_too_short_for_its_cells_is_no_row() {
    let data = b"\"1\",\"2\"\r\n\n;;\n\"3\",\"4\"";
    assert_eq!(count_lines(data, 4), (4, 2));
    let mut out = [0.0; 4];
    let report = scan(data, &[0, 1], &[2, 2], slots(&mut out), 4, true);
    assert_eq!(out, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(report.lines, [0, 7, 2, 9, 9, 0, 10, 12, 1, 13, 20, 2]);
}

#[test]
fn unwanted_cells_are_passed_over() {
    let data = b"\"a\",\"0.00\",\"x\",\"5.25\"\n";
    let mut out = [0.0];
    let report = scan(
        data,
        &[-1, -1, -1, 0],
        &[0, 0, 0, 1],
        slots(&mut out),
        0,
        true,
    );
    assert_eq!(out, [5.25]);
    assert!(report.odd.is_empty());
}

#[test]
fn a_number_that_lost_its_quotes_is_told_by_its_neighbours() {
    let (out, report) = numbers(b"\"1.00\",5\",\"2.00\",\"3.00\"\n", 4);
    assert!(out[1].is_nan() && out[2].is_nan());
    assert_eq!(report.odd, [0, 1, 7, 8, 0, 2, 9, 15]);
    assert_eq!(out[3].to_bits(), 3.0_f64.to_bits());
}

#[test]
fn absent_numbers_are_counted_by_row_and_yes_and_no_are_odd() {
    let (out, report) = numbers(b"\"yes\",\"\",\"No\"\n\"-nan\",\"\",\"true\"\n", 3);
    assert_eq!(out[0].to_bits(), 1.0_f64.to_bits());
    assert_eq!(out[2].to_bits(), 0.0_f64.to_bits());
    assert_eq!(report.absent, [0, 1, 1, 7, 7, 1, 2, 0, 15, 19]);
    assert_eq!(report.blank, [1, 1, 0]);
    assert_eq!(report.odd, [0, 0, 1, 4, 0, 2, 10, 12, 1, 2, 25, 29]);
}

#[test]
fn changes_of_shape_are_told_where_the_row_is_whole() {
    let data = b"\"0.00\",\"0.00\",\"7\"\n\"0.00\",\"12\",\"7\"\n\"7\",\"7\"\n\"0.00\",\"123456.789\",\"7\"\n\"0.00\",\"0.00\",\"-1\"\n\"1\",\"\",\"8\",\n";
    let (_, report) = numbers(data, 3);
    assert_eq!(report.shapes, [2, 2, 0]);
    assert_eq!(report.changes, [1, 1, 0, 3, 1, 3, 4, 1, 2, 5, 0, 0]);
    assert!(report.padded);
    assert!(!numbers(b"\"1.55\",\"20\"\n", 2).1.padded);
    assert!(numbers(b"\"1.50\",\"2\"\n", 2).1.padded);
}

#[test]
fn a_column_whose_shapes_change_at_every_row_is_mixed() {
    let data = b"\"1.25\",\"0\"\n\"1.5\",\"0\"\n".repeat(100);
    let (_, report) = numbers(&data, 2);
    assert_eq!(report.shapes, [MIXED, 0]);
    assert_eq!(report.changes.len(), 3 * usize::from(MOST_CHANGES));
}

/// What is told of numbers that are kept, and of the same where they are not.
fn told(data: &[u8], cells: usize) -> [Report; 2] {
    let first = vec![JUDGED; cells];
    let judged = scan(data, &first, &vec![0; cells], slots(&mut []), 0, true);
    [numbers(data, cells).1, judged]
}

/// Numbers, as bits, and what is told of columns that are wanted, taken together or one by one.
fn scanned(data: &[u8], first: &[i64], together: bool) -> (Vec<u64>, Report) {
    let step = vec![first.len() as i64; first.len()];
    let mut out = vec![-7.0; 4 * first.len()];
    let alone = |columns: &[Column]| Plan::Alone(runs(columns, NOWHERE));
    let plan = if together { Plan::new } else { alone };
    let report = scan_as(plan, data, (first, &step, slots(&mut out)), 0, true);
    (out.into_iter().map(f64::to_bits).collect(), report)
}

#[test]
fn cells_are_the_same_together_alone_and_not_kept() {
    let plain = ["0.00", "12.34", "7", "-1", "1234567.25", "100", "88.10"];
    let texts = [
        "1.5",
        "1x2",
        "12",
        "12.345",
        "-7",
        "-1.00",
        "+1",
        ".25",
        "1..2",
        "1.2.",
        "00.50",
        "007",
        "1-1",
        "",
        "0,1",
        "a\"b",
        "nan",
        "yes",
        "1\"",
        "\"",
        "123456789012345678901",
        "12345678901234567890",
        "12345678",
        "123456.78",
        "0",
        "0.",
        ".5",
        "000-1",
        "-",
    ];
    for text in texts {
        for place in 0..40 {
            let row = |odd: usize| {
                let cells = (0..40).map(|cell| {
                    if cell == odd {
                        text
                    } else {
                        plain[cell % plain.len()]
                    }
                });
                format!("\"{}\"\n", cells.collect::<Vec<_>>().join("\",\""))
            };
            let data = [row(40), row(40), row(place), row(40)].concat();
            let [kept, judged] = told(data.as_bytes(), 40);
            assert_eq!(kept, judged, "{text} in cell {place}");
            for wanted in [|_| true, |cell| cell % 9 > 2, |cell| cell % 7 == 0] {
                let first: Vec<i64> = (0..40)
                    .map(|cell| if wanted(cell) { cell } else { -1 })
                    .collect();
                let [together, alone] =
                    [true, false].map(|together| scanned(data.as_bytes(), &first, together));
                assert_eq!(together, alone, "{text} in cell {place}");
            }
        }
    }
}

#[test]
fn a_zero_after_a_point_is_told_of_numbers_that_are_not_kept() {
    let rows = ["12.34", "12.34", "12.30"]
        .map(|text| [&*format!("\"{text}\",").repeat(30), "\n"].concat());
    let columns = 31;
    let whole = "\"100\",".repeat(30);
    assert_eq!(
        told(whole.as_bytes(), columns).map(|told| told.padded),
        [false; 2]
    );
    for (number, padded) in [(2, false), (3, true)] {
        let [kept, judged] = told(rows[..number].concat().as_bytes(), columns);
        assert_eq!((kept.padded, judged.padded), (padded, padded));
    }
}

#[test]
fn a_first_number_that_lost_its_opening_quote_is_not_read_without_its_first_digit() {
    let row = format!("\"03/02/2026\",12345\",{}\"0\"\n", "\"7.00\",".repeat(40));
    let data = row.repeat(4);
    let first: Vec<i64> = (-1..40).collect();
    let [together, alone] =
        [true, false].map(|together| scanned(data.as_bytes(), &first, together));
    assert_eq!(together, alone);
    assert_eq!(together.1.odd[..2], [0, 1]);
}
