"""What the specification of a chart says."""

from __future__ import annotations


def layers(spec):
    """Every single view of a specification, however deeply layered."""
    if "layer" not in spec:
        return [spec]
    above = {"data": spec["data"]} if "data" in spec else {}
    return [view for layer in spec["layer"] for view in layers(above | layer)]


def rows_of(spec, view):
    return spec["datasets"][view["data"]["name"]]


def rule_values(spec):
    found = []
    for view in layers(spec):
        if view["mark"]["type"] == "rule":
            assert view["mark"]["strokeDash"], "thresholds are dashed"
            found += [row["at"] for row in rows_of(spec, view)]
    return found


def rule_words(spec):
    views = [view for view in layers(spec) if view["mark"]["type"] == "text"]
    return {row["text"] for view in views for row in rows_of(spec, view)}


def drawn(spec):
    """What a chart of runs draws, which its title does not say: values, by what, and of what."""
    return spec["description"].rpartition(": ")[0]


def titles(spec, channel):
    return {view["encoding"][channel].get("title") for view in layers(spec) if channel in view["encoding"]} - {None}
