"""Audit: configuration against prerequisites and best practice.

`items.toml` has the items with their sources; `items` reads it. `evidence` gathers facts from files, `checks` judges
the items that a single setting cannot decide, `audit` puts them together.
"""

from __future__ import annotations

from esxparse.audits.audit import Audit, audit

__all__ = ["Audit", "audit"]
