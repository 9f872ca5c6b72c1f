//! What the reader promises, in many batches and at their edges.

use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

use super::*;

/// What a column of each kind holds after reading, and the report.
fn numbers(data: &[u8], width: usize) -> (Vec<Vec<i64>>, Report) {
    let rows = count_lines(data);
    let places: Vec<Vec<AtomicU64>> = (0..width)
        .map(|_| (0..rows).map(|_| AtomicU64::new(7)).collect())
        .collect();
    let columns: Vec<Column> = places
        .iter()
        .map(|places| whole(Places::Whole(places)))
        .collect();
    let report = read(data, &columns);
    let read = places
        .into_iter()
        .map(|places| places.into_iter().map(|place| place.into_inner() as i64))
        .map(Iterator::collect)
        .collect();
    (read, report)
}

fn whole(places: Places) -> Column {
    Column {
        low: i64::MIN,
        high: i64::MAX,
        hexadecimal: false,
        times: 1,
        over: 1,
        places,
    }
}

#[test]
fn numbers_of_many_lines() {
    for line_end in ["\n", "\r\n"] {
        for digits in [3, 8, 9, 13, 17] {
            let base = 10_i64.pow(digits - 1);
            let lines = (0..1000).map(|line| format!("{line}, {}, {}", base + line, line % 3));
            let text = lines.collect::<Vec<_>>().join(line_end);
            let (read, report) = numbers(text.as_bytes(), 3);
            assert_eq!(
                report,
                Report {
                    lines: 1000,
                    ..Report::default()
                }
            );
            assert_eq!(read[0], (0..1000).collect::<Vec<i64>>());
            assert_eq!(read[1], (base..base + 1000).collect::<Vec<i64>>());
            assert!(read[2]
                .iter()
                .zip(0..)
                .all(|(number, line)| *number == line % 3));
        }
    }
}

#[test]
fn lines_that_do_not_fit_are_told_and_the_others_read() {
    let odd = [
        "",
        "\r",
        "1, 2, 3",
        "1",
        "1,2",
        "1, 2,",
        " 1, 2",
        "1, 2 ",
        "1, x",
        "1, -",
        "1, --2",
        ", 2",
        "1, ",
        "1, 1234567890123456789",
        "1, 2\r\r",
        "1, 0x2",
        "+1, 2",
        "1,  2",
        "\u{e9}, 2",
        "1, 2\0",
    ];
    for place in [0, 1, 5, 130, 255, 256, 299] {
        for text in odd {
            let mut lines: Vec<String> = (0..300)
                .map(|line| format!("{line}, {}", line * 7))
                .collect();
            lines[place] = text.to_owned();
            let data = lines.join("\n") + "\n";
            let start = lines[..place]
                .iter()
                .map(|line| line.len() + 1)
                .sum::<usize>();
            let (read, report) = numbers(data.as_bytes(), 2);
            let expected = [place, start, start + text.len()].map(|number| number as i64);
            assert_eq!(
                (report.lines, &report.odd[..]),
                (300, &expected[..]),
                "{text:?}"
            );
            for line in (0..300).filter(|line| *line != place) {
                assert_eq!(
                    [read[0][line], read[1][line]],
                    [line as i64, line as i64 * 7]
                );
            }
        }
    }
}

#[test]
fn a_minus_many_digits_and_no_last_line_end() {
    let (read, report) = numbers(
        b"-5, 123456789012345678\n007, -0\n1, -999999999999999999",
        2,
    );
    assert!(report.odd.is_empty());
    assert_eq!(
        read,
        [
            [-5, 7, 1],
            [123_456_789_012_345_678, 0, -999_999_999_999_999_999]
        ]
    );
}

#[test]
fn numbers_become_what_is_asked_for() {
    let data = "1500, 2, 0x1f, 9\n".repeat(200);
    let [floats, whole_places]: [Vec<AtomicU64>; 2] =
        std::array::from_fn(|_| (0..200).map(|_| AtomicU64::new(7)).collect());
    let bytes: Vec<AtomicU8> = (0..200).map(|_| AtomicU8::new(7)).collect();
    let mut columns = [
        whole(Places::Floats(&floats)),
        whole(Places::Bytes(&bytes)),
        whole(Places::Whole(&whole_places)),
        whole(Places::Same(9)),
    ];
    (columns[0].times, columns[0].over) = (3, 1000);
    columns[2].hexadecimal = true;
    columns[2].times = 10;
    let report = read(data.as_bytes(), &columns);
    assert_eq!(
        report,
        Report {
            lines: 200,
            ..Report::default()
        }
    );
    let is = |place: &AtomicU64, number: u64| place.load(Ordering::Relaxed) == number;
    assert!(floats.iter().all(|place| is(place, 4.5_f64.to_bits())));
    assert!(whole_places.iter().all(|place| is(place, 310)));
    assert!(bytes.iter().all(|place| place.load(Ordering::Relaxed) == 2));
}

#[test]
fn a_number_beyond_its_bounds_is_none() {
    let data = "5, 1\n".repeat(100) + "6, 1\n4, 1\n5, 1\n";
    let all: Vec<i64> = (0..103).collect();
    for (low, high, lines, odd, changed) in [
        (5, 5, 103, &[100, 101][..], 0),
        (4, 5, 101, &[100], 1),
        (5, 6, 100, &[], 1),
        (i64::MAX, i64::MAX, 103, &all, 0),
        (6, 5, 103, &all, 0),
    ] {
        let mut columns = [whole(Places::Same(5)), whole(Places::Same(1))];
        (columns[0].low, columns[0].high) = (low, high);
        let report = read(data.as_bytes(), &columns);
        let rows: Vec<i64> = report.odd.iter().step_by(3).copied().collect();
        assert_eq!(
            (report.lines, &rows[..], report.changed),
            (lines, odd, changed)
        );
    }
}

#[test]
fn a_column_that_changes_ends_it() {
    for place in [0, 3, 200, 299] {
        let mut lines = vec!["5, 1, 8"; 300];
        lines[place] = "6, 1, 9";
        let columns = [5, 1, 8].map(|same| whole(Places::Same(same)));
        let report = read(lines.join("\n").as_bytes(), &columns);
        assert_eq!(
            report,
            Report {
                lines: place,
                odd: vec![],
                changed: 0b101
            }
        );
    }
}

#[test]
fn lines_that_end_alike_are_told_from_those_that_nearly_do() {
    for tail in [
        &[0][..],
        &[4096, 0],
        &[-1, 4096, 0],
        &[8, 4_294_967_296, 0],
        &[i64::MAX],
    ] {
        let end: String = tail
            .iter()
            .map(|same| format!(", {same}"))
            .collect::<Vec<_>>()
            .concat();
        let lines: Vec<String> = (0..300).map(|line| format!("{line}{end}")).collect();
        let places: Vec<AtomicU64> = (0..300).map(|_| AtomicU64::new(7)).collect();
        let mut columns = vec![whole(Places::Whole(&places))];
        columns.extend(tail.iter().map(|same| whole(Places::Same(*same))));
        let at = |data: &str| read(data.as_bytes(), &columns);
        // More than 18 digits fit nowhere.
        let lost = tail[0] == i64::MAX;
        for line_end in ["\n", "\r\n"] {
            let report = at(&(lines.join(line_end) + line_end));
            assert_eq!(report.changed, 0);
            assert!(lost || report.odd.is_empty());
        }
        for change in 0..end.len() {
            let mut lines = lines.clone();
            lines[200].replace_range(3 + change..4 + change, "7");
            let report = at(&(lines.join("\n") + "\n"));
            let same = end.as_bytes()[change] == b'7';
            assert!(
                same || report.changed != 0 || report.odd.len() >= 3,
                "{end} {change}"
            );
        }
        let mut longer = lines.clone();
        longer[200] += "0";
        let report = at(&(longer.join("\n") + "\n"));
        assert!(report.changed != 0 || !report.odd.is_empty() || end.ends_with(" 0"));
        assert!(
            lost || places
                .iter()
                .zip(0..)
                .all(|(place, line)| place.load(Ordering::Relaxed) == line)
        );
    }
}

#[test]
fn lines_without_a_place_are_not_read() {
    let data = "1, 2\n".repeat(500);
    for room in [0, 1, 127, 130] {
        let places: Vec<AtomicU64> = (0..room).map(|_| AtomicU64::new(7)).collect();
        let report = read(
            data.as_bytes(),
            &[whole(Places::Whole(&places)), whole(Places::Same(2))],
        );
        assert_eq!(report.lines, room);
    }
}

#[test]
fn lines_are_counted() {
    let counts = [&b""[..], b"\n", b"a", b"a\n", b"a\r\n\r\nb"].map(count_lines);
    assert_eq!(counts, [0, 1, 1, 1, 3]);
}

#[test]
fn a_longer_number_that_begins_and_ends_alike_is_another() {
    let places: Vec<AtomicU64> = (0..300).map(|_| AtomicU64::new(7)).collect();
    let columns = [
        whole(Places::Whole(&places)),
        whole(Places::Same(111_111_111)),
    ];
    let mut lines: Vec<String> = (0..300).map(|line| format!("{line}, 111111111")).collect();
    for ones in [10, 13] {
        lines[200] = format!("200, {}", "1".repeat(ones));
        let report = read((lines.join("\n") + "\n").as_bytes(), &columns);
        assert_eq!((report.lines, report.changed), (200, 0b10), "{ones}");
    }
}

#[test]
fn a_last_number_is_held_to_its_column_however_alike_the_lines_are() {
    // Hexadecimal, 16 is 22; the first line is read by itself.
    for (first, same, hexadecimal, low, expected) in [
        ("5, 16\n", 16, false, 16, (300, 0, 0)),
        ("5, 16\n", 16, false, 17, (300, 300, 0)),
        ("5, 0x10\n", 16, true, 0, (1, 0, 0b10)),
        ("5, 0x16\n", 22, true, 0, (300, 0, 0)),
    ] {
        let places: Vec<AtomicU64> = (0..300).map(|_| AtomicU64::new(7)).collect();
        let mut columns = [whole(Places::Whole(&places)), whole(Places::Same(same))];
        (columns[1].hexadecimal, columns[1].low) = (hexadecimal, low);
        let data = first.to_owned() + &"5, 16\n".repeat(299);
        let report = read(data.as_bytes(), &columns);
        assert_eq!(
            (report.lines, report.odd.len() / 3, report.changed),
            expected,
            "{first}"
        );
    }
}

#[test]
fn numbers_that_are_all_alike_are_written_where_there_are_places() {
    for number in [-1, 0, 1] {
        let (read, report) = numbers(format!("5, {number}\n").repeat(300).as_bytes(), 2);
        assert_eq!(report.lines, 300);
        assert_eq!(read, [[5; 300], [number; 300]]);
    }
}
