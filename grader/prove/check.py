"""The proof of a lab: its suite passes right answers and fails wrong ones.

Each grading is a session of its own, so they run side by side in threads. Files of ours are graded
the quick way (``forked``) where there is one, and a sample of them the whole way too. The order of
the findings depends on the files alone, never on what ended first.
"""

import fnmatch
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.prove.contracts import check_contracts
from grader.prove.ends import ends_of
from grader.prove.expected import Graded, Role, judge
from grader.prove.files import check_files
from grader.prove.findings import CheckReport, Finding, OnProgress, Outcome, Proof
from grader.prove.least import losses_of, too_small
from grader.prove.margins import margins_of, narrow
from grader.prove.proven import Proven
from grader.prove.public import catches_of, enough, judge_public
from grader.prove.remembered.entries import Remembered
from grader.prove.runner import Judges, Runner, fallen_tests, forked_judges
from grader.prove.sample import compare, draw, of_the_day
from grader.prove.trials import Trial, plan


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
            graded, again = _run(trials, sampled, runner, proof.jobs, on_progress, learn=learn)
    _forget_odd(memory, graded, again)
    made = [*graded, *again.values()]
    if proof.public:
        found = _report_in_public(labs, graded)
    else:
        found = _report(labs, graded, again, margins=proof.margins, files=not proof.only)
    return replace(found, gradings=len(made), recalled=sum(item.recalled for item in made))


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
        yield from check_contracts(lab)
    for place, item in enumerate(graded):
        if item.lab is lab:
            yield from judge(item)
            if place in again:
                yield compare(item, again[place])


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


def _run(
    trials: list[Trial],
    sampled: Collection[int],
    runner: Runner,
    jobs: int,
    on_progress: OnProgress | None,
    *,
    learn: bool,
) -> tuple[list[Graded], dict[int, Graded]]:
    """Make the gradings, wrong answers last: with ``learn`` what is proven by then is left out.

    Of a wrong answer the first seed tells by which tests it falls; under others these come first.
    Those in the sample are made a second time, the whole way, and returned by their places.
    """
    places = range(len(trials))
    wrong = [place for place in places if trials[place].role is Role.WRONG]
    others = [place for place in places if trials[place].role is not Role.WRONG]
    later = [place for place in wrong if trials[place].seed > 1]
    first = [place for place in wrong if trials[place].seed == 1]
    graded: dict[int, Graded] = {}
    again: dict[int, Graded] = {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            for wave in (others, first, later):
                if wave is first and first and learn and graded:
                    runner = replace(runner, proven=Proven(graded.values()))
                if wave is later and runner.until_lost:
                    runner = replace(runner, fallen=fallen_tests(graded.values()))
                # What takes longest comes first.
                twice = [(place, again) for place in wave if place in sampled]
                futures = {
                    pool.submit(runner, trials[place], again=into is again): (place, into)
                    for place, into in (*twice, *((place, graded) for place in wave))
                }
                for future in as_completed(futures):
                    place, into = futures[future]
                    into[place] = future.result()
                    if on_progress is not None:
                        trial = trials[place]
                        problems = _problems(into[place]) if runner.suite == "all" else ""
                        recalled = " · remembered" if into[place].recalled else ""
                        label = f"{trial.lab.name} {trial.label}{recalled}{problems}"
                        done, all_ = len(graded) + len(again), len(trials) + len(sampled)
                        on_progress(done, all_, label)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [graded[place] for place in places], again
