"""``make rehearsal-service``: a deadline rush on one machine, with kills, by real HTTP.

Students hand in a light lab twice each within two minutes, at times that are drawn beforehand and
wait for no answer, and look at their pages. Meanwhile the service, pages and gradings, is killed by
SIGKILL and started anew, as systemd would. At the end each hand-in that was answered with a number
must be there and graded once, and each mark be what the student's answer earns.

Latencies count from the moment a request was due, so that a stall is not hidden by the requests
that it held back; those that met a service that was down are counted apart.
"""

import argparse
import asyncio
import contextlib
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
from stand_ins.serving import LAB, NUMBER, Server, issue_tokens, light_tree

from grader.course.config import Course, load_course
from grader.course.database.records import Attempt
from grader.course.database.store import Store
from grader.course.gradebook.marks import mark
from grader.labs.documents.submission import fingerprint
from grader.service.adapters.database.database import DatabaseStore
from grader.service.domain.records import HandIn, State

SEED = 1
RIGHT, WRONG = 100.0, 95.0  # points: of the model answer, and of one without pseudocode's task
PATIENCE = 15.0  # seconds between tries of a request that met no service
COURSE = f"""title = "A rush"
[deadlines]
{NUMBER} = 2100-01-01T00:00:00Z
"""


def main() -> int:
    """Rush, wait until all is graded, look at everything, print the figures."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="inferlab-rush-") as name:
        folder = Path(name)
        rush = Rush(options, light_tree(folder / "tree"), folder / "course", random.Random(SEED))
        rush.prepare()
        try:
            asyncio.run(rush.run())
        finally:
            rush.server.stop()
        problems = [*rush.problems()]
        rush.print()
    for problem in problems[:20]:
        print(f"! {problem}")
    print(f"{len(problems)} problems")
    return 1 if problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make rehearsal-service", description=__doc__)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--each", type=int, default=2, help="hand-ins of a student")
    parser.add_argument("--seconds", type=float, default=120.0, help="in which all come")
    parser.add_argument("--looks", type=int, default=4, help="pages that a student looks at")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--sandbox", choices=("required", "none"), default="required")
    return parser.parse_args()


@dataclass
class Answers:
    """How long requests took from when they were due, and how many met no service."""

    seconds: list[float] = field(default_factory=list[float])
    unmet: int = 0
    statuses: Counter[int] = field(default_factory=Counter[int])

    def told(self) -> str:
        """Say the figures in a line."""
        if not self.seconds:
            return "none"
        ranked = sorted(self.seconds)
        p50, p99 = statistics.median(ranked), ranked[int(0.99 * (len(ranked) - 1))]
        by = ", ".join(f"{count} of {status}" for status, count in sorted(self.statuses.items()))
        times = f"p50 {p50 * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms, longest {ranked[-1] * 1e3:.0f} ms"
        return f"{len(ranked)} ({by}), {times}; {self.unmet} met no service"


class Rush:
    """One rush."""

    def __init__(
        self, options: argparse.Namespace, tree: Path, folder: Path, draw: random.Random
    ) -> None:
        self.options, self.tree, self.folder, self.random = options, tree, folder, draw
        order = ("--jobs", str(options.jobs), "--sandbox", options.sandbox)
        self.server = Server(folder / "course.toml", tree, order)
        self.tokens: dict[str, str] = {}
        self.receipts: list[tuple[str, int, str]] = []  # student, number, hash
        self.hand_ins, self.looks = Answers(), Answers()
        self.memory: list[float] = []  # MiB of the process that answers
        self.kills = 0
        self.began = self.ended = 0.0

    @property
    def course(self) -> Course:
        """The course as the service reads it."""
        return load_course(self.folder / "course.toml")

    def prepare(self) -> None:
        """Write the course and make everybody a token."""
        self.folder.mkdir(mode=0o700)
        (self.folder / "course.toml").write_text(COURSE)
        names = [f"s{number:03d}" for number in range(self.options.students)]
        (self.folder / "roster.csv").write_text("id,name\n" + "".join(f"{n},{n}\n" for n in names))
        self.tokens = issue_tokens(self.folder / "course.toml")

    @contextlib.contextmanager
    def _store(self) -> Iterator[tuple[Store, DatabaseStore]]:
        course = self.course
        with Store.open(course.database, course.folder) as database:
            yield database, DatabaseStore(database)

    async def run(self) -> None:
        """Let everybody come, then wait until nothing is open."""
        self.server.start()
        limits = httpx.Limits(max_connections=400, max_keepalive_connections=100)
        async with httpx.AsyncClient(base_url=self.server.url, timeout=60, limits=limits) as client:
            await self._is_up(client)
            self.began = time.monotonic()
            tasks = [asyncio.create_task(each) for each in self._arrivals(client)]
            tasks.append(asyncio.create_task(self._killer(client)))
            watcher = asyncio.create_task(self._watch())
            await asyncio.gather(*tasks)
            print(f"all came within {time.monotonic() - self.began:.0f} s", flush=True)
            await self._until_graded()
            self.ended = time.monotonic()
            watcher.cancel()

    def _arrivals(self, client: httpx.AsyncClient) -> Iterator[Coroutine[None, None, None]]:
        """Draw when each student hands in and looks: as many in each second, nobody waits."""
        whole = self.options.seconds
        for student in self.tokens:
            for turn in range(self.options.each):
                due = whole * (turn + self.random.random()) / self.options.each
                # The last of a student's is right for two of three, and is what counts at best.
                right = self.random.random() < 2 / 3
                yield self._hand_in(client, student, due, right, turn)
            for _ in range(self.options.looks):
                yield self._look(client, student, whole * self.random.random())

    async def _hand_in(
        self, client: httpx.AsyncClient, student: str, due: float, right: bool, turn: int
    ) -> None:
        files = self._files(student, right, turn)
        await self._until(due)
        headers = {"Authorization": f"Bearer {self.tokens[student]}"}
        parts = [("files", (name, content)) for name, content in files.items()]
        started = self.began + due
        while True:
            try:
                answer = await client.post(
                    f"/api/labs/{NUMBER}/hand-ins", headers=headers, files=parts
                )
            except httpx.HTTPError:
                self.hand_ins.unmet += 1
                receipt = await self._arrived(client, headers, fingerprint(files))
                if receipt is not None:
                    self.receipts.append((student, receipt, fingerprint(files)))
                    return
                started = time.monotonic()
                continue
            self.hand_ins.statuses[answer.status_code] += 1
            if answer.status_code == 201:
                self.hand_ins.seconds.append(time.monotonic() - started)
                body = answer.json()
                self.receipts.append((student, int(body["number"]), body["sha256"]))
                return
            if answer.status_code != 429:
                raise SystemExit(f"{answer.status_code}: {answer.text[:300]}")
            await asyncio.sleep(float(answer.headers.get("retry-after", 1)))
            started = time.monotonic()

    async def _arrived(
        self, client: httpx.AsyncClient, headers: dict[str, str], hash: str
    ) -> int | None:
        """Ask whether a hand-in without an answer is there, as ``lab submit`` does."""
        while True:
            try:
                answer = await client.get(f"/api/labs/{NUMBER}/hand-ins", headers=headers)
            except httpx.HTTPError:
                await asyncio.sleep(0.5)
                continue
            if answer.status_code == 200:
                found = answer.json()["hand_ins"]
                same = [item["number"] for item in found if item["sha256"] == hash]
                return int(same[-1]) if same else None
            await asyncio.sleep(1)

    async def _look(self, client: httpx.AsyncClient, student: str, due: float) -> None:
        await self._until(due)
        headers = {"Authorization": f"Bearer {self.tokens[student]}"}
        started = self.began + due
        try:
            answer = await client.get("/api/labs", headers=headers)
        except httpx.HTTPError:
            self.looks.unmet += 1
            return
        self.looks.statuses[answer.status_code] += 1
        self.looks.seconds.append(time.monotonic() - started)

    async def _killer(self, client: httpx.AsyncClient) -> None:
        moments = sorted(
            self.options.seconds * (turn + self.random.random()) / max(self.options.kills, 1)
            for turn in range(self.options.kills)
        )
        for moment in moments:
            await self._until(moment)
            self.server.kill()
            self.kills += 1
            self.server.start()
            await self._is_up(client)

    async def _is_up(self, client: httpx.AsyncClient) -> None:
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if (await client.get("/healthz")).status_code == 200:
                    return
            if not self.server.runs:
                raise SystemExit(self.server.log.read_text()[-2000:])
            await asyncio.sleep(0.1)

    async def _until(self, due: float) -> None:
        await asyncio.sleep(max(0.0, self.began + due - time.monotonic()))

    async def _until_graded(self) -> None:
        while True:
            with self._store() as (_, store):
                left = store.queued()
            if not left:
                return
            print(f"{len(left)} hand-ins are open", flush=True)
            await asyncio.sleep(PATIENCE)

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(OSError, AttributeError):
                status = Path(f"/proc/{self.server.process.pid}/status").read_text()  # type: ignore[union-attr]
                self.memory.append(int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024)
            await asyncio.sleep(2)

    def _files(self, student: str, right: bool, turn: int) -> dict[str, bytes]:
        """Return a student's files, like no others: right, or without pseudocode."""
        folder = self.tree / "solutions" / LAB
        code = (folder / "echo.py").read_text() + f"\n# {student}, {turn}\n"
        text = (folder / "PSEUDOCODE.md").read_bytes() if right else b"# Pseudocode\n"
        return {"echo.py": code.encode(), "PSEUDOCODE.md": text}

    def problems(self) -> Iterator[str]:
        """Say what was lost, doubled or marked wrongly."""
        with self._store() as (database, store):
            items = {item.number: item for item in store.hand_ins()}
            attempts = database.attempts(LAB)
        graded = Counter(attempt.commit for attempt in attempts)
        for student, number, hash in self.receipts:
            item = items.get(number)
            if item is None or (item.student, item.sha256) != (student, hash):
                yield f"hand-in {number} of {student} is lost"
            elif item.is_open or item.state is State.HELD:
                yield f"hand-in {number} of {student} is {item.state}: {item.failure}"
        for item in items.values():
            wanted = 1 if item.state is State.GRADED else 0
            if graded[item.key] != wanted:
                times = graded[item.key]
                yield f"hand-in {item.number} is {item.state} and was graded {times} times"
        for student in self.tokens:
            yield from self._mark(student, items.values(), attempts)

    def _mark(
        self, student: str, items: Iterable[HandIn], attempts: Sequence[Attempt]
    ) -> Iterator[str]:
        own = [item for item in items if item.student == student and item.state is State.GRADED]
        worth = [RIGHT if self._is_right(item) else WRONG for item in own]
        found = mark(attempts, (), self.course, student, LAB)
        best = max(worth, default=None)
        if found.points != best:
            yield f"{student} has {found.points} points, and should have {best}"

    def _is_right(self, item: HandIn) -> bool:
        return len((self.folder / item.path / "PSEUDOCODE.md").read_bytes()) > 20

    def print(self) -> None:
        """Print the figures."""
        with self._store() as (_, store):
            waits = sorted(each.waited for each in store.begun(datetime(2000, 1, 1, tzinfo=UTC)))
            states = Counter(item.state for item in store.hand_ins())
        whole = self.ended - self.began
        print(f"hand-ins: {self.hand_ins.told()}")
        print(f"looks: {self.looks.told()}")
        print(f"states: {', '.join(f'{count} {state}' for state, count in states.items())}")
        rate = states[State.GRADED] / whole * 60
        print(f"{self.kills} kills; all graded in {whole:.0f} s, {rate:.0f} a minute")
        if waits:
            print(f"wait until a grading began: median {waits[len(waits) // 2]}, worst {waits[-1]}")
        if self.memory:
            first, most = self.memory[0], max(self.memory)
            print(f"memory of the service: {first:.0f} MiB first, {most:.0f} at most")


if __name__ == "__main__":
    sys.exit(main())
