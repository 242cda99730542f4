"""A git host over loopback: an API in front of real bare repositories, which git speaks to by HTTP.

What the hosts have in common; ``forges`` has their APIs. Each answer's status is that of the
public documentation. Who may read and write is asked of accounts, members and rules for branches.
"""

import base64
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from grader.course.git import git

READS = ("GET", "HEAD")
# An update hook: what is protected, only who is named may push to.
HOOK = """#!/bin/sh
allowed="$GIT_DIR/protected/$(printf %s "$1" | sed 's|^refs/heads/||; s|/|%|g')"
[ -f "$allowed" ] || exit 0
grep -qx "$REMOTE_USER" "$allowed" && exit 0
echo "protected branch" >&2
exit 1
"""


@dataclass
class Repo:
    """A repository, with what its host knows of it."""

    name: str
    number: int
    folder: Path
    told: str = ""
    private: bool = True
    default: str = "main"
    template: bool = False
    members: dict[str, str] = field(default_factory=dict)  # with what they may
    invited: set[str] = field(default_factory=set)
    rules: dict[str, Any] = field(default_factory=dict)  # by branch
    hooks: list[dict[str, Any]] = field(default_factory=list)

    def branches(self) -> list[str]:
        line = ("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/")
        return git(*line, folder=self.folder).splitlines()

    def allow(self, branch: str, pushers: list[str]) -> None:
        """Let only some push to a branch."""
        place = self.folder / "protected"
        place.mkdir(exist_ok=True)
        (place / branch.replace("/", "%")).write_text("".join(f"{name}\n" for name in pushers))


Answer = tuple[int, Any]
Route = Callable[..., Answer]


@dataclass
class Forge:
    """One host with one organisation, whose owner is ``teacher``."""

    folder: Path
    org: str = "course"
    accounts: dict[str, str] = field(default_factory=dict)  # token by login
    repos: dict[str, Repo] = field(default_factory=dict)  # by name in lower case
    log: list[tuple[str, str]] = field(default_factory=list)  # of the API: method and path
    pushes: list[str] = field(default_factory=list)
    first: list[tuple[int, dict[str, str], Any]] = field(default_factory=list)  # answers to come
    dies_after: int | None = None  # writes, pushes among them, until it answers nothing more
    address: str = ""
    routes: list[tuple[str, str, Route]] = field(default_factory=list)
    api = ""
    page_name = "per_page"

    def __post_init__(self) -> None:
        """Each API has routes of its own."""

    def account(self, login: str) -> str:
        """Add an account; returns its token."""
        self.accounts[login] = f"secret-of-{login}"
        return self.accounts[login]

    def who(self, headers: Any) -> str | None:
        """Return the login that a request's header proves."""
        raise NotImplementedError

    def add(self, name: str, **more: Any) -> Repo:
        """Make an empty bare repository."""
        place = self.folder / self.org / f"{name}.git"
        place.mkdir(parents=True)
        git("init", "-q", "--bare", "-b", "main", ".", folder=place)
        git("config", "http.receivepack", "true", folder=place)
        git("config", "uploadpack.allowFilter", "true", folder=place)
        (place / "hooks" / "update").write_text(HOOK)
        (place / "hooks" / "update").chmod(0o755)
        repo = Repo(name, len(self.repos) + 1, place, **more)
        self.repos[name.casefold()] = repo
        return repo

    def writes(self) -> list[tuple[str, str]]:
        """Return what was asked of the API that changes something."""
        return [(method, path) for method, path in self.log if method not in READS]

    def url(self, repo: Repo) -> str:
        return f"{self.address}/{self.org}/{repo.name}.git"

    def may(self, login: str | None, repo: Repo, *, write: bool) -> bool:
        if login == "teacher":
            return True
        return login in repo.members if login else not repo.private and not write

    def answer(
        self, method: str, path: str, query: dict[str, str], body: Any, login: str
    ) -> Answer:
        """Return the answer of the API to one request."""
        for wanted, pattern, route in self.routes:
            found = re.fullmatch(pattern, path)
            if wanted == method and found:
                parts = [unquote(part) for part in found.groups()]
                return route(*parts, login=login, body=body, query=query)
        return 404, {"message": "404 page not found"}


class Dies(Exception):
    """The host is gone."""


@contextmanager
def serving(forge: Forge) -> Generator[Forge]:
    """Let a host answer while the block runs."""

    class Handler(_Handler):
        host = forge

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        forge.address = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield forge
        finally:
            server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    host: Forge
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        body = self._body()
        try:
            if path.startswith(self.host.api + "/"):
                self._api(path.removeprefix(self.host.api), body)
            else:
                self._git(path, body)
        except Dies:
            self.close_connection = True

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _count(self) -> None:
        """A write more; none once the host has died."""
        host = self.host
        if host.dies_after is not None:
            if host.dies_after == 0:
                raise Dies
            host.dies_after -= 1

    def _api(self, path: str, body: bytes) -> None:
        host = self.host
        login = host.who(self.headers)
        if self.command not in READS:
            self._count()
        host.log.append((self.command, unquote(path)))
        if host.first:
            status, headers, data = host.first.pop(0)
            return self._send(status, data, headers)
        if login is None:
            return self._send(401, {"message": "Bad credentials"})
        pairs = parse_qs(urlsplit(self.path).query)
        query = {name: values[-1] for name, values in pairs.items()}
        status, data = host.answer(
            self.command, path, query, json.loads(body) if body else {}, login
        )
        headers: dict[str, str] = {}
        if isinstance(data, list):
            data, headers = self._page(data, query)
        return self._send(status, data, headers)

    def _page(self, rows: list[Any], query: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
        """Give a page of a list, and where the next one is, as each of the hosts says it."""
        size, page = int(query.get(self.host.page_name, 20)), int(query.get("page", 1))
        headers: dict[str, str] = {}
        if page * size < len(rows):
            path = self.path.replace(f"&page={page}", "")
            headers["Link"] = f'<{self.host.address}{path}&page={page + 1}>; rel="next"'
        return rows[(page - 1) * size : page * size], headers

    def _send(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        content = b"" if data is None else json.dumps(data).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _git(self, path: str, body: bytes) -> None:
        host = self.host
        found = re.match(rf"/{host.org}/([^/]+)\.git/", path)
        repo = host.repos.get(found[1].casefold()) if found else None
        is_push = "git-receive-pack" in self.path
        kind, _, proof = self.headers.get("Authorization", "").partition(" ")
        login = None
        if kind.lower() == "basic":
            secret = base64.b64decode(proof).decode().partition(":")[2]
            login = next((who for who, token in host.accounts.items() if token == secret), None)
        if repo is None or not host.may(login, repo, write=is_push):
            self.send_response(404 if login else 401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            return self.end_headers()
        if is_push and self.command == "POST":
            self._count()
            host.pushes.append(f"{login}: {repo.name}")
        return self._backend(path, body, login or "")

    def _backend(self, path: str, body: bytes, login: str) -> None:
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.host.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": login,
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": urlsplit(self.path).query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        line = ["git", "http-backend"]
        done = subprocess.run(line, input=body, capture_output=True, env=env, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(field.split(": ", 1) for field in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
