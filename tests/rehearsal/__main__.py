"""Rehearse a course: publish, hand in, collect, grade labs, kill, resume, export; compare.

Then the same class hands in through the grading service, which must give it the same marks.

``make rehearsal ARGS="--students 12"``. Exits 1 if a mark is not what its source should earn.
"""

import argparse
import csv
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent.parent)]

from answers import Answer, answers_of, mismatch  # noqa: E402
from day import day  # noqa: E402
from school import ROOT, Failed, School  # noqa: E402
from served import different_marks, hand_in_at_service  # noqa: E402
from stand_ins.ray_nodes import RAY_IS_MISSING, cluster  # noqa: E402

from grader.course.config import load_course  # noqa: E402
from grader.course.database.records import Attempt  # noqa: E402
from grader.course.database.store import Store  # noqa: E402
from grader.course.gradebook.marks import mark  # noqa: E402
from grader.labs.lab import Lab, find_lab  # noqa: E402


class Table:
    """What took how long; printed at the end."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    def add(self, step: str, told: str) -> None:
        self.rows.append((step, told))
        print(f"  {step}: {told}", flush=True)

    @contextmanager
    def timed(self, step: str, each: int = 0) -> Iterator[None]:
        """Time a step, and its share for one of ``each``."""
        started = time.monotonic()
        yield
        seconds = time.monotonic() - started
        share = f", {seconds / each:.2f} s each" if each else ""
        self.add(step, f"{seconds:.1f} s{share}")

    def __str__(self) -> str:
        width = max(len(step) for step, _ in self.rows)
        return "\n".join(f"{step:<{width}}  {told}" for step, told in self.rows)


def main() -> int:
    """Run every step in order; a failed command or mark ends it with 1."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="inferlab-rehearsal-") as name:
        folder = Path(options.keep).absolute() if options.keep else Path(name)
        try:
            return rehearse(folder, options)
        except Failed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make rehearsal")
    parser.add_argument("--students", type=int, default=60)
    parser.add_argument("--labs", nargs="+", default=["1", "2"], metavar="LAB")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--sample", type=int, default=6, help="gradings to compare speeds with")
    parser.add_argument("--keep", metavar="FOLDER", help="leave the course there")
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--no-service", action="store_true")
    return parser.parse_args()


def rehearse(folder: Path, options: argparse.Namespace) -> int:
    """Go through a course of some labs; return 1 if a mark is wrong."""
    labs = [find_lab(text, ROOT) for text in options.labs]
    students = [f"s{number:02d}" for number in range(1, options.students + 1)]
    school, table = School(folder, labs, students), Table()
    answers = [
        answer for shift, lab in enumerate(labs) for answer in answers_of(lab, students, 5 * shift)
    ]
    named = ", ".join(lab.name for lab in labs)
    table.add("class", f"{len(students)} students, {named}")
    for lab in labs:
        with table.timed(f"publish {lab.number}"):
            school.run("publish", str(lab.number))
    school.hand_in(answers)
    for lab in labs:
        with table.timed(f"collect {lab.number}", len(students)):
            school.run("collect", lab.name, codes=(1,))  # one student has no branch
        with table.timed(f"collect {lab.number} --late", len(students)):
            school.run("collect", lab.name, "--late", codes=(1,))
    sample = [answer for answer in answers if not answer.is_nothing][: options.sample]
    plain = plain_gradings(school, sample, table)
    graded = [sum(not answer.is_nothing for answer in answers if answer.lab is lab) for lab in labs]
    with table.timed(f"grade-all {labs[0].number}, killed and resumed", graded[0]):
        kill_and_resume(school, labs[0], options.jobs)
    for lab, count in zip(labs[1:], graded[1:], strict=True):
        with table.timed(f"grade-all {lab.number}, {options.jobs} jobs", count):
            school.run("grade-all", lab.name, "--jobs", str(options.jobs))
    wrong = check_marks(school, answers)
    export(school, answers, table)
    some = [answer.student for answer in sample]
    side_by_side(school, labs[0], some, plain, options, table)
    again = check_marks(school, answers)  # regrading changes no mark
    if not options.no_service:
        again += served(folder, school, answers, options, table)
    again += day(school, answers, table.add)
    return conclude(table, answers, wrong + again)


def served(
    folder: Path,
    school: School,
    answers: Sequence[Answer],
    options: argparse.Namespace,
    table: Table,
) -> list[str]:
    """Let the class hand in at the service; return what marks are not those of grade-all."""
    other = School(folder / "served", school.labs, school.students)
    with table.timed("through the service", len(answers)):
        hand_in_at_service(other, answers, options.jobs)
    different = different_marks(school, other, answers)
    table.add("marks that differ by the service", str(len(different)))
    return different + check_marks(other, answers)


def plain_gradings(school: School, answers: Sequence[Answer], table: Table) -> float:
    """Grade a few as one does by hand; return the seconds of one."""
    folder = school.folder / "plain"
    seconds: list[float] = []
    for answer in answers:
        place = folder / answer.student
        for name, data in answer.files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
        started = time.monotonic()
        order = ("--from", str(place), "--device", "cpu", "--json", str(place / "report.json"))
        school.run("grade", answer.lab.name, *order, codes=(0, 1))
        seconds.append(time.monotonic() - started)
        report = json.loads((place / "report.json").read_bytes())
        if told := mismatch(answer, report, report["score"]):
            raise Failed(f"plain grading of {answer.source}: {told}")
    mean = statistics.mean(seconds)
    table.add("plain grading", f"{mean:.2f} s each, of {len(answers)}, one after another")
    return mean


def kill_and_resume(school: School, lab: Lab, jobs: int) -> None:
    """Kill a grading twice in its midst; resuming must lose and repeat nothing."""
    order = ("grade-all", lab.name, "--jobs", str(jobs), "--resume")
    kept: dict[tuple[str, str], object] = {}
    for share in (0.25, 0.3):
        with school.start(*order) as process:
            assert process.stderr is not None
            for _ in range(max(1, int(share * len(school.students)))):
                if not process.stderr.readline():
                    raise Failed("grade-all ended before it was killed")
            process.kill()
        kept |= _graded(school, lab)
    out = school.run(*order)
    found = _graded(school, lab)
    if any(found.get(key) != moment for key, moment in kept.items()):
        raise Failed("a result that was there before the kill is lost or was made again")
    if f"{len(kept)} were before" not in out:
        raise Failed(f"{len(kept)} results were there, but: {out}")


def _graded(school: School, lab: Lab) -> dict[tuple[str, str], object]:
    with Store.open(school.database) as store:
        attempts = store.attempts(lab.name)
    counts = Counter((attempt.run, attempt.student, attempt.commit) for attempt in attempts)
    if {run for run, *_ in counts} != {attempts[0].run} or set(counts.values()) != {1}:
        raise Failed("a resumed run is not one run with one attempt for each commit")
    return {(attempt.student, attempt.commit): attempt.graded for attempt in attempts}


def check_marks(school: School, answers: Sequence[Answer]) -> list[str]:
    """Compare every mark with what its source should earn."""
    course = load_course(school.folder / "course.toml")
    with Store.open(school.database) as store:
        attempts: list[Attempt] = store.attempts()
    wrong: list[str] = []
    for answer in answers:
        found = mark(attempts, [], course, answer.student, answer.lab.name)
        report = found.attempt.report if found.attempt else None
        if told := mismatch(answer, report, found.points):
            wrong.append(f"{answer.student} in {answer.lab.name} ({answer.source}): {told}")
    return wrong


def export(school: School, answers: Sequence[Answer], table: Table) -> None:
    """Write every form; the wide CSV must hold the marks."""
    place = school.folder / "out"
    place.mkdir()
    forms: dict[str, Sequence[str]] = {
        "wide.csv": ("--csv", "wide"),
        "long.csv": ("--csv", "long"),
        "canvas.csv": ("--canvas",),
        "gradescope": ("--gradescope",),
    }
    with table.timed("gradebook: two CSV, Canvas, Gradescope"):
        for name, form in forms.items():
            school.run("gradebook", *form, "-o", str(place / name))
    for lab in school.labs:
        with table.timed(f"similarity {lab.number}"):
            school.run("similarity", lab.name, codes=(0, 1))
    with table.timed("pages"):
        school.run("gradebook", "--html", str(place / "pages"))
    with open(place / "wide.csv", encoding="utf-8", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    for answer in answers:
        cell = rows[answer.student][answer.lab.name]
        exact = answer.loses_all and not answer.is_nothing
        if (cell == "") != answer.is_nothing or (exact and float(cell) != answer.full):
            raise Failed(f"wide.csv: {answer.student} has {cell!r} in {answer.lab.name}")


def side_by_side(
    school: School,
    lab: Lab,
    students: Sequence[str],
    plain: float,
    options: argparse.Namespace,
    table: Table,
) -> None:
    """Grade the same students on one process and two, and on Ray with one worker and two."""
    few = [part for student in students for part in ("--student", student)]
    order = ["grade-all", lab.name, "--device", "cpu", *few]

    def timed(step: str, run: Callable[[], object]) -> float:
        started = time.monotonic()
        run()
        each = (time.monotonic() - started) / len(students)
        table.add(step, f"{each:.2f} s each, {plain / each:.2f} times as fast as plain gradings")
        return each

    one, two = (
        timed(f"local, {jobs} at a time", lambda: school.run(*order, "--jobs", str(jobs)))  # noqa: B023
        for jobs in (1, 2)
    )
    table.add("local, speed-up of 2 over 1", f"{one / two:.2f}")
    if options.no_ray or RAY_IS_MISSING:
        table.add("Ray", "left out" if options.no_ray else "not installed")
        return
    seconds: list[float] = []
    for nodes in (1, 2):
        with cluster(nodes) as ray:
            there = partial(school.run, *order, "--engine", "ray", RAY_ADDRESS=ray.address)
            seconds.append(timed(f"Ray, {nodes} workers", there))
    table.add("Ray, speed-up of 2 over 1", f"{seconds[0] / seconds[1]:.2f}")


def conclude(table: Table, answers: Sequence[Answer], wrong: Sequence[str]) -> int:
    """Print the table and the verdict."""
    kinds = Counter(answer.kind for answer in answers)
    table.add("answers", ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    table.add("marks that differ from their source's", str(len(wrong)))
    print(f"\n{table}\n")
    for line in wrong:
        print(f"error: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
