"""Everything observable of bundled recordings, as short texts: what changes is seen in a diff, and accepted on purpose.

A golden text says that something changed, not that it was right: what is right is said by tests/absolute and
tests/page_oracle. `make golden` writes the texts again; read the difference before you commit it.
"""
