"""What a hostile client of the web needs: sockets, bytes written by hand, and answers as they came.

No library of HTTP stands between an attack and the service: it would refuse to send most of them.
"""

import contextlib
import re
import secrets
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote_plus

from grader.service.domain.records import Role

PATIENCE_SECONDS = 45.0  # for an answer: longer than the service waits for a body
QUIET_SECONDS = 0.5  # after which no other answer comes
Parts = Sequence[tuple[str, str, bytes]]  # field, file name, content


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; ``asked`` is the first line of what was asked, ``seconds`` what it took."""

    asked: str
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case
    body: bytes
    seconds: float

    def header(self, name: str) -> str:
        """Return a header's value; "" if there is none."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    @property
    def whole(self) -> bytes:
        """Headers and body."""
        return "".join(f"{key}: {value}\n" for key, value in self.headers).encode() + self.body

    def __str__(self) -> str:
        return f"{self.asked!r}: {self.status} {self.body[:160]!r}"


class Line:
    """One connection."""

    def __init__(self, door: socket.socket, hear: Callable[[Answer], None]) -> None:
        self._door = door
        self._hear = hear
        self._left = b""
        self._asked = ""
        self._sent = 0.0

    def send(self, data: bytes) -> bool:
        """Write bytes as they are; False if the other side does not take them any more."""
        self._asked = self._asked or data.partition(b"\r\n")[0].decode("latin-1")
        self._sent = time.monotonic()
        try:
            self._door.sendall(data)
        except OSError:
            return False
        return True

    def answer(
        self, patience: float = PATIENCE_SECONDS, *, bodyless: bool = False
    ) -> Answer | None:
        """Return the next answer; None if none comes, or the connection ends before its end."""
        self._door.settimeout(patience)
        try:
            found = self._read(bodyless)
        except (OSError, EOFError):
            return None
        self._asked = ""
        self._hear(found)
        return found

    def answers(self, patience: float = PATIENCE_SECONDS) -> list[Answer]:
        """Return all answers that come."""
        found: list[Answer] = []
        while (each := self.answer(QUIET_SECONDS if found else patience)) is not None:
            found.append(each)
        return found

    def head(self) -> Answer:
        """Return the beginning of an answer that has no end."""
        self._door.settimeout(PATIENCE_SECONDS)
        status, headers = self._head()
        found = Answer(self._asked, status, headers, b"", time.monotonic() - self._sent)
        self._hear(found)
        return found

    def ends(self, within: float) -> bool:
        """Whether the other side ends the connection within some seconds."""
        ends = time.monotonic() + within
        while (left := ends - time.monotonic()) > 0:
            self._door.settimeout(left)
            try:
                if not self._door.recv(65536):
                    return True
            except TimeoutError:
                return False
            except OSError:
                return True
        return False

    def close(self) -> None:
        """End the connection."""
        self._door.close()

    def _read(self, bodyless: bool) -> Answer:
        status, headers = self._head()
        named = dict(headers)
        if bodyless or status in (204, 304):
            body = b""
        elif named.get("transfer-encoding") == "chunked":
            body = self._chunks()
        elif "content-length" in named:
            body = self._take(int(named["content-length"]))
        else:
            body = self._rest()
        return Answer(self._asked, status, headers, body, time.monotonic() - self._sent)

    def _head(self) -> tuple[int, tuple[tuple[str, str], ...]]:
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines[1:])
        headers = tuple((name.lower(), value.strip()) for name, _, value in pairs)
        return int(lines[0].split(" ", 2)[1]), headers

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self._until(b"\r\n"), 16):
            body += self._take(size)
            self._take(2)
        self._until(b"\r\n")
        return body

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._left:
            self._more()
        found, _, self._left = self._left.partition(mark)
        return found

    def _take(self, size: int) -> bytes:
        while len(self._left) < size:
            self._more()
        found, self._left = self._left[:size], self._left[size:]
        return found

    def _rest(self) -> bytes:
        with contextlib.suppress(EOFError):
            while True:
                self._more()
        found, self._left = self._left, b""
        return found

    def _more(self) -> None:
        data = self._door.recv(65536)
        if not data:
            raise EOFError
        self._left += data


@dataclass(frozen=True, slots=True)
class Place:
    """Where a service answers, and the address that a client comes from."""

    port: int
    host: str  # as the Host header has it
    client: str
    tls: bool = False

    def line(self, hear: Callable[[Answer], None]) -> Line:
        """Open a connection."""
        door = socket.create_connection(
            ("127.0.0.1", self.port), timeout=PATIENCE_SECONDS, source_address=(self.client, 0)
        )
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            door = context.wrap_socket(door, server_hostname=self.host)
        return Line(door, hear)


class Person:
    """Somebody with a browser (a cookie) and a client (a token), or with neither."""

    def __init__(
        self, place: Place, hear: Callable[["Person", Answer], None], name: str, role: Role | None
    ) -> None:
        self.place = place
        self.name = name
        self.role = role
        self.token = self.cookie = self.csrf = ""
        self._hear = hear

    @property
    def bearer(self) -> dict[str, str]:
        """The header of a client."""
        return {"authorization": f"Bearer {self.token}"}

    def line(self) -> Line:
        """Open a connection of this person's."""
        return self.place.line(lambda answer: self._hear(self, answer))

    def get(self, path: str, headers: dict[str, str] | None = None, *, api: bool = False) -> Answer:
        """Ask for something."""
        return self.ask("GET", path, headers, api=api)

    def post(
        self, path: str, fields: dict[str, str], headers: dict[str, str] | None = None
    ) -> Answer:
        """Send a form of ours, with this session's word unless another is given."""
        pairs = {"csrf": self.csrf} | fields
        body = "&".join(f"{quote_plus(k)}={quote_plus(v)}" for k, v in pairs.items()).encode()
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, kind | (headers or {}), body)

    def send_files(
        self, path: str, parts: Parts, fields: dict[str, str] | None = None, *, api: bool = False
    ) -> Answer:
        """Send files, with this session's word if it is a page's form."""
        pairs = ({} if api else {"csrf": self.csrf}) | (fields or {})
        body, kind = multipart(parts, pairs)
        return self.ask("POST", path, {"content-type": kind}, body, api=api)

    def ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        *,
        api: bool = False,
    ) -> Answer:
        """Ask on a connection of its own, with the cookie or, of the API, the token."""
        line = self.line()
        line.send(self.request(method, path, headers, body, api=api))
        found = line.answer(bodyless=method == "HEAD")
        line.close()
        assert found is not None, f"{method} {path}: no answer"
        return found

    def request(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        *,
        api: bool = False,
    ) -> bytes:
        """Return a request as bytes."""
        own = {"host": self.place.host}
        if api and self.token:
            own |= self.bearer
        elif self.cookie and not api:
            own["cookie"] = f"{'__Host-' if self.place.tls else ''}session={self.cookie}"
        if body is not None:
            own["content-length"] = str(len(body))
        lines = [f"{method} {path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in (own | (headers or {})).items()]
        return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + (body or b"")


def multipart(parts: Parts, fields: dict[str, str] | None = None) -> tuple[bytes, str]:
    """Return files and fields as a form sends them, and the type of that; names as they are."""
    mark = secrets.token_hex(8)
    texts = [(f'form-data; name="{name}"', text.encode()) for name, text in (fields or {}).items()]
    files = [(f'form-data; name="{field}"; filename="{name}"', c) for field, name, c in parts]
    return mixed([*texts, *files], mark), f"multipart/form-data; boundary={mark}"


def mixed(parts: Iterable[tuple[str, bytes]], mark: str) -> bytes:
    """Join parts, each with its disposition."""
    made = [
        f"--{mark}\r\nContent-Disposition: {head}\r\n\r\n".encode() + content + b"\r\n"
        for head, content in parts
    ]
    return b"".join(made) + f"--{mark}--\r\n".encode()


def csrf_in(answer: Answer) -> str:
    """Return the word that the forms of a page carry."""
    found = re.search(r'name="csrf" value="([^"]+)"', answer.text)
    assert found is not None, answer
    return found[1]
