"""Data quality as a contract: what a sound recording looks like, as suites of Great Expectations.

`profile` makes small tables of a recording: `data` computes what checks.toml says beside counters, `clock` and
`samples` tell of times and whole samples. `suites` are the expectations, plain JSON; `evaluate` judges ours quickly and
simple ones on any table, `gx` any with Great Expectations; `check` puts it together, `results` is what comes out.
"""

from esxparse.quality.check import check, data_docs
from esxparse.quality.profile import profile
from esxparse.quality.results import Expectation, Quality

__all__ = ["Expectation", "Quality", "check", "data_docs", "profile"]
