"""Grade submissions, right and wrong, with the real judge, and compare whole.

What each is and what must come out stands in its own docstring. All are graded side by side, two at
a time, by a module-wide fixture; the tests look at the reports. Hostile ones are in
``tests/exploits``, which ``make exploits`` grades; ``tests/prove/test_forked.py`` grades the same
files the quick way, all of them each day.
"""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from stand_ins import expectation
from stand_ins.expectation import DEMO, SUBMISSIONS
from stand_ins.isolation import require_sandbox
from stand_ins.planted import plant
from stand_ins.trial import Ground, breaches, leaks

from grader.judge.setup.start import ForkServer
from grader.labs.lab import Lab
from grader.labs.results import Expected, Report

FILES = {file.stem: file for file in sorted(SUBMISSIONS.glob("*.py"))}
Graded = tuple[Lab, list[Expected], Report]


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory, sessions: ForkServer) -> Ground:
    require_sandbox()
    place = tmp_path_factory.mktemp("judge")
    return Ground(plant(place / "course"), place, sessions)


@pytest.fixture(scope="module")
def gradings(ground: Ground, request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Graded]]]:
    asked = [getattr(item, "callspec", None) for item in request.session.items]
    names = [spec.params["name"] for spec in asked if spec and spec.params.get("name") in FILES]
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(graded, ground, name) for name in sorted(names)}
        pool.shutdown(cancel_futures=True)


def graded(ground: Ground, name: str) -> Graded:
    small = len(expectation.read(FILES[name]).verdicts) == 1
    lab, manifest = ground.planted.lab(DEMO, small=small), []
    return lab, manifest, ground.grade(lab, FILES[name], False, manifest)


@pytest.mark.in_turn
@pytest.mark.parametrize("name", FILES)
def test_submission_gets_the_report_it_expects(
    gradings: dict[str, Future[Graded]], ground: Ground, name: str
) -> None:
    lab, manifest, report = gradings[name].result()

    odd = expectation.problems(report, expectation.read(FILES[name]))
    odd += breaches(report, manifest, lab) + leaks(report, ground.secrets)
    assert not odd, "\n".join((*odd, expectation.failures(report)))
