"""The report on a fleet."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from types import SimpleNamespace

import hosts
import polars as pl
import pytest
from checkout import ROOT
from templated import shown

import esxparse as ex
from esxparse.cli import main
from esxparse.errors import EsxparseError
from esxparse.lakes import judging
from esxparse.metrics import fleet
from esxparse.reports.fleet import gather, severity

pytestmark = pytest.mark.needs("obstore")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Three hosts, two of them judged; one of them on two days, a week apart."""
    folder = tmp_path_factory.mktemp("fleet")
    where = folder / "lake"
    files = [
        hosts.capture(folder, "esx-01", (40,) * 30),
        hosts.capture(folder, "esx-02", (1, 2, 3, 4)),
        hosts.capture(folder, "esx-02", (11, 12, 13, 14), day="03/10/2026"),
    ]
    ex.lake(where).add(files)
    judging.judge(ex.lake(where))
    ex.lake(where).add([hosts.capture(folder, "esx-03", (8, 8))])
    return str(where)


def healthy(folder, host):
    """A capture of a host that is well, with all that esxtop writes."""
    (run,) = ex.simulate.load_experiment("healthy-web", samples=31).runs
    file = folder / f"{host}.csv"
    ex.simulate.write_esxtop(file, ex.simulate.capture(run.scenario), host=host)
    return file


def levels_of_hosts(found):
    """By host, how bad the report says it is."""
    return {
        line.split()[1]: line.split()[0] for line in shown("fleet", "fleet.hosts", found=found).text.splitlines()[2:]
    }


@pytest.fixture(scope="module")
def found(lake):
    return gather.gather(lake)


def test_vms_are_ranked_by_the_95th_percentile_of_their_vcpus(found):
    rows = found.ready.select("host", "vm", "p95_pct", "median_pct", "max_pct", "values").rows()
    # Of 1 2 3 4 11 12 13 14 the 95th percentile lies 0.65 of the way from the seventh to the eighth.
    assert rows == [
        ("esx-01", "db-esx-01", 40, 40, 40, 30),
        ("esx-02", "db-esx-02", pytest.approx(13.65), 7.5, 14, 8),
        ("esx-03", "db-esx-03", 8, 8, 8, 2),
    ]


def test_days_count_each_vm_once(found):
    first, second = found.days.rows(named=True)
    assert (first["date"], first["vms"], first["max_pct"]) == (date(2026, 3, 2), 3, 40)
    assert first["median_pct"] == 8
    assert (second["date"], second["vms"]) == (date(2026, 3, 10), 1)


def test_the_last_week_is_compared_with_that_before(found):
    change = (pytest.approx(3.85), pytest.approx(13.85), pytest.approx(10))
    assert found.weeks.rows() == [("esx-02", "db-esx-02", *change, 1, 1)]
    assert shown("fleet", "## Week over week", found=found).text.splitlines()[-1].split() == [
        "esx-02",
        "db-esx-02",
        "3.8",
        "1",
        "13.8",
        "1",
        "10.0",
    ]
    week = gather.gather(found.lake.store.uri, since="2026-03-09")
    assert shown("fleet", "## Week over week", found=week).text.startswith(
        "No VM has samples on one host in the seven days"
    )
    assert fleet.week_over_week(ex.lake(found.lake.store.uri).of(until="2026-03-03")["vcpu"]).collect().is_empty()


def test_what_is_not_judged_is_said_and_not_said_to_be_well(found):
    text = shown("fleet", "## Verdict", found=found).text
    assert text.startswith("1 capture not judged")
    # A capture of so few counters cannot tell waiting from a limit: the trouble warns, whatever the wait.
    assert "0 of 2 judged hosts with critical troubles" in text
    waits = " ".join(shown("fleet", "tiles(", found=found).text.split())
    assert "VMs that wait 5 % and more: 2 (of 2 judged, 1 not judged)" in waits
    rows = [line.split() for line in shown("fleet", "fleet.hosts", found=found).text.splitlines()[2:]]
    # The VM of esx-03 has a ready time but no level: its capture has no diagnosis.
    assert [(row[0], row[1]) for row in rows] == [("critical", "esx-01"), ("critical", "esx-02"), ("unknown", "esx-03")]
    assert severity.vm_levels(found)["level"].to_list() == ["critical", "critical", "unknown"]


def test_a_vm_has_one_level_and_its_host_is_no_better(found):
    vms = severity.vm_levels(found)
    of = dict(zip(vms["vm"], vms["level"], strict=True))
    assert {of[vm] for vm, p95 in vms.select("vm", "p95_pct").rows() if p95 >= 10} == {"critical"}
    waits_little = vms.sort("p95_pct").row(0, named=True)
    trouble = {"host": waits_little["host"], "kind": "vm", "name": waits_little["vm"], "severity": "critical"}
    trouble |= {"trouble": "cpu.contention", "title": "VMs wait", "verdict": "It waits.", "next": "look"}
    trouble |= {"likelihood": "likely", "basis": "Confidence 0.90."}
    more = pl.DataFrame([trouble], schema_overrides=dict.fromkeys(trouble, pl.String))
    worse = replace(found, findings=pl.concat([found.findings, more], how="diagonal"))
    again = severity.vm_levels(worse).filter(vm=waits_little["vm"], host=waits_little["host"])
    assert again["level"].to_list() == ["critical"]
    for one in (found, worse):
        hosts_of = {
            row.split()[1]: row.split()[0] for row in shown("fleet", "fleet.hosts", found=one).text.splitlines()[2:]
        }
        order = ["critical", "warning", "unknown", "ok"]
        for host, level in severity.vm_levels(one).select("host", "level").rows():
            assert order.index(hosts_of[host]) <= order.index(level)


@pytest.mark.search
def test_vms_are_ranked_by_what_no_limit_withheld(tmp_path):
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path, "esx-01", (5, 6), more="% Max Limited")])
    found = gather.gather(str(tmp_path / "lake"))
    assert found.ready["max_pct"].to_list() == [2]
    assert severity.vm_levels(found)["level"].to_list() == ["unknown"]
    judging.judge(ex.lake(tmp_path / "lake"))
    found = gather.gather(str(tmp_path / "lake"))
    assert severity.vm_levels(found)["waits"].to_list() == ["ok"]
    assert "%RDY - %MLMTD" in shown("fleet", "## Ready time", found=found).text
    assert "lack %MLMTD" not in shown("fleet", "## Ready time", found=found).text
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path, "esx-02", (5, 6))])
    text = shown("fleet", "## Ready time", found=gather.gather(str(tmp_path / "lake"))).text
    assert "Captures of esx-02 lack %MLMTD: there a CPU limit counts as ready time." in text


@pytest.mark.search
def test_a_host_without_a_capture_to_diagnose_is_not_said_to_be_well(tmp_path):
    readings = ROOT / "datasets" / "formats" / "ipmi-sensor-loop.txt"
    lake = ex.lake(tmp_path / "lake")
    lake.add([healthy(tmp_path, "esx-01")])
    lake.add([readings], host="esx-09")
    judging.judge(lake)
    found = gather.gather(str(tmp_path / "lake"))
    assert levels_of_hosts(found) == {"esx-01": "ok", "esx-09": "unknown"}
    assert "1 without an esxtop capture, not diagnosed" in shown("fleet", "## Verdict", found=found).text


@pytest.mark.search
def test_a_host_is_not_said_to_be_well_by_the_few_rules_that_its_capture_lets_judge(tmp_path):
    where = tmp_path / "lake"
    ex.lake(where).add([healthy(tmp_path, "esx-01"), hosts.capture(tmp_path, "esx-02", (1, 1, 1))])
    judging.judge(ex.lake(where))
    found = gather.gather(str(where))
    assert levels_of_hosts(found) == {"esx-01": "ok", "esx-02": "unknown"}
    assert "1 judged by less than half of the rules" in shown("fleet", "## Verdict", found=found).text


@pytest.mark.search
def test_a_capture_that_is_not_judged_is_not_hidden_by_one_that_warns(tmp_path):
    where = tmp_path / "lake"
    capture = healthy(tmp_path, "esx-01")
    head, *rows = capture.read_text().splitlines()
    capture.write_text("\n".join([head, *rows[:10], *rows[20:]]) + "\n")
    ex.lake(where).add([capture])
    judging.judge(ex.lake(where))
    assert levels_of_hosts(gather.gather(str(where))) == {"esx-01": "ok"}
    ex.lake(where).add([hosts.capture(tmp_path, "esx-01", day="03/03/2026")])
    found = gather.gather(str(where))
    assert levels_of_hosts(found) == {"esx-01": "unknown"}
    assert "not judged" in shown("fleet", "fleet.hosts", found=found).text


@pytest.mark.search
def test_a_trouble_in_several_captures_of_a_host_is_one(tmp_path):
    where = tmp_path / "lake"
    days = ("03/02/2026", "03/03/2026", "03/04/2026")
    ex.lake(where).add([hosts.capture(tmp_path, "esx-01", (40,) * 30, day=day) for day in days])
    judging.judge(ex.lake(where))
    found = gather.gather(str(where))
    assert found.findings.filter(severity="warning").height == len(days)
    (row,) = [line.split() for line in shown("fleet", "fleet.hosts", found=found).text.splitlines()[2:]]
    assert row[:4] == ["critical", "esx-01", "0", "1"]
    assert row[-1] == "2026-03-04"


def test_releases_have_the_hosts_troubles_and_waits_of_their_time(tmp_path):
    """A host that was well before its update; power readings have no release, and unjudged captures no share."""
    where = tmp_path / "lake"
    readings = ROOT / "datasets" / "formats" / "ipmi-sensor-loop.txt"
    old = hosts.capture(tmp_path, "esx-01", (40,) * 30)
    new = hosts.capture(tmp_path, "esx-01", (1,) * 30, day="03/10/2026")
    new.write_text(new.read_text().replace("Free MBytes", "Console MBytes"))
    ex.lake(where).add([old, new])
    ex.lake(where).add([readings], host="esx-01")
    judging.judge(ex.lake(where))
    ex.lake(where).add([hosts.capture(tmp_path, "esx-02")])
    found = gather.gather(str(where))
    assert found.findings["severity"].to_list() == ["warning"]
    worse = replace(found, findings=found.findings.with_columns(severity=pl.lit("critical")))
    rows = gather.by_release(worse).rows()
    assert rows == [("unknown", 1, 1, None, 40), ("4.x or earlier (with a service console)", 1, 0, None, 1)]


@pytest.mark.parametrize(("count", "shares"), [(9, [None]), (10, [20.0])])
def test_of_few_hosts_a_release_has_no_share(monkeypatch, count, shares):
    """Two of nine are two; of ten and more a share in percent compares releases."""
    names = [f"esx-{number}" for number in range(count)]
    entries = [SimpleNamespace(host=name, meta={"release": "8.0"}) for name in names]
    bad = pl.DataFrame({"host": names[:2], "release": "8.0", "severity": "critical"})
    monkeypatch.setattr(gather, "_ready_by_release", lambda *_: pl.DataFrame({"release": ["8.0"], "p95_pct": [1.0]}))
    found = SimpleNamespace(said=[(one, {"findings": []}) for one in entries], findings=bad)
    assert gather.by_release(found)["share_pct"].to_list() == shares


def test_time_that_two_captures_cover_counts_once(tmp_path):
    """The same ten samples, and five more in the second: 15, of a minute and ten seconds."""
    where = tmp_path / "lake"
    head, *rows = hosts.capture(tmp_path, "esx-01", tuple(range(15))).read_text().splitlines()
    for name, part in (("first", rows[:10]), ("second", rows)):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *part]) + "\n")
    ex.lake(where).add([tmp_path / "first.csv", tmp_path / "second.csv"])
    found = gather.gather(str(where))
    assert found.ready.select("values", "max_pct", "median_pct").rows() == [(15, 14, 7)]
    assert "1 min 10 s" in shown("fleet", "tiles(", found=found).text
    assert "Captures of esx-01 cover the same time" in shown("fleet", "## Verdict", found=found).text
    assert gather.gather(str(where), since="2026-03-02T08:00:50").ready["values"].to_list() == [5]


def test_part_of_a_capture_has_the_troubles_of_its_time(tmp_path):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path, "esx-01", (*(1,) * 60, *(40,) * 60))])
    judging.judge(ex.lake(where))
    assert not gather.gather(str(where)).findings.is_empty()
    found = gather.gather(str(where), until="2026-03-02T08:03:00")
    assert found.findings.is_empty()
    assert "0 of 1 host with critical troubles" in shown("fleet", "## Verdict", found=found).text
    assert (
        shown("fleet", "title(", found=found).objects[0].subtitle
        == "1 capture, 2026-03-02 08:00:00 UTC to 2026-03-02 08:03:00 UTC"
    )
    assert not gather.gather(str(where), since="2026-03-02T08:06:00").findings.is_empty()


def test_the_verdict_says_when_and_names_the_troubles_it_has_no_room_for(found):
    rows = [a_finding("a", f"storage.{name}", "device", "naa.1", 8, 9) for name in "abcdefgh"]
    many = replace(found, findings=pl.DataFrame(rows))
    text = shown("fleet", "## Verdict", found=many).text
    assert "storage.a on a (2026-03-02): naa.1 of a" in text
    assert "2 more, on hosts below: Title of storage.g; Title of storage.h." in text


def test_a_time_without_captures_is_an_error_that_says_so(lake):
    with pytest.raises(EsxparseError, match="has no capture of the time asked for: esxparse lake ls"):
        gather.gather(lake, since="2027-01-01")


def a_finding(host, trouble, kind, name, start, end, severity="critical"):
    times = {key: datetime(2026, 3, 2, hour, tzinfo=UTC) for key, hour in (("start", start), ("end", end))}
    said = {"verdict": f"{name} of {host}", "next": "look", "release": "8.0", "title": f"Title of {trouble}"}
    said |= {"likelihood": "weak", "basis": "Confidence 0.40, fitted on simulated hosts."}
    return {"host": host, "trouble": trouble, "severity": severity, "kind": kind, "name": name, **said, **times}


def test_a_lake_of_which_nothing_is_judged_does_not_say_that_it_passed(tmp_path):
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path)])
    assert (
        shown("fleet", "fleet.checks", found=gather.gather(str(tmp_path / "lake"))).text == "No capture is judged yet."
    )


def test_what_hosts_share_is_found_by_object_and_by_time():
    frame = pl.DataFrame(
        [
            a_finding("a", "storage.array_slow", "device", "naa.1", 8, 9),
            a_finding("b", "storage.array_slow", "device", "naa.1", 9, 11),
            a_finding("c", "storage.array_slow", "device", "naa.2", 10, 12, "warning"),
            a_finding("d", "storage.array_slow", "device", "naa.3", 14, 15),
            a_finding("d", "storage.queue_device", "device", "mpx.vmhba1:C0:T0:L0", 20, 21),
            a_finding("e", "storage.queue_device", "device", "mpx.vmhba1:C0:T0:L0", 22, 23),
            a_finding("a", "power.p_states", "host", "", 8, 12, "warning"),
            a_finding("b", "power.p_states", "host", "", 8, 12, "warning"),
            a_finding("a", "cpu.contention", "host", "", 8, 12),
            a_finding("b", "cpu.contention", "host", "", 8, 12),
        ]
    )
    assert gather.same_object(frame).rows() == [("device", "naa.1", 2, "a, b", "Title of storage.array_slow")]
    (spell,) = gather.same_time(frame).rows(named=True)
    assert (spell["trouble"], spell["hosts"], spell["names"]) == ("storage.array_slow", 3, "a, b, c")
    assert (spell["start"].hour, spell["end"].hour) == (8, 12)
    ranked = gather.by_trouble(frame).select("trouble", "critical", "hosts").rows()
    assert ranked == [
        ("storage.array_slow", 3, 4),
        ("cpu.contention", 2, 2),
        ("storage.queue_device", 2, 2),
        ("power.p_states", 0, 2),
    ]


@pytest.mark.search
def test_a_lake_without_vcpus_has_a_report(tmp_path):
    text = "time,watts\n2026-03-02T08:00:00,100\n2026-03-02T08:00:05,101\n"
    (tmp_path / "meter.csv").write_text(text)
    ex.lake(tmp_path / "lake").add([tmp_path / "meter.csv"], host="esx-01", format="power_csv")
    found = gather.gather(str(tmp_path / "lake"))
    assert found.ready.is_empty()
    assert "VMs: 0 (host and VM; 1 host without counters of vCPUs)" in shown("fleet", "tiles(", found=found).text
    assert "1 not judged" in shown("fleet", "tiles(", found=found).text
    for section in (
        "Verdict",
        "Worst hosts",
        "Ready time",
        "Week over week",
        "What hosts share",
        "Checks of the captures",
    ):
        assert shown("fleet", f"## {section}", found=found).text


@pytest.mark.search
def test_the_command_writes_the_page(lake, tmp_path, capsys):
    page = tmp_path / "fleet.html"
    assert main(["lake", "report", "--lake", lake, "-o", str(page), "--host", "esx-01", "--host", "esx-02"]) == 0
    text = page.read_text()
    assert "<h1>Fleet: 2 hosts</h1>" in text
    assert "db-esx-02" in text
    assert "db-esx-03" not in text
    assert main(["report", str(tmp_path), "-t", "fleet", "-o", str(tmp_path / "none.html")]) == 1
    assert "there is no lake at" in capsys.readouterr().err


@pytest.mark.search
def test_a_host_whose_capture_cannot_be_believed_is_not_said_to_be_well(tmp_path):
    where = tmp_path / "lake"
    good = healthy(tmp_path, "esx-02")
    bad = healthy(tmp_path, "esx-01")
    head, *rows = bad.read_text().splitlines()
    first = next(at for at, name in enumerate(head.split('","')) if "vmx-vcpu-0" in name and name.endswith("% Ready"))
    cells = rows[5].split('","')
    rows[5] = '","'.join([*cells[:first], "-1.00", *cells[first + 1 :]])
    bad.write_text("\n".join([head, *rows]) + "\n")
    ex.lake(where).add([bad, good])
    judging.judge(ex.lake(where))
    rows = [
        line.split() for line in shown("fleet", "fleet.hosts", found=gather.gather(str(where))).text.splitlines()[2:]
    ]
    assert [(row[0], row[1]) for row in rows] == [("ok", "esx-02"), ("unknown", "esx-01")]


@pytest.mark.search
def test_what_is_wrong_with_captures_of_several_hosts_is_said_once(tmp_path):
    where = tmp_path / "lake"
    files = [hosts.capture(tmp_path, host, (*(5,) * 6, -1, *(5,) * 6)) for host in ("esx-01", "esx-02")]
    ex.lake(where).add([*files, hosts.capture(tmp_path, "esx-03", tuple(range(1, 14)))])
    judging.judge(ex.lake(where))
    _, _, *rows = shown("fleet", "fleet.checks", found=gather.gather(str(where))).text.splitlines()
    assert [len([row for row in rows if word in row]) for word in ("negative", "esx-03")] == [1, 0]
    (row,) = [row for row in rows if "negative" in row]
    assert "esx-01, esx-02" in row
    assert "esx-01: vcpu: pct_ready (vcpu) of 7:db-esx-01" in row
    assert row.split()[0] in {"critical", "warning"}


def test_a_fault_of_several_files_is_one_whatever_its_numbers(tmp_path):
    where = tmp_path / "lake"
    files = [hosts.capture(tmp_path, host) for host in ("esx-01", "esx-02")]
    for file, length in zip(files, (-10, -20), strict=True):
        file.write_text(file.read_text()[:length])
    ex.lake(where).add(files)
    told = {one.message for entry in ex.lake(where).captures for one in entry.notes if "cut" in one.message}
    assert len(told) == 2
    (row,) = [
        line
        for line in shown("fleet", "fleet.checks", found=gather.gather(str(where))).text.splitlines()
        if "row is cut" in line
    ]
    assert "esx-01, esx-02" in row
    # Told as the reader says it of the first of them.
    (first,) = [one.message for one in ex.open(files[0]).notes if "row is cut" in one.message]
    assert first in row


@pytest.mark.needs("duckdb")
def test_queries_on_ready_time_in_the_documents_ask_vcpus(tmp_path):
    """Idle worlds are ready all the time: a query that asks them, too, says 100 % of each host."""
    ex.lake(tmp_path / "lake").add([healthy(tmp_path, "esx-01")])
    lake = ex.lake(tmp_path / "lake")
    waits = (
        lake["vcpu"].filter(pl.col("world").str.starts_with("vmx-vcpu-")).select(pl.col("pct_ready").max()).collect()
    )
    root = ROOT
    texts = "\n".join((root / name).read_text() for name in ("docs/command-line.md", "docs/lake.md"))
    queries = re.findall(r"[(\s][\"'](SELECT host, [^\n]*pct_ready[^\n]*?GROUP BY host)[\"']", texts)
    assert len(queries) == 3
    for query in queries:
        found = lake.sql(query)
        most, over = waits.item(), "count" in query
        assert found.is_empty() if over else found.row(0) == ("esx-01", most)


def test_troubles_that_had_ended_are_none_of_a_later_time(tmp_path):
    where = tmp_path / "lake"
    ex.lake(where).add([hosts.capture(tmp_path, "esx-01", (*(40,) * 40, *(1,) * 80))])
    judging.judge(ex.lake(where))
    (end,) = gather.gather(str(where)).findings["end"].unique().to_list()
    assert not gather.gather(str(where), since=f"{end:%FT%T}").findings.is_empty()
    found = gather.gather(str(where), since="2026-03-02T08:06:00")
    assert found.findings.is_empty()
    assert found.symptoms.is_empty()


def test_a_lake_that_nobody_judged_counts_no_troubles(tmp_path):
    ex.lake(tmp_path / "lake").add([hosts.capture(tmp_path, "esx-01", (40,) * 30)])
    found = gather.gather(str(tmp_path / "lake"))
    assert "No host was judged" in shown("fleet", "## Verdict", found=found).text
    assert "VMs that wait 5 % and more: \N{EN DASH} (1 not judged)" in " ".join(
        shown("fleet", "tiles(", found=found).text.split()
    )
    assert "Critical troubles" not in shown("fleet", "fleet.hosts", found=found).text
