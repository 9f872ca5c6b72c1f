# The public names of esxparse, for people, type checkers and `__init__.py`, which finds them here.

import esxparse_simulator as simulate
from esxparse import bundled as datasets
from esxparse import collect as collect
from esxparse import metrics as metrics
from esxparse import plan as plan
from esxparse import quality as quality
from esxparse.audits.audit import Audit as Audit
from esxparse.audits.audit import audit as audit
from esxparse.comparison.compare import compare as compare
from esxparse.comparison.result import Comparison as Comparison
from esxparse.counters.catalogue import counter as counter
from esxparse.counters.model import Counter as Counter
from esxparse.diagnosis.changes import Changes as Changes
from esxparse.diagnosis.changes import changes as changes
from esxparse.diagnosis.diagnose import diagnose as diagnose
from esxparse.diagnosis.finding import Finding as Finding
from esxparse.diagnosis.findings import Findings as Findings
from esxparse.diagnosis.likeness import similar as similar
from esxparse.diagnosis.rules import Rule as Rule
from esxparse.diagnosis.rules import load as rules
from esxparse.errors import DamagedError as DamagedError
from esxparse.errors import EsxparseError as EsxparseError
from esxparse.errors import MissingTableError as MissingTableError
from esxparse.errors import TooLargeError as TooLargeError
from esxparse.errors import UnknownFormatError as UnknownFormatError
from esxparse.errors import UnreadableError as UnreadableError
from esxparse.explorer.app import explore as explore
from esxparse.explorer.app import follow as follow
from esxparse.explorer.counter_columns import search as search
from esxparse.explorer.plots import plot as plot
from esxparse.explorer.rows import Rows as Rows
from esxparse.explorer.rows import rows as rows
from esxparse.explorer.rows import top as top
from esxparse.exports.export import Exported as Exported
from esxparse.exports.export import export as export
from esxparse.fleet import Crew as Crew
from esxparse.formats.catalogue import Format as Format
from esxparse.formats.catalogue import catalogue as catalogue
from esxparse.formats.esxtop.slice import Sliced as Sliced
from esxparse.formats.esxtop.slice import slice_capture as slice  # noqa: A004  the command
from esxparse.lakes import Converted as Converted
from esxparse.lakes import Lake as Lake
from esxparse.lakes import convert as convert
from esxparse.lakes import lake as lake
from esxparse.metrics.power_join import PowerJoin as PowerJoin
from esxparse.metrics.power_join import join_power as join_power
from esxparse.quality.check import check as check
from esxparse.quality.results import Expectation as Expectation
from esxparse.quality.results import Quality as Quality
from esxparse.reading import open as open  # noqa: A004  what people type is ex.open
from esxparse.recording import Note as Note
from esxparse.recording import Recording as Recording
from esxparse.reports import Template as Template
from esxparse.reports import report as report
from esxparse.reports import templates as templates
from esxparse.reports.batch import Batch as Batch
from esxparse.reports.batch import batch as batch
from esxparse.shipped import datasets_dir as datasets_dir
from esxparse.shipped import templates_dir as templates_dir
from esxparse.sizing.result import RightSizing as RightSizing
from esxparse.sizing.right_size import right_size as right_size
from esxparse.studies import Study as Study
from esxparse.studies import study as study
from esxparse.timelines.timeline import Timeline as Timeline
from esxparse.timelines.timeline import timeline as timeline

# Those that are called otherwise where they are: type checkers take others of that kind for private.
__all__ = ["datasets", "rules", "simulate", "slice"]

__version__: str
