"""Numbers of the bundled studies, computed again from raw cells by plain arithmetic.

Nothing here imports esxparse or a library of tables: csv, json, bz2, tomllib, and sums written out. So a mistake of the
package is not repeated here. `tests/published/test_absolute.py` compares.
"""
