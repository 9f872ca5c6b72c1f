"""Index arrays that a part of the model makes out of a layout, once and not once a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from esxparse_simulator.model.layout import Layout

T = TypeVar("T")


class OncePerLayout(Generic[T]):
    """`make(layout)`, kept for as long as it is asked for with the same layout.

    A layout is compared by identity: it is made once for a capture. Captures that take turns only make it again.
    """

    def __init__(self, make: Callable[[Layout], T]) -> None:
        """Keep nothing yet."""
        self._make = make
        self._kept: tuple[Layout, T] | None = None

    def __call__(self, layout: Layout) -> T:
        """What `make` gives for this layout."""
        kept = self._kept
        if kept is None or kept[0] is not layout:
            kept = self._kept = (layout, self._make(layout))
        return kept[1]
