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


def values_of(chart, *fields):
    """The different values of these fields, in the order in which a chart has them."""
    found = [row for of in chart.to_dict()["datasets"].values() for row in of if all(name in row for name in fields)]
    return list(dict.fromkeys(tuple(row[name] for name in fields) for row in found))


def subtitle_of(chart):
    return " ".join(chart.to_dict()["title"].get("subtitle", []))


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
