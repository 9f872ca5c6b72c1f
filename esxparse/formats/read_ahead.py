"""A stream that a thread reads ahead, so that decompression and parsing overlap."""

from __future__ import annotations

import io
import threading
from queue import Empty, Queue
from typing import TYPE_CHECKING, BinaryIO

from esxparse.formats.decompress import Layer

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK = 1 << 20
"""Bytes of content passed between threads at a time."""

_CHUNKS_AHEAD = 4
_JOIN_SECONDS = 1.0


class _Handover:
    """Data shared by the reading thread and the thread ahead of it."""

    def __init__(self) -> None:
        self.chunks: Queue[bytes] = Queue(_CHUNKS_AHEAD)
        self.stop = threading.Event()
        self.error: Exception | None = None


def _read_ahead(layer: Layer, to: _Handover) -> None:
    """Fill the queue until the layer ends or the stream is closed; an empty chunk is the end."""
    try:
        at_end = False
        while not (at_end or to.stop.is_set()):
            pieces, length = [], 0
            while length < CHUNK and not at_end:
                piece = layer.read(CHUNK)
                at_end = not piece
                pieces.append(piece)
                length += len(piece)
            if length:
                to.chunks.put(b"".join(pieces))
    except Exception as error:  # noqa: BLE001  raised in the reading thread
        to.error = error
    finally:
        layer.close()
        if not to.stop.is_set():
            to.chunks.put(b"")


class ReadAhead(io.RawIOBase):
    """A stream over a layer that a thread reads a few chunks ahead.

    `readinto` fills the whole buffer except at the end. The thread ends with the content, or when the stream is closed.
    """

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self._layer = layer
        self._handover = _Handover()
        self._chunk = memoryview(b"")
        self._ended = False
        # The thread has no reference to the stream, so that an unused stream is collected and closed.
        self._thread = threading.Thread(
            target=_read_ahead, args=(layer, self._handover), name="esxparse-read-ahead", daemon=True
        )
        self._thread.start()

    @property
    def problem(self) -> str | None:
        """The reason why the content ended early; known when it has been read to its end."""
        return self._layer.problem if self._ended else None

    def readable(self) -> bool:
        """Return True: the stream can be read."""
        return True

    def _next_chunk(self) -> bool:
        if not self._ended:
            self._chunk = memoryview(self._handover.chunks.get())
            if len(self._chunk):
                return True
            self._ended = True
            self._thread.join()
        if self._handover.error is not None:
            raise self._handover.error
        return False

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill the buffer and return the number of bytes; fewer than its size are the last ones."""
        if self.closed:
            raise ValueError("read of a closed stream")
        done = 0
        with memoryview(buffer).cast("B") as room:
            while done < len(room) and (len(self._chunk) or self._next_chunk()):
                size = min(len(room) - done, len(self._chunk))
                room[done : done + size] = self._chunk[:size]
                self._chunk = self._chunk[size:]
                done += size
        return done

    def readall(self) -> bytes:
        """Return the rest of the content."""
        pieces = [bytes(self._chunk)]
        self._chunk = memoryview(b"")
        while self._next_chunk():
            pieces.append(bytes(self._chunk))
        self._chunk = memoryview(b"")
        return b"".join(pieces)

    def close(self) -> None:
        """End the thread. If it waits for a pipe without a writer, it stays but blocks nothing."""
        if not self.closed:
            self._handover.stop.set()
            while True:
                try:
                    self._handover.chunks.get_nowait()
                except Empty:
                    break
            self._thread.join(_JOIN_SECONDS)
        super().close()


def problem(stream: BinaryIO) -> str | None:
    """Return why the content of a stream ended early; known when it has been read to its end."""
    return stream.problem if isinstance(stream, ReadAhead) else None
