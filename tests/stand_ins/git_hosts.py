"""Hosts of repositories on this machine: one that speaks git's protocol, and dishonest ones."""

import os
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from grader.course.git import git


@contextmanager
def serving(folder: Path, kind: type["_Host"]) -> Generator[str]:
    """Serve the repositories of a folder and yield the host's address."""

    class Handler(kind):
        root = folder

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


class _Host(BaseHTTPRequestHandler):
    root: Path

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


class Smart(_Host):
    """Git's own program behind HTTP, as hosts have it."""

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length", 0))
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(
            ["git", "http-backend"], input=self.rfile.read(length), capture_output=True, env=env
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET


class Elsewhere(Smart):
    """Leads whoever asks for eve's repository to bob's."""

    def do_GET(self) -> None:
        if not self.path.startswith("/eve.git/"):
            return super().do_GET()
        self.send_response(302)
        self.send_header("Location", self.path.replace("/eve.git/", "/bob.git/"))
        self.end_headers()
        return None

    do_POST = do_GET


class FilesAlone(SimpleHTTPRequestHandler, _Host):
    """Serves the files of a repository, one by one, to whoever asks for them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args, directory=str(self.root))


def prepare_files(repository: Path) -> None:
    """Write what a host needs that serves files alone."""
    git("update-server-info", folder=repository)
