"""A mail server for tests: it speaks SMTP on a port of this machine and keeps what it is sent."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast


@dataclass
class Mailbox:
    """What came, and what the server does to whom."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list[EmailMessage])
    recipients: list[str] = field(default_factory=list[str])
    refused: set[str] = field(default_factory=set[str])  # addresses
    cut_off: set[str] = field(default_factory=set[str])  # addresses at whose mail it breaks off


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        box: Mailbox = self.server.box  # type: ignore[attr-defined]
        to: list[str] = []
        self._say("220 here")
        while line := self.rfile.readline():
            word, _, rest = line.decode("ascii").strip().partition(" ")
            match word.upper():
                case "RCPT" if any(address in rest for address in box.refused):
                    self._say("550 no such mailbox")
                case "RCPT":
                    to.append(rest.partition("<")[2].partition(">")[0])
                    self._say("250 ok")
                case "DATA":
                    self._say("354 go on")
                    content = self._data()
                    if box.cut_off & {*to}:
                        return
                    mail = message_from_bytes(content, policy=policy.default)
                    box.mails.append(cast(EmailMessage, mail))
                    box.recipients += to
                    to = []
                    self._say("250 taken")
                case "QUIT":
                    self._say("221 bye")
                    return
                case "RSET":
                    to = []
                    self._say("250 ok")
                case "EHLO" | "HELO" | "MAIL" | "NOOP":
                    self._say("250 ok")
                case _:
                    self._say("502 not here")

    def _data(self) -> bytes:
        lines: list[bytes] = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b"."))
        return b"".join(lines)

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode("ascii"))


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """Run a server until the block ends."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        box = Mailbox(server.server_address[1])
        server.box = box  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()
