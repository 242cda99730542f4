"""The proof of a lab: its suite passes right answers and fails wrong ones.

Each grading is a session of its own, so they run side by side in threads. Files of ours are graded
the quick way (``forked``) where there is one, and a sample of them the whole way too. The order of
the findings depends on the files alone, never on what ended first.
"""

import fnmatch
import math
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.labs.translations.rules import STAMP, lacking, problems_of
from grader.prove.contracts import check_contracts
from grader.prove.ends import ends_of
from grader.prove.expected import Graded, Role, judge
from grader.prove.files import check_files, shown
from grader.prove.findings import CheckReport, Finding, OnProgress, Outcome, Proof, verdict
from grader.prove.least import losses_of, too_small
from grader.prove.margins import margins_of, narrow
from grader.prove.proven import Proven
from grader.prove.public import catches_of, enough, judge_public
from grader.prove.remembered.entries import Remembered
from grader.prove.runner import Judges, Runner, fallen_tests, forked_judges
from grader.prove.sample import DRAWN, compare, draw, lot, of_the_day
from grader.prove.trials import Trial, plan
from grader.questions.proof import prove


def check_labs(
    labs: Sequence[Lab],
    proof: Proof = Proof(),  # noqa: B008  # frozen
    *,
    on_progress: OnProgress | None = None,
    judges: Judges | None = None,
    remembered: Remembered | None = None,
) -> CheckReport:
    """Prove labs. What is measured, and what students' tests say, is never ``remembered``."""
    memory = Remembered() if proof.measures or remembered is None else remembered
    with tempfile.TemporaryDirectory(prefix="inferlab-check-") as folder:
        day = proof.day
        trials = of_the_day(_trials(labs, proof, Path(folder)), day, proof.share)
        own = forked_judges(labs, proof.device, proof.sandbox)
        with own if judges is None else nullcontext(judges) as judging:
            runner = Runner(
                *(judging, proof.device, proof.sandbox, proof.brief or proof.public),
                crowd=proof.crowd,
                until_lost=not proof.measures,
                suite="public" if proof.public else "all",
                remembered=memory,
            )
            undated = (proof.only or proof.public) and not proof.sample_date
            drawn = () if undated else draw(trials, day)
            sampled = [place for place in drawn if judging.quick(trials[place].lab) is not None]
            learn = not (proof.whole or proof.brief or proof.public)
            made = _Round(trials, sampled, proof, day, on_progress)
            graded, again = made.run(runner, learn=learn)
    _forget_odd(memory, graded, again)
    every = [*graded, *again.values()]
    if proof.public:
        found = _report_in_public(labs, graded)
    else:
        found = _report(labs, graded, again, margins=proof.margins, files=not proof.only)
    late = len(trials) + len(sampled) - len(every)
    recalled = sum(item.recalled for item in every)
    return replace(found, gradings=len(every), recalled=recalled, late=late)


def _trials(labs: Sequence[Lab], proof: Proof, folder: Path) -> list[Trial]:
    """Plan what is graded; answers that are built lie in the folder."""
    trials = [
        trial
        for lab in labs
        for trial in plan(lab, proof.seeds, proof.wrong_seeds, folder / lab.name)
    ]
    for pattern in proof.only:
        if not any(_is_meant(trial.label, pattern) for trial in trials):
            near = get_close_matches(pattern, [trial.label for trial in trials], 1)
            hint = f"perhaps {near[0]}" if near else "lab check --help has examples"
            raise UsageError(f"--only {pattern} matches nothing", hint)
    return [
        trial
        for trial in trials
        if not proof.only or any(_is_meant(trial.label, pattern) for pattern in proof.only)
        if not proof.public or trial.role is Role.WRONG
    ]


def _is_meant(label: str, pattern: str) -> bool:
    """Tell whether a pattern matches what is graded; a file may be named without its ending."""
    return any(fnmatch.fnmatchcase(x, pattern) for x in (label, label.removesuffix(".py")))


def _report_in_public(labs: Sequence[Lab], graded: Sequence[Graded]) -> CheckReport:
    """Tell which wrong answers the public tests alone have caught."""
    catches = catches_of(graded)
    broken = [finding for item in graded for finding in judge_public(item)]
    shares = [share for lab in labs for share in enough(catches, lab.name)]
    return CheckReport((*broken, *shares), catches=tuple(catches))


def _of_lab(
    lab: Lab, graded: Sequence[Graded], again: Mapping[int, Graded], *, files: bool
) -> Iterator[Finding]:
    """Judge a lab's gradings; ``again`` holds those of the sample, by their places."""
    if files:
        yield from check_files(lab)
        yield from () if lab.is_manual else check_contracts(lab)
        yield from check_translations(lab)
        yield from check_questions(lab)
    for place, item in enumerate(graded):
        if item.lab is lab:
            yield from judge(item)
            if place in again:
                yield compare(item, again[place])


def check_translations(lab: Lab) -> Iterator[Finding]:
    """Hold what a lab has in Chinese against its English; what it lacks is said, no mistake."""
    if missing := lacking(lab):
        rule, folder = "has a translation", shown(lab, lab.folder)
        yield Finding(lab.name, rule, folder, Outcome.WARNING, got=missing)
    for file, problems in problems_of(lab):
        first, *others = problems or [""]
        details = tuple(f"       {problem}" for problem in others)
        yield verdict(lab.name, "translation is in step", shown(lab, file), first, STAMP, details)


def check_questions(lab: Lab) -> Iterator[Finding]:
    """Prove what a lab asks: right answers are judged right and wrong ones wrong."""
    for proof in prove(lab):
        yield verdict(lab.name, proof.what, proof.file, proof.problem)


def _forget_odd(memory: Remembered, graded: Sequence[Graded], again: Mapping[int, Graded]) -> None:
    """Let be made again what did not come to the same both ways."""
    for place, whole in again.items():
        if compare(graded[place], whole).outcome is not Outcome.OK:
            memory.forget(graded[place].key)
            memory.forget(whole.key)


def _report(
    labs: Sequence[Lab],
    graded: Sequence[Graded],
    again: Mapping[int, Graded],
    *,
    margins: bool,
    files: bool,
) -> CheckReport:
    """Judge each grading, and tell what only all of them together do: least losses, and margins."""
    findings = [found for lab in labs for found in _of_lab(lab, graded, again, files=files)]
    losses = losses_of(graded)
    found = margins_of(graded) if margins else []
    findings += [*too_small(losses), *narrow(graded, found)] if margins else too_small(losses)
    wrong = [
        (item.lab.name, item.file, item.report)
        for item in graded
        if item.role is Role.WRONG and item.report is not None
    ]
    ends = ends_of(labs[0].root) if margins else []
    return CheckReport(
        *(tuple(findings), tuple(found)),
        losses=tuple(losses),
        ends=tuple(ends),
        wrong=tuple(wrong),
    )


def _problems(graded: Graded) -> str:
    """Say at once what did not hold: a check that is cut off has no findings."""
    problems = [found.got for found in judge(graded) if found.outcome is Outcome.FAILED]
    return f" · failed: {'; '.join(problems)}" if problems else ""


class _Round:
    """The gradings of one check; those in the sample are made a second time, the whole way."""

    def __init__(
        self,
        trials: Sequence[Trial],
        sampled: Collection[int],
        proof: Proof,
        day: str,
        on_progress: OnProgress | None,
    ) -> None:
        self._trials = trials
        self._sampled = sampled
        self._jobs = proof.jobs
        self._on_progress = on_progress
        self._day = day if proof.within < math.inf else ""
        self._ends = time.monotonic() + proof.within
        self._graded: dict[int, Graded] = {}
        self._again: dict[int, Graded] = {}

    def run(self, runner: Runner, *, learn: bool) -> tuple[list[Graded], dict[int, Graded]]:
        """Make the gradings, wrong answers last: with ``learn`` what is proven by then is left out.

        Of a wrong answer the first seed tells by which tests it falls; under others these come
        first. Returns what was graded in the order of the trials, and the sample by its places in
        that.
        """
        places = range(len(self._trials))
        wrong = [place for place in places if self._trials[place].role is Role.WRONG]
        others = [place for place in places if self._trials[place].role is not Role.WRONG]
        later = [place for place in wrong if self._trials[place].seed > 1]
        first = [place for place in wrong if self._trials[place].seed == 1]
        with ThreadPoolExecutor(max_workers=self._jobs) as pool:
            try:
                self._wave(others, runner, pool)
                if first and learn and self._graded:
                    runner = replace(runner, proven=Proven(self._graded.values()))
                self._wave(first, runner, pool)
                if runner.until_lost:
                    runner = replace(runner, fallen=fallen_tests(self._graded.values()))
                self._wave(later, runner, pool)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        made = [place for place in places if place in self._graded]
        again = {i: self._again[place] for i, place in enumerate(made) if place in self._again}
        return [self._graded[place] for place in made], again

    def _wave(self, wave: Sequence[int], runner: Runner, pool: ThreadPoolExecutor) -> None:
        """Make some gradings side by side: first what takes longest, or what may not be left."""
        if self._day:
            wave = sorted(wave, key=self._turn)
        twice = [(place, self._again) for place in wave if place in self._sampled]
        futures = {
            pool.submit(self._grade, runner, place, again=into is self._again): (place, into)
            for place, into in (*twice, *((place, self._graded) for place in wave))
        }
        for future in as_completed(futures):
            place, into = futures[future]
            if (made := future.result()) is not None:
                into[place] = made
                self._tell(place, made, runner)

    def _turn(self, place: int) -> tuple[bool, int]:
        """Order by what has its turn on any day, then as the day draws it."""
        trial = self._trials[place]
        return trial.role in DRAWN, lot(self._day, trial.lab.name, trial.file)

    def _grade(self, runner: Runner, place: int, *, again: bool) -> Graded | None:
        """Grade; None where there is no time left for what other days can have."""
        trial = self._trials[place]
        if trial.role in DRAWN and time.monotonic() > self._ends:
            return None
        return runner(trial, again=again)

    def _tell(self, place: int, made: Graded, runner: Runner) -> None:
        if self._on_progress is None:
            return
        trial = self._trials[place]
        problems = _problems(made) if runner.suite == "all" else ""
        recalled = " · remembered" if made.recalled else ""
        label = f"{trial.lab.name} {trial.label}{recalled}{problems}"
        done, whole = len(self._graded) + len(self._again), len(self._trials) + len(self._sampled)
        self._on_progress(done, whole, label)
