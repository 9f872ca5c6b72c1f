"""Confidence in words, for every text and page; JSON and frames keep the number."""

from __future__ import annotations

from typing import Final

WORDS: Final = (("likely", 0.8), ("possible", 0.5), ("weak", 0.3), ("unlikely", 0.0))
"""Each word with the lowest confidence for which it is used."""
WARNS_FROM: Final = 0.3
"""Below this confidence a finding is information, never a warning or critical."""
SIMULATED: Final = {"likely": 95, "possible": 35, "weak": 30}
EDITED: Final = {"likely": 100, "possible": 95, "weak": 65}
"""Warnings of each word that were right, %, to the nearest 5: on the unseen simulated hosts of benchmarks/SCORE.md, and
on troubles edited into a real capture there, which the rules were tuned on."""
_ALL_BUT_SURE: Final = 0.995
_FITTED: Final = "fitted on simulated hosts"
_OF_STUDIES: Final = "from the odds of the answers; not calibrated, as two published cases are too few"


def word(confidence: float) -> str:
    """Return the word for a confidence; empty for 0, the confidence of a cause that a study leaves open.

    >>> [word(one) for one in (0.92, 0.5, 0.31, 0.12, 0.0)]
    ['likely', 'possible', 'weak', 'unlikely', '']
    """
    return WORDS[rank(confidence)][0] if confidence else ""


def rank(confidence: float) -> int:
    """Return the place of the word for a confidence: 0 for likely, 1 for possible and so on."""
    return next(place for place, (_, least) in enumerate(WORDS) if confidence >= least)


def basis(confidence: float, *, of_study: bool = False) -> str:
    """Return a sentence for tooltips with the number and its calibration; empty for 0.

    >>> basis(0.12)
    'Confidence 0.12, fitted on simulated hosts: too low to warn.'
    >>> basis(0.998, of_study=True)
    'Confidence above 0.99, from the odds of the answers; not calibrated, as two published cases are too few.'
    """
    if not confidence:
        return ""
    rounded = f"{confidence:.2f}" if confidence < _ALL_BUT_SURE else "above 0.99"
    number, name = f"Confidence {rounded}", word(confidence)
    if of_study:
        return f"{number}, {_OF_STUDIES}."
    if name not in SIMULATED:
        return f"{number}, {_FITTED}: too low to warn."
    elsewhere = f"{EDITED[name]} % on troubles edited into a real capture, which the rules were tuned on"
    right = f"about {SIMULATED[name]} % were right on other simulated hosts, {elsewhere}"
    return f'{number}, {_FITTED}. Of warnings called "{name}", {right}.'


def limited(severity: str, confidence: float) -> str:
    """Return the severity, "info" if the confidence is too low for a warning."""
    return severity if confidence >= WARNS_FROM else "info"
