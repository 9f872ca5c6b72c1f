//! What the scanner promises, cell by cell.

use super::*;

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
            odd: vec![]
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
    assert_eq!(report.odd, [0, 4, 29, 33]);
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
