"""Times as BMCs, meters and the `date` command write them.

Known: ISO 8601; seconds, milliseconds and nanoseconds since 1970; `date` in its default form, as `date -R` and in
English or German locales; HTTP dates; `MM/DD/YYYY HH:MM:SS` of ipmitool and FreeIPMI.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan", "feb", "mar mär mrz", "apr", "may mai", "jun", "jul", "aug", "sep", "oct okt", "nov", "dec dez"), 1
    )
    for name in names.split()
}
_ZONES = {
    name: float(hours)
    for hours, names in {
        0: "utc gmt z wet", 1: "cet west", 2: "cest eet", 3: "eest msk", 9: "jst kst", 10: "aest", 11: "aedt",
        -4: "edt", -5: "est cdt", -6: "mdt", -7: "mst pdt", -8: "pst akdt", -10: "hst",
    }.items()
    for name in names.split()
}  # fmt: skip
"""Hours east of UTC. CST, IST, BST and others that mean several zones are left out on purpose."""

_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?P<fraction>[.,]\d+)?)?"
    r"(?:\s*(?P<half>[AaPp]\.?[Mm]\.?))?"
)
_ZONE = r"(?:\s*(?P<zone>[+-]\d{2}:?\d{2}|[A-Za-z]{1,5}))?"
_YEAR = r"(?P<year>\d{4})"
_NAME = r"(?P<name>[A-Za-zä]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})\.?"
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        rf"(?P<year>\d{{4}})[-/](?P<month>\d{{1,2}})[-/](?P<day>\d{{1,2}})(?:[T ]\s*|\s+-\s+){_CLOCK}{_ZONE}",
        rf"(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})/(?P<year>\d{{4}})(?:,?\s+|\s+-\s+){_CLOCK}{_ZONE}",
        rf"(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}),?\s+{_CLOCK}{_ZONE}",
        # Tue May  9 14:24:36 CEST 2023, and without the zone
        rf"[A-Za-z]{{2,9}}\.?,?\s+{_NAME}\s+{_DAY},?\s+{_CLOCK}{_ZONE}\s+{_YEAR}",
        # Tue  9 May 14:24:36 CEST 2023
        rf"[A-Za-z]{{2,9}}\.?,?\s+{_DAY}\s+{_NAME},?\s+{_CLOCK}{_ZONE}\s+{_YEAR}",
        # Tue, 09 May 2023 14:24:36 +0200, and Tue 09 May 2023 02:24:36 PM CEST
        rf"(?:[A-Za-z]{{2,9}}\.?,?\s+)?{_DAY}[\s-]+{_NAME}[\s-]+{_YEAR},?\s+{_CLOCK}{_ZONE}",
        rf"(?:[A-Za-z]{{2,9}}\.?,?\s+)?{_NAME}\s+{_DAY},?\s+{_YEAR},?\s+{_CLOCK}{_ZONE}",
    )
)
_EPOCH = re.compile(r"@?(?P<seconds>\d{10})(?P<rest>\d{3}|\d{6}|\d{9})?(?P<fraction>\.\d+)?")
_LONGEST = 60

FIRST_YEAR = 2000
"""A clock that was never set shows a time before this year."""


@dataclass(frozen=True)
class Stamp:
    """A time, and what had to be assumed to read it."""

    time: datetime
    assumed: str | None = None
    """What zone was taken where the text names none, or none that is known."""

    @property
    def set(self) -> bool:
        """Whether the clock it came from had been set."""
        return self.time.year >= FIRST_YEAR


def _zone(name: str | None) -> tuple[timezone, str | None]:
    if not name:
        return UTC, "times without a zone are taken for UTC"
    if name[0] in "+-":
        digits = name[1:].replace(":", "")
        east = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        return timezone(-east if name[0] == "-" else east), None
    if name.lower() in _ZONES:
        return timezone(timedelta(hours=_ZONES[name.lower()])), None
    return UTC, f"zone {name} is not known for certain: its times are taken for UTC"


def _from_parts(parts: dict[str, str | None]) -> Stamp | None:
    month = _MONTHS.get((parts.get("name") or "")[:3].lower()) or int(parts.get("month") or 0)
    hour = int(parts["hour"] or 0)
    if half := parts.get("half"):
        hour = hour % 12 + (12 if half[0] in "Pp" else 0)
    zone, assumed = _zone(parts.get("zone"))
    micro = int(float("0." + (parts["fraction"] or "0")[1:].ljust(1, "0")) * 1_000_000)
    year, day, minute, second = (int(parts[name] or 0) for name in ("year", "day", "minute", "second"))
    # 60 is a leap second.
    time = datetime(year, month, day, hour, minute, min(second, 59), micro, zone)
    return Stamp(time.astimezone(UTC), assumed)


def stamp(text: object) -> Stamp | None:
    """The time a text is, all of it; None where it is none.

    >>> stamp("Tue May  9 14:24:36 CEST 2023").time.isoformat()
    '2023-05-09T12:24:36+00:00'
    >>> stamp("1714914404"), stamp("214 Watts")
    (Stamp(time=datetime.datetime(2024, 5, 5, 13, 6, 44, tzinfo=datetime.timezone.utc), assumed=None), None)
    """
    if not isinstance(text, str):
        return None
    text = text.strip().strip("\"'[]").strip()
    if not text or len(text) > _LONGEST or not text.isprintable():
        return None
    try:
        if match := _EPOCH.fullmatch(text):
            part = f"0.{match['rest'] or '0'}" if match["rest"] else f"0{match['fraction'] or ''}"
            return Stamp(datetime.fromtimestamp(int(match["seconds"]), UTC) + timedelta(seconds=float(part)))
        for shape in _SHAPES:
            if match := shape.fullmatch(text):
                return _from_parts(match.groupdict())
    except (ValueError, OverflowError):
        return None
    return None
