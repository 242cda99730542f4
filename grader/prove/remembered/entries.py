"""What gradings of a proof have told, kept under their keys, so that nothing is proven twice.

Kept is only what came as it should, by itself: a failure is never told from memory, and what ended
by a limit of time or memory, in a crash, in the judge, or under another seed than it was asked for
may end otherwise the next time. What was expected is never kept: it is held against each report
anew. An entry that is damaged, or another's, counts as none.
"""

import contextlib
import hashlib
import json
import os
import time
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader.errors import UsageError
from grader.files import json_bytes, write_file
from grader.judge.setup.request import Request
from grader.labs.lab import Lab
from grader.labs.results import (
    ContractResult,
    Expected,
    Report,
    State,
    TaskResult,
    TestResult,
    Verdict,
)
from grader.labs.standing import FOLDER
from grader.prove.remembered.key import Key, Keys

MOST_ENTRIES = 10_000  # some whole proofs
UNUSED_SECONDS = 28 * 24 * 3600.0
_BY_CHANCE = (Verdict.TIMEOUT, Verdict.MEMORY, Verdict.CRASHED, Verdict.INFRA)


@dataclass(frozen=True, slots=True)
class Told:
    """What a grading told: a report or why there is none, and what was heard beside it.

    The fields are those of ``Graded``.
    """

    report: Report | None
    failure: str = ""
    manifest: tuple[Expected, ...] = ()
    asked: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    measured: Sequence[Mapping[str, Any]] = ()  # this alone is never kept
    crowd: float = 1.0


def encoded(report: Report, told: Told) -> bytes:
    """Return what was told as JSON; raises ValueError if that cannot say it."""
    manifest = [asdict(test) for test in told.manifest]
    beside = {"manifest": manifest, "asked": told.asked, "crowd": told.crowd}
    return json_bytes({"report": report.to_json(), **beside})


def decoded(data: bytes) -> Told:
    """Return what was encoded; raises ValueError, TypeError or KeyError if that was another."""
    told = json.loads(data)
    manifest = tuple(Expected(**entry) for entry in told["manifest"])
    return Told(_report(told["report"]), "", manifest, told["asked"], (), told["crowd"])


def _report(told: dict[str, Any]) -> Report:
    return Report(
        lab=told["lab"],
        topic=told["topic"],
        tasks=tuple(TaskResult(**entry) for entry in told["tasks"]),
        tests=tuple(_test(entry) for entry in told["tests"]),
        provenance=told["provenance"],
        partial=told["partial"],
        extras=told["extras"],
        contracts=tuple(_contract(entry) for entry in told["contracts"]),
    )


def _test(told: dict[str, Any]) -> TestResult:
    entry: dict[str, Any] = {**told, "verdict": Verdict(told["verdict"])}
    return TestResult(**entry)


def _contract(told: dict[str, Any]) -> ContractResult:
    entry: dict[str, Any] = {**told, "state": State(told["state"])}
    return ContractResult(**entry)


class Remembered:
    """The entries of a tree, one file for each key; without keys nothing is remembered."""

    def __init__(
        self, root: Path = Path(), keys: Keys | None = None, *, anew: bool = False
    ) -> None:
        """``anew``: recall nothing, and put what is graded in the place of what was kept."""
        self._folder = root / FOLDER / "remembered"
        self._keys = keys
        self._anew = anew

    def key(self, request: Request, way: str) -> Key | None:
        """Return the key of a grading, if it can have one."""
        return self._keys.of(request, way) if self._keys else None

    def recall(self, key: Key | None) -> Told | None:
        """Return what a grading told, if that was kept."""
        if self._anew or key is None:
            return None
        file = self._file(key)
        try:
            entry = file.read_bytes()
            if entry[:32] != _seal(key, entry[32:]):
                return None
            told = decoded(zlib.decompress(entry[32:]))
        except (OSError, ValueError, TypeError, KeyError, zlib.error):
            return None
        with contextlib.suppress(OSError):
            os.utime(file)  # the least used go first
        return told

    def keep(self, key: Key | None, lab: Lab, told: Told) -> None:
        """Keep what a grading told, if all that decided it is in its key, and there is room."""
        self.forget(key)  # whatever comes of this, it is no longer what was told last
        report = told.report
        if key is None or report is None or not _is_sure(key, report):
            return
        if self._keys is None or self._keys.touched(lab):
            return
        with contextlib.suppress(OSError, UsageError, ValueError):
            body = zlib.compress(encoded(report, told))
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._file(key), _seal(key, body) + body)

    def forget(self, key: Key | None) -> None:
        """Let a grading be made again."""
        if key is not None:
            with contextlib.suppress(OSError):
                self._file(key).unlink()

    def prune(self) -> None:
        """Drop what was not used for weeks, and the least used of too many."""
        used: list[tuple[float, str]] = []
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    used.append((entry.stat().st_mtime, entry.path))
        used.sort(reverse=True)
        oldest = time.time() - UNUSED_SECONDS
        for place, (when, path) in enumerate(used):
            if place >= MOST_ENTRIES or when < oldest:
                with contextlib.suppress(OSError):
                    os.unlink(path)

    def _file(self, key: Key) -> Path:
        return self._folder / key.number


def _seal(key: Key, body: bytes) -> bytes:
    """Return what tells that a body is whole, and of this key."""
    return hashlib.sha256(key.number.encode() + body).digest()


def _is_sure(key: Key, report: Report) -> bool:
    """Tell whether all that decided a report is in its key."""
    if report.partial or any(test.verdict in _BY_CHANCE for test in report.tests):
        return False
    of = report.provenance.get("submission_sha256"), report.provenance.get("seed")
    return of == (key.submission, key.seed)
