//! Python binding of the byte scanner.

mod number;
mod scan;

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

fn to_bytes<'py>(py: Python<'py>, numbers: &[i64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_ne_bytes())
        .collect();
    PyBytes::new(py, &bytes)
}

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
) -> PyResult<(Bound<'_, PyBytes>, Bound<'_, PyBytes>)> {
    let bytes = items(&data, "data")?;
    let firsts = items(&first, "first")?;
    let steps = items(&step, "step")?;
    if firsts.len() != steps.len() {
        return Err(PyValueError::new_err(
            "first and step must be of one length",
        ));
    }
    if out.readonly() || !out.is_c_contiguous() {
        return Err(PyValueError::new_err("out must be writable and contiguous"));
    }
    if !out.buf_ptr().cast::<Slot>().is_aligned() {
        return Err(PyValueError::new_err("out must be aligned to 8 bytes"));
    }
    let numbers: &[Slot] = if out.item_count() == 0 {
        &[]
    } else {
        // SAFETY: as in `items`; the buffer is writable and aligned, a Slot has the size of an f64, and every bit pattern
        // is one. Others may write to it at the same time through Slots of their own: those writes are atomic.
        unsafe { std::slice::from_raw_parts(out.buf_ptr().cast::<Slot>(), out.item_count()) }
    };
    let report = py.detach(|| scan::scan(bytes, firsts, steps, numbers, least, count));
    Ok((to_bytes(py, &report.lines), to_bytes(py, &report.odd)))
}

/// Number of lines in `data`, and how many of them have at least `least` bytes.
#[pyfunction]
fn count_lines(py: Python<'_>, data: PyBuffer<u8>, least: usize) -> PyResult<(usize, usize)> {
    let bytes = items(&data, "data")?;
    Ok(py.detach(|| scan::count_lines(bytes, least)))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(count_lines, module)?)?;
    module.add_function(wrap_pyfunction!(scan_capture, module)?)
}
