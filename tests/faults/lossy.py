"""A server before PostgreSQL that loses the answer to a commit."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

SOCKET = ".s.PGSQL.5432"
APPEND = b"INSERT INTO messages"
WRITES, READS = b"READ WRITE", b"READ ONLY"


class Lossy:
    """Passes on all that is said between Quire and PostgreSQL, until it is told to lose an answer."""

    def __init__(self, upstream: Path) -> None:
        self._upstream = upstream
        self._armed = threading.Event()
        self.lost = threading.Event()
        """An answer has come from the server, and goes no further."""
        self._mode = WRITES

    def lose_next_commit(self, mode: bytes = WRITES) -> None:
        """Let the server commit, and drop the connection instead of the answer."""
        self.lost.clear()
        self._mode = mode
        self._armed.set()

    def serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(self._upstream))
        loses = threading.Event()
        back = threading.Thread(target=self._answers, args=(server, client, loses), daemon=True)
        back.start()
        said = Said()
        try:
            server.sendall(_startup(client))
            while (message := _message(client)) is not None:
                if said.commits(message) == self._mode and self._armed.is_set():
                    self._armed.clear()
                    loses.set()
                server.sendall(message)
        except OSError:
            pass
        finally:
            server.close()
            client.close()

    def _answers(self, server: socket.socket, client: socket.socket, loses: threading.Event) -> None:
        try:
            while data := server.recv(65536):
                if loses.is_set():
                    self.lost.set()
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
        except OSError:
            pass


class Said:
    """What a client has said on a connection, as far as it tells what commits."""

    def __init__(self) -> None:
        self._mode = b""
        self._statements: dict[bytes, bytes] = {}

    def commits(self, message: bytes) -> bytes:
        """Return in which mode a message makes the server commit: COMMIT, or an append, which commits itself."""
        kind, body = message[:1], message[5:]
        if kind == b"Q" and body.startswith(b"BEGIN"):
            self._mode = READS if READS in body else WRITES
        if kind == b"Q" and body.startswith(b"COMMIT"):
            mode, self._mode = self._mode, b""
            return mode
        if kind == b"P":
            name, sql, _ = body.split(b"\0", 2)
            self._statements[name] = sql
        if kind == b"B" and not self._mode and APPEND in self._statements.get(body.split(b"\0", 2)[1], b""):
            return WRITES
        return b""


def _startup(client: socket.socket) -> bytes:
    size = _exactly(client, 4)
    return size + _exactly(client, struct.unpack("!I", size)[0] - 4)


def _message(client: socket.socket) -> bytes | None:
    head = client.recv(1)
    if not head:
        return None
    size = _exactly(client, 4)
    return head + size + _exactly(client, struct.unpack("!I", size)[0] - 4)


def _exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = client.recv(size - len(data))
        if not more:
            raise ConnectionResetError
        data += more
    return data


@contextmanager
def lossy(dsn: str, folder: Path) -> Iterator[tuple[Lossy, str]]:
    """A server in a folder, before the one that a DSN names, and its own DSN."""
    parts = urlsplit(dsn)
    [host] = parse_qs(parts.query)["host"]
    between = Lossy(Path(host) / SOCKET)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / SOCKET))
    listener.listen()

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=between.serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield between, dsn.replace(quote(host, safe=""), quote(str(folder), safe=""))
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
