"""Tools that the readers of formats share: heads, text, numbers, rows to tables, notes, pieces of large files."""
