"""A PostgreSQL server of its own for a test, on a Unix socket in a folder that goes away."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def missing() -> str:
    """Why no server can be started here; empty if one can."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "the Python package psycopg is missing"
    if _programs() is None:
        return "no PostgreSQL server is installed (Debian: apt install postgresql)"
    return ""


@contextmanager
def server() -> Iterator[str]:
    """Start a server and yield the URL of an empty database; it stops when the block ends."""
    programs = _programs()
    assert programs is not None
    # Not under pytest's folder: a socket's path is short, and the server is no root.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    who = _who()
    if who:
        os.chown(folder, *_ids(who["user"]))
    data, log = folder / "data", folder / "log"
    settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}", "-F"]
    process: subprocess.Popen[bytes] | None = None
    try:
        create = [programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "--no-sync"]
        subprocess.run(create, check=True, cwd=folder, capture_output=True, **who)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [programs / "postgres", "-D", data, *settings],
                cwd=folder, stdout=output, stderr=output, **who,
            )  # fmt: skip
        _wait(folder, process, log)
        yield f"postgresql://tester@/postgres?host={folder}"
    finally:
        if process is not None:
            process.terminate()
            process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(folder: Path, process: "subprocess.Popen[bytes]", log: Path) -> None:
    import psycopg

    for _ in range(300):
        try:
            psycopg.connect(host=str(folder), user="tester", dbname="postgres").close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def _who() -> dict[str, Any]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    name = "postgres" if "postgres" in names else "nobody"
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


def _ids(name: str) -> tuple[int, int]:
    entry = pwd.getpwnam(name)
    return entry.pw_uid, entry.pw_gid
