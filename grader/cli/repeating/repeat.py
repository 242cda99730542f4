"""``lab repeat``: what a public test asks of a student's code, as a script that a debugger steps.

The judge runs the test once more and tells its calls; the script makes them on the student's own
file, with neither judge nor sandbox. Hidden tests are never repeated.
"""

import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from grader.cli.repeating.script import Page
from grader.errors import UsageError
from grader.files import write_file
from grader.judge.setup.request import Request
from grader.judge.setup.start import Starter, start_anew
from grader.labs.documents.submission import collect
from grader.labs.lab import Lab, find_lab, find_root
from grader.labs.results import RULES, TestResult, Verdict
from grader.labs.standing import ELSEWHERE, FOLDER, last_file
from grader.languages.language import labelled, said, say
from grader.report.facts.next_step import own_file, typed
from grader.report.facts.summary import AT_FAULT, SHOWN_AS
from grader.text import visible, visible_line

MOST_LISTED = 20  # tests that a hint names
MOST_NAME = 80  # characters of a file's name


@dataclass(frozen=True, slots=True)
class Wish:
    """Which test to repeat, and of which submission; None is the usual."""

    lab: str
    test: str | None
    source: Path | None
    device: str
    seed: int | None


@dataclass(slots=True)
class Heard:
    """What the judge tells while it runs the chosen tests."""

    wanted: str
    lab: Lab
    names: Sequence[str] = ()  # of all public tests
    told: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    results: dict[str, TestResult] = field(default_factory=dict[str, TestResult])
    rules: dict[str, TestResult] = field(default_factory=dict[str, TestResult])  # by task

    def on_event(self, event: str, data: Any) -> None:
        """Take an event; a wrong name ends the grading."""
        match event:
            case "tests":
                self.names = data
                if self.is_unknown:
                    raise _unknown(self.lab, self.wanted, data)
            case "repeated":
                self.told[data["test"]] = data
            case "test" if data.suite == "public":
                self.results[data.id] = data
            case "test" if data.suite == RULES and data.verdict in AT_FAULT:
                self.rules[data.task] = data
            case _:
                pass

    @property
    def is_unknown(self) -> bool:
        """True once the judge has named its tests, and none is meant."""
        return bool(self.names) and not any(means(self.wanted, name) for name in self.names)

    def chosen(self) -> TestResult:
        """Return the first that failed, else the first."""
        results = [*self.results.values()]
        return next((result for result in results if result.verdict in AT_FAULT), results[0])


def repeat(wish: Wish, start: Starter = start_anew) -> int:
    """Write the script of a test; 0 once it is written. ``start`` starts the judge's session."""
    lab = find_lab(wish.lab, find_root())
    if not wish.test:
        raise _nothing_named(lab, wish.source)
    heard = Heard(wish.test, lab)
    seed = wish.seed if wish.seed is not None else _last_seed(lab, wish.source)
    with tempfile.TemporaryDirectory(prefix="inferlab-") as place:
        try:
            seed = _run(lab, wish, heard, seed, Path(place), start)
        finally:
            if heard.is_unknown:
                _list(heard.names)
        result = heard.chosen()
        told = heard.told.get(result.id, {})
        why = _why_not(heard, result, told)
        if why:
            print(say(f"{visible_line(result.id)} cannot be repeated: {why}"))
            return 1
        page = _page(lab, wish, result, seed, told)
    _tell(page)
    return 0


def _run(lab: Lab, wish: Wish, heard: Heard, seed: int | None, place: Path, start: Starter) -> int:
    """Let the judge run the tests that are meant, and nothing else; return the seed."""
    from grader.judge.grade import grade  # starts the judge, which the other commands do not need

    request = Request(
        *(lab, wish.source, wish.device, seed),
        suite="public",
        repeats=(heard.wanted,),
        repeats_into=str(place),
    )
    print(say(f"asking lab {lab.number}'s test again …"), file=sys.stderr, flush=True)
    report = grade(request, start=start, on_event=heard.on_event)
    return int(report.provenance["seed"])


def _why_not(heard: Heard, result: TestResult, told: dict[str, Any]) -> str:
    """Say why there is no script; an empty string if there is one."""
    rule = heard.rules.get(result.task)
    if rule is not None:
        return f"the judge does not run it. {visible(rule.message)}"
    if result.verdict in (Verdict.NOT_GRADED, Verdict.INFRA) or not told:
        return f"it was {SHOWN_AS[result.verdict]}. {visible(result.message)}"
    return str(told.get("why", ""))


def _page(lab: Lab, wish: Wish, result: TestResult, seed: int, told: dict[str, Any]) -> Page:
    """Write the script, and what it needs beside it."""
    folder = lab.root / FOLDER / "repeat" / lab.name
    name = re.sub(r"\W+", "_", result.id).strip("_")[:MOST_NAME]
    file, beside = folder / f"{name}.py", folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(beside, ignore_errors=True)
        shutil.copytree(told["folder"], beside)
        code = _code(lab, wish.source, beside)
    except OSError as error:
        raise UsageError(f"cannot write {typed(beside)}: {error.strerror}") from None
    page = Page(lab, code, file, result, seed, told, typed(Path(sys.executable)))
    write_file(file, page.text().encode("utf-8", errors="backslashreplace"))
    return page


def _code(lab: Lab, source: Path | None, beside: Path) -> Path:
    """Return the student's own file; of a notebook a copy of its cells, beside the script."""
    with tempfile.TemporaryDirectory(prefix="inferlab-") as place:
        submission = collect(lab, source, Path(place) / "code")
        if submission.is_notebook:
            copy = beside / lab.code_name
            copy.write_text(submission.text, encoding="utf-8")
            return copy
    return own_file(lab, source).absolute()


def _tell(page: Page) -> None:
    result = page.result
    print(labelled(visible_line(result.id), say(SHOWN_AS[result.verdict])))
    if result.verdict is not Verdict.PASSED:
        told = visible(said(result.message)).splitlines()
        print("\n".join(f"  {line}".rstrip() for line in told))
    file, code = typed(page.file), typed(page.code)
    print("\n" + say(f"script:        {file}, which calls {code}"))
    print(say(f"run it:        {page.runs}"))
    print(say(f"step through:  {page.steps}"))
    for line in page.beside():
        print(say(f"not done there: {line}"))


# -- names ----------------------------------------------------------------------------------


def means(wanted: str, name: str) -> bool:
    """Tell whether a test is asked for: by its id, or by its function for all of its cases."""
    return wanted in (name, _function(name))


def _unknown(lab: Lab, wanted: str, names: Sequence[str]) -> UsageError:
    known = [*dict.fromkeys([*map(_function, names), *names])]
    near = [name for name in known if wanted in name] or get_close_matches(wanted, known, 3)
    hint = f"perhaps {' or '.join(near[:3])}" if near else "the tests are listed above"
    return UsageError(f"lab {lab.number} has no public test {wanted}", hint)


def _list(names: Sequence[str]) -> None:
    """Print the tests, those that are cases of one function once."""
    for function, cases in Counter(map(_function, names)).items():
        print(f"  {function}" + (f"  ({say(f'{cases} cases')})" if cases > 1 else ""))


def _function(name: str) -> str:
    return name.partition("[")[0]


def _nothing_named(lab: Lab, source: Path | None) -> UsageError:
    """Name the public tests that failed last."""
    tests = _last(lab, source).get("tests", [])
    failed = [t["id"] for t in tests if t["suite"] == "public" and t["verdict"] in {*AT_FAULT}]
    if not failed:
        hint = f"make repeat LAB={lab.number} TEST=…, by the name that a report shows"
        return UsageError("which test?", hint)
    more = f" and {len(failed) - MOST_LISTED} more" if len(failed) > MOST_LISTED else ""
    return UsageError("which test?", f"these failed last: {', '.join(failed[:MOST_LISTED])}{more}")


def _last(lab: Lab, source: Path | None) -> dict[str, Any]:
    """Return the latest report that is kept of this submission; {} if there is none."""
    suites = ("all", "public") if source is None else (ELSEWHERE,)
    files = [file for file in (last_file(lab, suite) for suite in suites) if file.is_file()]
    try:
        newest = max(files, key=lambda file: file.stat().st_mtime)
        return dict(json.loads(newest.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}


def _last_seed(lab: Lab, source: Path | None) -> int | None:
    seed = _last(lab, source).get("provenance", {}).get("seed")
    return seed if isinstance(seed, int) else None
