"""Workers by name: one that was a process of this machine is known to have ended at once.

A name ends with the boot, the namespace of process numbers, the number and the start of its
process, which no two processes share. Of other machines only their silence tells.
"""

import os
import platform
import secrets
from pathlib import Path

PROC = Path("/proc")
STATE, START = 2, 21  # fields of /proc/NUMBER/stat, from 0
ENDED = ("Z", "X")


def worker_name(device: str) -> str:
    """Return a name for a worker of this process, as no other ever had."""
    own = os.getpid()
    mark = ".".join((*_here(), str(own), _start(own)))
    return f"{platform.node()}-{device}-{secrets.token_hex(4)}@{mark}"


def has_ended(worker: str) -> bool:
    """True if a name is that of a process of this machine that is there no more."""
    told = worker.rpartition("@")[2].split(".")
    if len(told) != 4 or (told[0], told[1]) != _here() or not told[2].isdecimal():
        return False
    return _start(int(told[2])) != told[3]


def _here() -> tuple[str, str]:
    """Return this boot and the namespace of process numbers; a name without both tells nothing."""
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        return boot, os.readlink(PROC / "self/ns/pid").strip("pid:[]")
    except OSError:
        return "unknown", secrets.token_hex(4)


def _start(number: int) -> str:
    """Return when a process began, in ticks since the boot; "" if it runs no more."""
    try:
        fields = (PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # What stands before the parenthesis are two fields more.
    return "" if fields[STATE - 2] in ENDED else fields[START - 2]
