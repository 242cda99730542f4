"""A real Gitea or Forgejo over loopback, where a test is given its program."""

import os
import pwd
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from stand_ins.serving import free_port

PROGRAM = "INFERLAB_GITEA"
UP_SECONDS = 90.0
SETTINGS = """\
APP_NAME = course
RUN_USER = {user}
RUN_MODE = prod
WORK_PATH = {folder}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
PROTOCOL = http
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = http://127.0.0.1:{port}/
OFFLINE_MODE = true
START_SSH_SERVER = false
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db
[repository]
ROOT = {folder}/repositories
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
SECRET_KEY = 0123456789abcdef0123456789abcdef
[webhook]
ALLOWED_HOST_LIST = loopback
[log]
MODE = file
ROOT_PATH = {folder}/log
[service]
DISABLE_REGISTRATION = true
"""


@dataclass(frozen=True)
class Server:
    """One that answers, with the tokens of its accounts."""

    address: str
    tokens: dict[str, str]


@contextmanager
def running(program: str, folder: Path, org: str, *students: str) -> Generator[Server]:
    """Start one with an organisation of ``teacher`` and accounts of students; end it after."""
    folder.mkdir()
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    config = folder / "app.ini"
    user = pwd.getpwuid(os.getuid()).pw_name
    config.write_text(SETTINGS.format(user=user, folder=folder, port=port))
    env = {**os.environ, "HOME": str(folder), "GITEA_WORK_DIR": str(folder), "USER": user}
    line = [program, "--config", str(config)]

    def admin(*words: str) -> str:
        done = subprocess.run([*line, "admin", "user", *words], env=env, text=True, check=True)
        return done.stdout or ""

    def token(name: str) -> str:
        words = ("generate-access-token", "--username", name, "--token-name", "t", "--raw")
        asked = [*line, "admin", "user", *words, "--scopes", "all"]
        done = subprocess.run(asked, env=env, capture_output=True, text=True, check=True)
        return done.stdout.split()[-1]

    subprocess.run([*line, "migrate"], env=env, check=True, capture_output=True)
    with (folder / "out").open("wb") as out:
        process = subprocess.Popen([*line, "web"], env=env, stdout=out, stderr=out)
        try:
            _until_up(address, process)
            for name in ("teacher", *students):
                words = ("--username", name, "--password", f"pass-of-{name}-1")
                more = ("--email", f"{name}@example.org", "--must-change-password=false")
                admin("create", *words, *more, *(("--admin",) if name == "teacher" else ()))
            tokens = {name: token(name) for name in ("teacher", *students)}
            headers = {"Authorization": f"token {tokens['teacher']}"}
            body = {"username": org, "visibility": "private"}
            httpx.post(f"{address}/api/v1/orgs", json=body, headers=headers).raise_for_status()
            yield Server(address, tokens)
        finally:
            process.terminate()
            process.wait(30)


def _until_up(address: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + UP_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"{address}/api/v1/version").is_success:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise RuntimeError("Gitea does not answer: see the file out in its folder")
