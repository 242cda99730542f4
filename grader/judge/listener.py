"""What is known so far of a grading, and who hears of it.

Results are saved as they arrive: a grading that is cut off has a partial report.

Who listens hears ("manifest", list[Expected]), ("begin", Expected), ("test", TestResult), and what
no report holds: ("measured", list[dict[str, Any]]), of each test that compared numbers the
comparison that came closest to its limit; ("asked", dict[str, list[str]]), the public names that
the tests of each task called; ("spent", dict[str, float]), what the session's seconds went to since
it told the last time (``spent``); and ("alone", float), for how many of them it had the GPU to
itself. What compiles is heard as ("compiled", dict[str, Any]) of each kernel; what meters as
("metered", dict[str, Any]) of each launch on a CPU, and ("tuned", dict[str, Any]) of each kernel
with an autotuner. What makes a script to repeat a test is heard as ``observers/repeated`` tells it.
"""

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.files import json_bytes, write_file
from grader.judge.scoring import score
from grader.labs.documents.places import Place, placed
from grader.labs.lab import Lab
from grader.labs.results import Expected, Report, TestResult, Verdict

SAVING = 0.05  # of a grading's time at most: to write a report grows with what is in it
MOST_DIFFERENCES = 30  # of tensors, of which a report shows one for each task
MOST_PRINTED = 200_000  # characters of all tests together, of what a submission printed
OnEvent = Callable[[str, Any], None]


@dataclass(slots=True)
class Progress:
    """What is known so far of a grading; saved after each event."""

    lab: Lab
    provenance: dict[str, Any]
    extras: dict[str, Any]
    expected: list[Expected]
    results: list[TestResult]

    def begin_again(self, seed: int) -> None:
        """Note that the suites run anew, under another seed: what is no result is told anew."""
        self.provenance["seed"] = seed
        for told in ("speed", "plots", "differences"):
            self.extras.pop(told, None)

    def report(self, *, partial: bool) -> Report:
        """Return the report of what has arrived."""
        scores = score(self.lab, self.expected, self.results)
        lab, tests, provenance = self.lab, tuple(self.results), dict(self.provenance)
        return Report(
            *(lab.number, lab.topic, scores.tasks, tests, provenance, partial, self.extras),
            scores.contracts,
        )


class Listener:
    """Takes results in: tells the caller, and saves the report so far."""

    def __init__(
        self,
        progress: Progress,
        on_event: OnEvent | None,
        file: Path | None,
        places: tuple[Place, ...] = (),
    ) -> None:
        """``places`` are those of a notebook's cells in the code, for what messages say."""
        self.progress = progress
        self._places = places
        self.started = time.monotonic()
        self._on_event = on_event
        self._file = file
        self._saving = 0.0  # seconds
        self._room = MOST_PRINTED
        self.announced = False
        self.begun = False  # a test of the suites has started
        self.current = ""  # the id of the test that runs

    def announce(self) -> None:
        """Tell the whole manifest, then what is known already."""
        self.announced = True
        self.say("manifest", list(self.progress.expected))
        for result in self.progress.results:
            self.say("test", result)

    def say(self, event: str, data: Any) -> None:
        if self._on_event is not None:
            self._on_event(event, data)

    def keep(self) -> None:
        """Save what is known, marked as partial; where that takes long, not after every test."""
        now = time.monotonic()
        self.progress.provenance["seconds"] = round(now - self.started, 2)
        if self._file is not None and self._saving <= SAVING * (now - self.started):
            save(self.progress.report(partial=True), self._file)
            self._saving += time.monotonic() - now

    def result(self, result: TestResult) -> None:
        """Take a result in; a later one of the same test takes the place of the first."""
        result = placed(self._within(result), self._places)
        results = self.progress.results
        same = (i for i, known in enumerate(results) if known.suite == result.suite)
        place = next((i for i in same if results[i].id == result.id), None)
        if place is None:
            results.append(result)
        else:
            results[place] = result
        self.keep()
        if self.announced:
            self.say("test", result)

    def _within(self, result: TestResult) -> TestResult:
        """Keep of what was printed as much as a report has room for."""
        left, size = self._room, len(result.output)
        self._room = max(left - size, 0)
        if size <= left:
            return result
        text = f"… {size - left:,} more characters; a report keeps {MOST_PRINTED:,} in all"
        kept = f"{result.output[:left]}\n" if left else ""
        return replace(result, output=f"{kept}{text}")


def save(report: Report, file: Path) -> None:
    """Write the report as JSON, all of it or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, json_bytes(report.to_json()))


def follow(lines: Iterable[bytes], hear: Listener) -> int | None:
    """Read the session's events to the end; return pytest's exit code, None if it never said."""
    progress = hear.progress
    for line in lines:
        if not line.endswith(b"\n"):
            return None  # the session was killed while it wrote
        event, data = json.loads(line)
        match event:
            case "manifest":
                known = {(test.suite, test.id) for test in progress.expected}
                told = [Expected(**entry) for entry in data]
                # A session that is a repetition tells the same tests again.
                progress.expected += [t for t in told if (t.suite, t.id) not in known]
                hear.announce()
            case "begin":
                hear.begun, hear.current = True, f"{data['suite']} {data['id']}"
                hear.say("begin", Expected(**data))
            case "test":
                hear.current = ""
                fields: dict[str, Any] = {**data, "verdict": Verdict(data["verdict"])}
                hear.result(TestResult(**fields))
            case "speed":
                progress.extras.setdefault("speed", []).append(data)
                hear.keep()
            case "plot":
                progress.extras.setdefault("plots", []).append(data)
                hear.keep()
            case "difference":
                differences = progress.extras.setdefault("differences", [])
                differences += [data] if len(differences) < MOST_DIFFERENCES else []
            case "gpu":
                progress.extras["gpu"] = data
            case "asked" | "measured" | "spent" | "alone":
                hear.say(event, data)
            case "compiling" | "compiled" | "metered" | "tuned" | "tests" | "repeated":
                hear.say(event, data)
            case _:
                return int(data)
    return None
