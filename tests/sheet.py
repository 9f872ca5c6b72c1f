"""Simulated captures read back with nothing but `csv`."""

from __future__ import annotations

import csv
import io
from collections import defaultdict

import esxparse_simulator as simulate

CELL = 0.005  # the most that two decimals can be off
VCPUS = {
    "ledger-db": 4,
    "orders-app": 4,
    "analytics-8way": 8,
    "report-batch": 2,
    "files-02": 2,
    "backup-proxy": 2,
    "web 01 (blue) v2.1": 2,
    "print-old": 1,
}


class Sheet:
    """A capture as `csv.reader` sees it: rows of floats by (object, instance) and counter."""

    def __init__(self, text: str) -> None:
        header, *rows = list(csv.reader(io.StringIO(text)))
        self.header, self.rows = header, rows
        self.where: dict[tuple[str, str | None], dict[str, int]] = defaultdict(dict)
        for number, cell in enumerate(header[1:], 1):
            if not cell:
                continue
            _, _, _, path, counter = cell.split("\\")
            name, bracket, instance = path.partition("(")
            self.where[name, instance[:-1] if bracket else None][counter] = number

    def column(self, name: str, instance: str | None, counter: str) -> list[float]:
        number = self.where[name, instance][counter]
        return [float(row[number]) for row in self.rows]

    def instances(self, name: str) -> list[str]:
        return [instance for kind, instance in self.where if kind == name and instance is not None]

    def group(self, vm: str) -> str:
        return next(instance for instance in self.instances("Group Cpu") if instance.endswith(f":{vm}"))

    def port(self, vm: str) -> str:
        return next(instance for instance in self.instances("Network Port") if instance.endswith(f":{vm}"))

    def per_vcpu(self, vm: str, counter: str) -> list[float]:
        return [value / VCPUS[vm] for value in self.column("Group Cpu", self.group(vm), counter)]


def written(scenario: simulate.Scenario, samples: int, **options: object) -> str:
    capture = simulate.capture(scenario, samples=samples)
    return b"".join(simulate.esxtop_lines(capture, **options)).decode()  # type: ignore[arg-type]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)
