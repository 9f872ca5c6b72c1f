"""Data quality as a contract: suites of Great Expectations describe a sound recording.

`profile` makes small tables of a recording. `data` computes the classes and identities of checks.toml, `clock` and
`samples` check times and whole samples. `suites` are the expectations, plain JSON. `evaluate` judges ours quickly and
simple ones on any table, `gx` any with Great Expectations. `check` combines them, and `results` is the output.
"""

from esxparse.quality.check import check, data_docs
from esxparse.quality.profile import profile
from esxparse.quality.results import Expectation, Quality

__all__ = ["Expectation", "Quality", "check", "data_docs", "profile"]
