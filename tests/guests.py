"""What a guest's sar would have printed beside a bundled capture."""

from __future__ import annotations

from datetime import datetime, timedelta

SAR = "Linux 5.14.0 ({vm}) \t{day:%Y-%m-%d} \t_x86_64_\t(4 CPU)\n\n"
HEAD = "{time:%H:%M:%S}        CPU     %user     %nice   %system   %iowait    %steal     %idle\n"
LINE = "{time:%H:%M:%S}        all     {user:5.2f}      0.00      0.00      0.00      0.00     {idle:5.2f}\n"


def sar(vm: str, busy: list[tuple[datetime, float]], ahead: timedelta) -> str:
    """The CPU use of a guest whose clock is ahead by so much: `busy` in % at each time of the host."""
    first = busy[0][0] + ahead
    text = SAR.format(vm=vm, day=first) + HEAD.format(time=first - timedelta(seconds=5))
    return text + "".join(LINE.format(time=time + ahead, user=used, idle=100 - used) for time, used in busy)
