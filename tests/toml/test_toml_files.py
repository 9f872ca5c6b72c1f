"""Every kind of TOML file that people write: a mistake is refused with file, line, and what to write instead."""

from __future__ import annotations

import re

import pytest

from esxparse.diagnosis import cases, rules
from esxparse.errors import EsxparseError
from esxparse.formats.opening import Options
from esxparse.reports import batch_items
from esxparse.studies import published
from esxparse.studies.study_file import examine

RULES = """\
title = "ours"
[[rule]]
id = "cpu.ours"
screen = "%RDY"
kind = "vm"
value = "ready_pct"
unit = "%"
direction = "above"
warn = 5
critical = 10.0
source = "me"
"""
CASE = """\
trouble = "cpu.ours"
title = "ours"
kind = "vm"
trigger = "used_pct >= 5"
impact = "used_pct / 10"
verdict = "{name} used {used_pct:.0f} %."
next = "Look."
source = "me"
[[evidence]]
if = "used_pct >= 8"
weight = 2.0
say = "much"
"""
PUBLISHED = """\
document = "Ours, 2026"
[[figure]]
figure = "most"
claim = "much"
value = 15.0
unit = "%"
source = "page 1"
here = "SELECT 1"
[tables]
iops = { compare = "iops" }
"""
BATCH = """\
template = "auto"
[[item]]
inputs = ["a.csv"]
name = "ours"
parameters = { start = "2026-11-20T08:00" }
"""
STUDY = """\
title = "ours"
axis = ["vms"]
baseline = { filter = "default" }
[window]
warmup = "2m"
[host]
cpus = 16
mhz = 2400
[report]
question = "?"
tolerances = { read_ms = 10 }
[[report.answer]]
sql = "SELECT 1 AS a"
text = "{a}"
[[run]]
filter = "default"
vms = 16
esxtop = { file = "a.csv", clock = "-2h" }
[run.values]
users = 5
"""


def _rules(path):
    rules.load(path)


def _case(path):
    cases.parse(path.read_text(encoding="utf-8"), str(path))


def _published(path):
    published.read(path)


def _batch(path):
    batch_items.plan([path], "auto", {}, Options(), {}, path.parent / "out")


def _study(path):
    manifest, wrong = examine(path)
    for problem in (*wrong, *(one for run in manifest.runs for one in run.problems)):
        raise EsxparseError(f"{path}:{problem.line}: {problem.message}")


READERS = {
    "rules": (RULES, _rules),
    "case": (CASE, _case),
    "published": (PUBLISHED, _published),
    "batch": (BATCH, _batch),
    "study": (STUDY, _study),
}
FILE = 'esxtop = { file = "a.csv", clock = "-2h" }'
LIMITS = "tolerances = { read_ms = 10 }"
BAD = [
    # A kind of file, a line of it and what is put in its place, and what is refused in the message.
    ("rules", 'title = "ours"', "title = 3", "title is 3; write text"),
    ("rules", 'title = "ours"', "title = ", "not TOML"),
    ("rules", 'title = "ours"', 'titel = "ours"', 'unknown key "titel"; .*(did you mean "title"?)'),
    ("rules", 'title = "ours"', 'extends = "standrd"', 'extends is "standrd"; .*(did you mean "standard"?)'),
    ("rules", "[[rule]]", "[rule]", "rule is a table; write [[rule]] above each"),
    ("rules", 'id = "cpu.ours"', "id = 7", "id is 7; write text"),
    ("rules", 'id = "cpu.ours"', 'id = ""', 'id is ""; write text'),
    ("rules", 'screen = "%RDY"', "screen = true", "screen is true; write text"),
    ("rules", 'kind = "vm"', 'kind = "guest"', 'kind is "guest"; write one of'),
    ("rules", 'value = "ready_pct"', 'value = "redy_pct"', '"redy_pct".*(did you mean "ready_pct"?)'),
    ("rules", 'value = "ready_pct"', 'value = "ready_pct +"', "value is not an expression"),
    ("rules", 'direction = "above"', 'direction = "abov"', 'write "above" or "below" (did you mean "above"?)'),
    ("rules", "warn = 5", 'warn = "5"', 'warn is "5"; write a number'),
    ("rules", "warn = 5", "warn = true", "warn is true; write a number"),
    ("rules", "warn = 5", "warn = nan", "warn is nan; write a finite number"),
    ("rules", "warn = 5", "warn = inf", "warn is inf; write a finite number"),
    ("rules", "warn = 5", "warn = [5]", "warn is [5]; write a number"),
    ("rules", "warn = 5", "wran = 5", 'unknown key "wran"; .*(did you mean "warn"?)'),
    ("rules", "critical = 10.0", "critical = 1.0", "critical is 1, which is reached before warn, 5; swap them"),
    ("rules", "critical = 10.0", 'critical = "x"', 'critical is "x"; write a number'),
    ("rules", 'source = "me"', 'source = ""', 'source is ""; write text'),
    ("rules", 'source = "me"', 'source = "me"\nfloor = 3', "floor"),
    ("rules", 'source = "me"', 'source = "me"\npersist = "3"', 'persist is "3"; write a whole number'),
    ("rules", 'source = "me"', 'source = "me"\nmeaning = ""', 'meaning is ""; write text'),
    ("case", 'trouble = "cpu.ours"', "trouble", "not TOML"),
    ("case", 'title = "ours"', "title = 3", "title is 3; write text"),
    ("case", 'title = "ours"', 'titel = "ours"', 'unknown key "titel"; .*(did you mean "title"?)'),
    ("case", 'kind = "vm"', 'kind = "guest"', 'kind is "guest"; write one of'),
    ("case", 'trigger = "used_pct >= 5"', 'trigger = "usd_pct >= 5"', '"usd_pct".*(did you mean "used_pct"?)'),
    ("case", 'trigger = "used_pct >= 5"', 'trigger = "used_pct >="', "is not an expression"),
    ("case", 'trigger = "used_pct >= 5"', "trigger = \"used_pct >= warn('cpu.redy')\"", '(did you mean "cpu.ready"?)'),
    ("case", 'trigger = "used_pct >= 5"', 'trigger = "used_pct >= warn(cpu.ready)"', "single quotes"),
    ("case", 'impact = "used_pct / 10"', "impact = \"used_pct / warn('disk.dav')\"", '(did you mean "disk.davg"?)'),
    ("case", 'next = "Look."', 'next = ""', 'next is ""; write text'),
    ("case", 'source = "me"', 'source = "me"\npersist = "2"', 'persist is "2"; write a whole number'),
    ("case", 'source = "me"', 'source = "me"\nexplains = "a"', 'explains is "a"; write a list'),
    ("case", 'source = "me"', 'source = "me"\nshared = 1', "shared is 1; write true or false"),
    ("case", 'source = "me"', 'source = "me"\nwho = 3', "who is 3; write a table"),
    ("case", "[[evidence]]", "[evidence]", "evidence is a table; write [[evidence]] above each"),
    ("case", "weight = 2.0", "wait = 2.0", 'unknown key "wait"; .*(did you mean "weight"?)'),
    ("published", 'document = "Ours, 2026"', "document = 3", "document is 3; write text"),
    ("published", "[[figure]]", "[figure]", "figure is a table; write [[figure]] above each"),
    ("published", 'figure = "most"', "figure = 3", "figure is 3; write text"),
    ("published", 'claim = "much"', 'clam = "much"', 'unknown key "clam"; .*(did you mean "claim"?)'),
    ("published", "value = 15.0", 'value = "15"', 'value is "15"; write a number'),
    ("published", "value = 15.0", "value = nan", "value is nan; write a finite number"),
    ("published", "value = 15.0", "value = true", "value is true; write a number"),
    ("published", "value = 15.0", "value = 15.0\nleast = 1", "value, or a range"),
    ("published", 'source = "page 1"', 'source = "page 1"\nassumed = "x"', 'source = "page, slide or section"'),
    ("published", 'iops = { compare = "iops" }', "iops = 3", "iops is 3; write a table"),
    ("batch", "[[item]]", "other = 1\n[[item]]", 'unknown key "other"'),
    ("batch", 'name = "ours"', 'nmae = "ours"', 'unknown key "nmae"; .*(did you mean "name"?)'),
    ("batch", 'inputs = ["a.csv"]', 'inputs = "a.csv"', 'inputs is "a.csv"; write a list'),
    ("batch", 'inputs = ["a.csv"]', "inputs = [3]", "inputs is 3; write text"),
    ("batch", 'inputs = ["a.csv"]', "inputs = []", 'inputs = ["FILE", ...]'),
    ("batch", 'parameters = { start = "2026-11-20T08:00" }', "parameters = 1", "parameters is 1; write a table"),
    ("study", 'title = "ours"', "title = 3", "title is 3; write text"),
    ("study", 'title = "ours"', 'titel = "ours"', 'unknown key "titel"; .*(did you mean "title"?)'),
    ("study", 'title = "ours"', 'title = "ours', "not TOML"),
    ("study", 'axis = ["vms"]', "axis = 3", "axis is 3; write a label, or a list of labels"),
    ("study", 'axis = ["vms"]', "axis = [3]", "axis is [3]; write a label, or a list of labels"),
    ("study", 'baseline = { filter = "default" }', 'baseline = "x"', 'baseline is "x"; write a table'),
    ("study", 'baseline = { filter = "default" }', "baseline = { filter = [1] }", "filter is [1]; write"),
    ("study", 'baseline = { filter = "default" }', "baseline = { a = 99999999999999999999 }", "64 bits"),
    ("study", 'warmup = "2m"', 'warmpup = "2m"', 'unknown key "warmpup"; .*(did you mean "warmup"?)'),
    ("study", 'warmup = "2m"', 'warmup = "two"', "is not a length of time"),
    ("study", 'warmup = "2m"', "measure = 0", "measure is 0"),
    ("study", 'warmup = "2m"', 'span = "fioo"', 'span is "fioo", not a load generator; .*(did you mean "fio"?)'),
    ("study", 'warmup = "2m"', 'end = "2026-03-02T08:00"\nspan = "fio"', "a window takes either span or start and end"),
    ("study", "[window]", "[windwo]", 'unknown key "windwo"; .*(did you mean "window"?)'),
    ("study", "cpus = 16", "cpus = 2.5", "cpus is 2.5; write a whole number above 0"),
    ("study", "cpus = 16", "cpus = true", "cpus is true; write a whole number above 0"),
    ("study", "cpus = 16", 'release = "six"', 'release is "six"; write'),
    ("study", "cpus = 16", "memory_mb = 2048", "memory_mib"),
    ("study", "mhz = 2400", 'mhz = "2.4 GHz"', 'mhz is "2.4 GHz"; write a number above 0'),
    ("study", "mhz = 2400", "mhz = inf", "mhz is inf; write"),
    ("study", "mhz = 2400", "mhz = 0", "mhz is 0; write a number above 0"),
    ("study", 'question = "?"', "question = 3", "question is 3; write text"),
    ("study", 'question = "?"', 'qestion = "?"', 'unknown key "qestion"; .*(did you mean "question"?)'),
    ("study", 'question = "?"', 'shape = "../x"', 'shape is "../x"; write the name of a template'),
    ("study", 'question = "?"', "inputs = { vms = [1] }", "vms is [1]; write a number or text"),
    ("study", 'question = "?"', "tables = { a = 3 }", "a is 3; write a table"),
    ("study", LIMITS, 'tolerances = { read_ms = "x" }', 'read_ms is "x"; write a number'),
    ("study", LIMITS, "tolerances = { read_ms = nan }", "read_ms is nan; write a finite number"),
    ("study", LIMITS, "rules = { read_ms = true }", "read_ms is true; write a number or text"),
    ("study", 'text = "{a}"', 'txt = "{a}"', 'unknown key "txt"; .*(did you mean "text"?)'),
    ("study", 'text = "{a}"', 'text = "{a:999}"', 'text is "{a:999}"; write'),
    ("study", 'sql = "SELECT 1 AS a"', "sql = 1", "sql is 1; write text"),
    ("study", "[[run]]", "[run]", "run is a table; write [[run]] above each"),
    ("study", 'filter = "default"', "filter = []", 'the label "filter"'),
    ("study", 'filter = "default"', "iops = 5", 'the label "iops"'),
    ("study", "vms = 16", "vms = 99999999999999999999", "64 bits"),
    ("study", "vms = 16", "vms = nan", 'the label "vms"'),
    ("study", FILE, "esxtop = 3", "esxtop"),
    ("study", FILE, 'esxtp = "a.csv"', '(did you mean "esxtop"?)'),
    ("study", FILE, 'esxtop = { file = "a.csv", clok = 2 }', 'mean "clock"?'),
    ("study", FILE, 'esxtop = { file = "a", clock = "noon" }', "length of time"),
    ("study", FILE, 'esxtop = { file = "a", test = [] }', "test is []; write"),
    ("study", FILE, 'esxtop = { file = "a", sensor = 3 }', "sensor is 3; write"),
    ("study", FILE, 'esxtop = { file = "a", pcpus = -1 }', "pcpus is -1; write"),
    ("study", FILE, 'esxtop = { file = "a", segment = 0 }', "segment is 0"),
    ("study", "users = 5", 'users = "many"', 'users is "many"; write a number'),
    ("study", "users = 5", "users = " + "1" + "0" * 400, "users is 1000"),
    ("study", "users = 5", "mbps = 5.0", "is ambiguous"),
    ("study", "users = 5", "vms = 5", "is also a label"),
    ("study", "users = 5", "_users = 5", "start it with a letter"),
]
MISSING = [
    *(("rules", line) for line in RULES.splitlines()[2:9] + RULES.splitlines()[10:]),
    *(("case", line) for line in CASE.splitlines()[:8] + CASE.splitlines()[9:]),
    *(("published", line) for line in PUBLISHED.splitlines()[2:7]),
    ("batch", 'inputs = ["a.csv"]'),
    ("study", 'sql = "SELECT 1 AS a"'),
    ("study", 'text = "{a}"'),
]


def refused(tmp_path, kind, text):
    path = tmp_path / f"{kind}.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(EsxparseError) as caught:
        READERS[kind][1](path)
    message = str(caught.value)
    found = re.match(re.escape(str(path)) + r":(\d+): ", message)
    assert found, message
    assert "\n" not in message
    return int(found[1]), message[found.end() :]


@pytest.mark.parametrize(("kind", "line", "instead", "words"), BAD)
def test_a_mistake_is_refused_with_its_line_and_what_to_write(tmp_path, kind, line, instead, words):
    good = READERS[kind][0]
    number, message = refused(tmp_path, kind, good.replace(f"{line}\n", f"{instead}\n", 1))
    first = good.splitlines().index(line) + 1
    assert first <= number <= first + instead.count("\n")
    assert re.search(".*".join(map(re.escape, words.split(".*"))), message), message


@pytest.mark.parametrize(("kind", "line"), MISSING)
def test_a_missing_key_is_refused_with_the_line_of_its_table(tmp_path, kind, line):
    good = READERS[kind][0]
    number, message = refused(tmp_path, kind, good.replace(f"{line}\n", "", 1))
    above = [place for place, one in enumerate(good.splitlines()[: good.splitlines().index(line)], 1) if one[0] == "["]
    assert number == (above[-1] if above else 1)
    assert "write" in message
    assert line.split(" =")[0] in message


@pytest.mark.parametrize("kind", ["rules", "case", "published", "study"])
@pytest.mark.parametrize(
    ("value", "why"),
    [("9" * 5000, "not TOML: .*digits"), ("[" * 40 + "]" * 40, "not TOML: it is nested more than 32 tables deep")],
)
def test_what_nobody_wrote_by_hand_is_refused_with_its_file(tmp_path, kind, value, why):
    path = tmp_path / f"{kind}.toml"
    path.write_text(f"title = {value}\n", encoding="utf-8")
    with pytest.raises(EsxparseError, match=f"^{re.escape(str(path))}: {why}"):
        READERS[kind][1](path)


@pytest.mark.parametrize("kind", READERS)
def test_the_good_file_is_accepted(tmp_path, kind):
    path = tmp_path / f"{kind}.toml"
    path.write_text(READERS[kind][0], encoding="utf-8")
    (tmp_path / "a.csv").touch()
    READERS[kind][1](path)


def test_one_id_twice_is_refused_at_the_second(tmp_path):
    twice = RULES + RULES.partition("\n")[2]
    assert refused(tmp_path, "rules", twice)[0] == len(RULES.splitlines()) + 2


def test_a_rule_that_replaces_another_needs_a_source_of_its_own(tmp_path):
    number, message = refused(tmp_path, "rules", 'extends = "strict"\n\n[[rule]]\nid = "cpu.ready"\nwarn = 1\n')
    assert number == 3
    assert message.startswith("source is missing; write one")


def test_what_a_file_says_cannot_break_the_line_of_the_message(tmp_path):
    huge = "0x" + "f" * 5000
    for text in (
        '"a\\nb" = 1\n',
        f'[run]\n"a\\u202eb" = {huge}\n',
        f"[host]\ncpus = {huge}\n",
        "[window]\nwarmup = [\n'\x7f']\n",
    ):
        _, message = refused(tmp_path, "study", text)
        assert message.isprintable()
        assert len(message) < 400


def test_a_list_of_tables_is_asked_for_in_the_form_that_people_write(tmp_path):
    assert refused(tmp_path, "study", "title = 'x'\nrun = 5\n") == (2, "run is 5; write [[run]] above each")
