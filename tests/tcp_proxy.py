"""A TCP proxy on this machine that cuts off or stalls chosen requests."""

from __future__ import annotations

import re
import socket
import struct
import threading
from contextlib import contextmanager, suppress

_PIECE = 1 << 16


class Proxy:
    """Passes connections on to a port, until a request matches `pattern`: that one it resets, answers late or never.

    `action`: "reset" cuts the connection before the server sees the request, "lose" lets the server do the work and
    resets instead of its answer, "cut" resets within the answer, "stall" never answers. `times`: for so many requests.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.pattern: re.Pattern[bytes] = re.compile(rb"(?!)")
        self.action = "reset"
        self.times = 0
        self.hit = 0
        """Requests that matched."""
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def break_requests(self, pattern: bytes, action: str, times: int = 1 << 30) -> None:
        self.pattern, self.action, self.times, self.hit = re.compile(pattern), action, times, 0

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._to))
        except OSError:
            _reset(client)
            return
        answers = threading.Event()
        broken: list[str] = []

        def back() -> None:
            with suppress(OSError):
                while piece := server.recv(_PIECE):
                    if broken == ["lose"]:
                        break
                    if broken == ["cut"]:
                        client.sendall(piece[: len(piece) // 2])
                        break
                    client.sendall(piece)
            answers.set()
            (_reset if broken else _close)(client)
            _close(server)

        threading.Thread(target=back, daemon=True).start()
        with suppress(OSError):
            while piece := client.recv(_PIECE):
                if self.hit < self.times and self.pattern.match(piece):
                    self.hit += 1
                    if self.action == "reset":
                        _reset(client)
                        break
                    if self.action == "stall":
                        answers.wait(60)
                        break
                    broken.append(self.action)
                server.sendall(piece)
        _close(server)

    def close(self) -> None:
        self._listener.close()


def _reset(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Without this the close waits for a thread that reads.
        connection.shutdown(socket.SHUT_RD)
    connection.close()


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


@contextmanager
def proxy(port: int):
    made = Proxy(port)
    try:
        yield made
    finally:
        made.close()
