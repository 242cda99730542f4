"""Try one attack with the real judge, and say what did not hold."""

import json
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stand_ins import expectation
from stand_ins.attacks import GPU, Attack
from stand_ins.planted import Planted
from stand_ins.wellformed import OBEYED, malformed

from grader.errors import InferlabError, UsageError
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.judge.setup.start import Starter
from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.results import Expected, Report, Verdict
from grader.report.formats.forms import Form, render

SHOWN = 8  # tests of a report that is not as expected


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attack; it held if there are no problems."""

    attack: Attack
    got: str  # verdicts and points, or that it was refused
    problems: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Ground:
    """Where attacks are tried: the planted course, a folder for what they hand in, a session."""

    planted: Planted
    folder: Path
    start: Starter

    def attempt(self, attack: Attack) -> Outcome:
        """Grade an attack as ``lab grade`` does and hold the report against what is expected."""
        started = time.monotonic()
        lab = self.lab_of(attack)
        place = self.folder / attack.name.replace("/", "-")
        place.mkdir()
        manifest: list[Expected] = []
        try:
            source = attack.hand_in(lab, place)
            report = self.grade(lab, source, attack.needs_gpu, manifest, attack.tasks)
        except UsageError as error:
            got, problems = "refused", refusal_problems(error, attack.wanted, self.secrets)
        except InferlabError as error:
            got, problems = "not graded", [f"the judge failed: {error.message}"]
        else:
            got = _shown(report)
            problems = expectation.problems(report, attack.wanted)
            problems += leaks(report, self.secrets) + breaches(report, manifest, lab)
            if attack.category == GPU:
                problems += self.next_on_the_gpu()
            if problems:
                problems += expectation.failures(report).splitlines()[:SHOWN]
        seconds = time.monotonic() - started
        return Outcome(attack, got, tuple(problems), seconds)

    def next_on_the_gpu(self) -> list[str]:
        """Say what is wrong with the next grading on the GPU, of a right submission."""
        lab = self.planted.lab(expectation.SPEED)
        report = self.grade(lab, expectation.CLOCK / "right_baseline.py", True, [])
        got = expectation.summary(report, "right")
        return [] if got == "passed" else [f"the next grading on the GPU: {got}"]

    def lab_of(self, attack: Attack) -> Lab:
        """Return the copy with canaries of the attack's lab; real labs are taken as they are."""
        lab = expectation.find(attack.wanted.lab)
        if not lab.root.is_relative_to(expectation.COURSE):
            return lab
        small = attack.wanted.lab == expectation.DEMO and attack.is_small
        return self.planted.lab(attack.wanted.lab, small=small)

    def grade(
        self,
        lab: Lab,
        source: Path,
        gpu: bool,
        manifest: list[Expected],
        tasks: Collection[str] = (),
    ) -> Report:
        """Grade in the sandbox, on all tasks unless some are named; the manifest is added to."""

        def hear(event: str, data: Any) -> None:
            if event == "manifest":
                manifest.extend(data)

        device, seed = "cuda" if gpu else "cpu", self.planted.seed
        request = Request(lab, source, device, seed, "required", tasks=tasks)
        return grade(request, start=self.start, on_event=hear)

    @property
    def secrets(self) -> dict[str, str]:
        """Return what must never be seen, by what it is."""
        return {**self.planted.canaries, "seed": str(self.planted.seed)}


def _shown(report: Report) -> str:
    """Say in a few words what a grading came to: its worst verdicts and its points."""
    own = [t.verdict for t in report.tests if t.task != PSEUDOCODE]
    bad = [v.value for v in dict.fromkeys(own) if v not in (Verdict.PASSED, Verdict.SKIPPED)]
    return f"{', '.join(bad) or 'passed'}: {report.score:g} of {report.graded:g}"


def refusal_problems(
    error: UsageError, wanted: expectation.Expectation, secrets: dict[str, str]
) -> list[str]:
    """Say what is wrong with a refusal: one line for a person, that was to be expected."""
    text = f"{error.message} {error.hint}"
    if not wanted.refused:
        return [f"refused: {text}"]
    found = [] if wanted.refused in text else [f"expected {wanted.refused!r}, got {text!r}"]
    if "\n" in text or OBEYED.search(text):
        found.append(f"the error is not one plain line: {text!r}")
    return found + [f"leak of {what}" for what, secret in secrets.items() if secret in text]


def leaks(report: Report, secrets: dict[str, str]) -> list[str]:
    """Say which secrets are anywhere in what a report shows; the seed may stand in its place."""
    provenance = {key: value for key, value in report.provenance.items() if key != "seed"}
    shown = replace(report, provenance=provenance)
    text = b"".join(render(shown, form) for form in Form).decode()
    return [f"leak of the {what}" for what, secret in secrets.items() if secret in text]


def breaches(report: Report, manifest: Sequence[Expected], lab: Lab) -> list[str]:
    """Say what of the judge itself is not as it always must be."""
    found = malformed(report)
    if {(t.suite, t.id) for t in report.tests} != {(t.suite, t.id) for t in manifest}:
        found.append("the report is not about the tests of the manifest")
    if report.partial or report.provenance["sandbox"] != "bwrap":
        found.append("the grading was cut off or not isolated")
    verdicts = {test.verdict for test in report.tests}
    if Verdict.INFRA in verdicts:
        found.append("a verdict is infra")
    earned = sum(1 for t in report.tests if t.verdict is Verdict.PASSED and t.suite == "hidden")
    if report.score and not earned:
        found.append("points without a test that passed")
    if max(len(test.output) for test in report.tests) > lab.limits.output_kb << 10:
        found.append("the output was not cut")
    if report.exit_code != (0 if report.score == report.graded else 1):
        found.append(f"exit code {report.exit_code}")
    json.loads(render(report, Form.JSON))
    return found


class Beside:
    """A right submission, graded again and again while attacks are tried: it must not notice."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._lab = ground.planted.lab(expectation.DEMO, small=True)
        self._alone = self._grade()
        self.count = 0
        self.problems: list[str] = []
        if self._alone.score != self._alone.graded:
            self.problems.append("the right submission does not pass even alone")

    def _grade(self) -> Report:
        return self._ground.grade(self._lab, self._lab.solutions / self._lab.code_name, False, [])

    def until(self, over: threading.Event) -> None:
        """Grade until the event is set, and note every difference from the grading alone."""
        while not over.is_set():
            try:
                report = self._grade()
            except InferlabError as error:
                self.problems.append(f"beside an attack: {error.message}")
                return
            self.count += 1
            if (got := _comparable(report)) != (wanted := _comparable(self._alone)):
                odd = [str(pair) for pair in zip(got, wanted, strict=False) if pair[0] != pair[1]]
                self.problems.append(f"beside an attack: {odd[:3]}")


def _comparable(report: Report) -> list[tuple[str, ...]]:
    return [(t.suite, t.id, t.verdict.value, t.message, t.output) for t in report.tests]
