//! Python binding of the byte scanner and of the reader of whole numbers.

mod bins;
mod cells;
mod columns;
mod fours;
mod integers;
mod judge;
mod learnt;
mod number;
mod scan;
mod skip;
mod vectors;

use std::sync::atomic::{AtomicU64, AtomicU8};

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

use columns::{Column, Places};
use integers::{FEWEST_COLUMNS, MOST_COLUMNS};
use scan::Slot;

/// The buffer's items, for as long as the buffer is held.
fn items<'a, T: Element>(buffer: &'a PyBuffer<T>, name: &str) -> PyResult<&'a [T]> {
    if !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err(format!("{name} must be contiguous")));
    }
    if buffer.item_count() == 0 {
        return Ok(&[]);
    }
    // SAFETY: the buffer is contiguous, holds `item_count` items of type T (PyBuffer checked the format and the
    // alignment) and is kept alive by the borrow; its exporter may not free or resize it while it is held. That
    // nobody writes to it meanwhile is the caller's promise, stated in the function's documentation.
    Ok(unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<T>(), buffer.item_count()) })
}

/// What a place in a buffer can be: numbers of as many bits, written without exclusive access.
trait Place<T> {}

impl Place<f64> for Slot {}
impl Place<f64> for AtomicU64 {}
impl Place<i64> for AtomicU64 {}
impl Place<u8> for AtomicU8 {}

/// The buffer's items as places to write to, for as long as the buffer is held.
fn places<T: Element, P: Place<T>>(buffer: &PyBuffer<T>) -> PyResult<&[P]> {
    const { assert!(size_of::<T>() == size_of::<P>()) };
    if buffer.readonly() || !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err("out must be writable and contiguous"));
    }
    if !buffer.buf_ptr().cast::<P>().is_aligned() {
        return Err(PyValueError::new_err("out must be aligned to 8 bytes"));
    }
    if buffer.item_count() == 0 {
        return Ok(&[]);
    }
    // SAFETY: as in `items`; the buffer is writable and aligned, a place has the size of an item (checked above), and
    // every bit pattern is a value of both: `Place` is implemented for atomic numbers alone. Others may write to the
    // buffer at the same time through places of their own: those writes are atomic.
    Ok(unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<P>(), buffer.item_count()) })
}

fn to_bytes<'py>(py: Python<'py>, numbers: &[i64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(numbers), |bytes| {
        for (place, number) in bytes.chunks_exact_mut(size_of::<i64>()).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    })
}

/// What a scan tells: see `learnt::Report`.
type Scanned<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    bool,
);

/// Scans whole lines of a capture: see the Python twin for what it promises.
///
/// The interpreter lock is not held meanwhile: nobody may write to the first three buffers until it returns; into `out`
/// other scans may write, to other places.
#[pyfunction]
#[pyo3(name = "scan")]
fn scan_capture(
    py: Python<'_>,
    data: PyBuffer<u8>,
    first: PyBuffer<i64>,
    step: PyBuffer<i64>,
    out: PyBuffer<f64>,
    least: usize,
    count: bool,
) -> PyResult<Scanned<'_>> {
    let bytes = items(&data, "data")?;
    let firsts = items(&first, "first")?;
    let steps = items(&step, "step")?;
    if firsts.len() != steps.len() {
        return Err(PyValueError::new_err(
            "first and step must be of one length",
        ));
    }
    let numbers: &[Slot] = places(&out)?;
    let report = py.detach(|| scan::scan(bytes, firsts, steps, numbers, least, count));
    Ok((
        to_bytes(py, &report.lines)?,
        to_bytes(py, &report.odd)?,
        to_bytes(py, &report.absent)?,
        PyBytes::new(py, &report.shapes),
        to_bytes(py, &report.changes)?,
        PyBytes::new(py, &report.blank),
        report.padded,
    ))
}

/// Number of lines in `data`, and how many of them have at least `least` bytes.
#[pyfunction]
fn count_lines(py: Python<'_>, data: PyBuffer<u8>, least: usize) -> PyResult<(usize, usize)> {
    let bytes = items(&data, "data")?;
    Ok(py.detach(|| scan::count_lines(bytes, least)))
}

/// Where the numbers of a column go: see `Places`.
enum Out {
    Floats(PyBuffer<f64>),
    Whole(PyBuffer<i64>),
    Bytes(PyBuffer<u8>),
    Same(i64),
}

impl Out {
    fn new(out: &Bound<'_, PyAny>) -> PyResult<Self> {
        if out.is_instance_of::<PyInt>() {
            return out.extract().map(Self::Same);
        }
        PyBuffer::get(out)
            .map(Self::Floats)
            .or_else(|_| PyBuffer::get(out).map(Self::Whole))
            .or_else(|_| PyBuffer::get(out).map(Self::Bytes))
    }

    fn places(&self) -> PyResult<Places<'_>> {
        Ok(match self {
            Self::Floats(buffer) => Places::Floats(places(buffer)?),
            Self::Whole(buffer) => Places::Whole(places(buffer)?),
            Self::Bytes(buffer) => Places::Bytes(places(buffer)?),
            Self::Same(same) => Places::Same(*same),
        })
    }
}

/// Reads lines of whole numbers: see the Python twin for what it promises.
///
/// The interpreter lock is not held meanwhile: nobody may write to `data` until it returns; into the columns others may
/// write, to other places.
#[pyfunction]
fn read_integers(
    py: Python<'_>,
    data: PyBuffer<u8>,
    columns: Vec<(i64, i64, bool, i64, i64, Bound<'_, PyAny>)>,
) -> PyResult<(usize, Py<PyBytes>, u64)> {
    let bytes = items(&data, "data")?;
    if !(FEWEST_COLUMNS..=MOST_COLUMNS).contains(&columns.len()) {
        return Err(PyValueError::new_err("columns must be 2 to 16"));
    }
    let outs: Vec<Out> = columns
        .iter()
        .map(|column| Out::new(&column.5))
        .collect::<PyResult<_>>()?;
    let columns: Vec<Column> = columns
        .iter()
        .zip(&outs)
        .map(|(&(low, high, hexadecimal, times, over, _), out)| {
            Ok(Column {
                low,
                high,
                hexadecimal,
                times,
                over,
                places: out.places()?,
            })
        })
        .collect::<PyResult<_>>()?;
    let report = py.detach(|| integers::read(bytes, &columns));
    Ok((
        report.lines,
        to_bytes(py, &report.odd)?.unbind(),
        report.changed,
    ))
}

/// Number of lines in `data`, the last one included where it has no line end.
#[pyfunction]
fn number_of_lines(py: Python<'_>, data: PyBuffer<u8>) -> PyResult<usize> {
    let bytes = items(&data, "data")?;
    Ok(py.detach(|| integers::count_lines(bytes)))
}

/// What is taken out of a text: see `bins::Taken`.
type Taken<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// Takes the bins of fio out of a text: see the Python twin for what it promises.
#[pyfunction]
fn take_bins(py: Python<'_>, json: PyBuffer<u8>) -> PyResult<Option<Taken<'_>>> {
    let bytes = items(&json, "json")?;
    py.detach(|| bins::take(bytes))
        .map(|taken| {
            Ok((
                PyBytes::new(py, &taken.text),
                to_bytes(py, &taken.keys)?,
                to_bytes(py, &taken.values)?,
                to_bytes(py, &taken.ends)?,
            ))
        })
        .transpose()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(count_lines, module)?)?;
    module.add_function(wrap_pyfunction!(number_of_lines, module)?)?;
    module.add_function(wrap_pyfunction!(read_integers, module)?)?;
    module.add_function(wrap_pyfunction!(take_bins, module)?)?;
    module.add_function(wrap_pyfunction!(scan_capture, module)?)
}
