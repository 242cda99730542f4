"""The sessions of one grading are run: one, and others where it ends in the middle of a test."""

import contextlib
import threading
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import JudgeError
from grader.judge.listener import Listener, follow
from grader.judge.scoring import fill_missing
from grader.judge.setup.configuration import Configuration
from grader.judge.setup.deadline import MOST_GIVEN_BACK
from grader.judge.setup.start import Session, Starter
from grader.labs.results import Verdict
from grader.sandbox.confinement import limits

MOST_SESSIONS = 6  # of one grading, where they end in the middle of tests
JUDGE_MEMORY = 2 << 30  # bytes that a session may take, on a CPU: CUDA maps what it likes
SLACK_SECONDS = 90.0  # what a session may take beyond the lab's own limit: start-up and imports
GPU_SLACK_SECONDS = 3600.0  # there it may wait for others, and the time of races is the judge's
MISSING = "the judge stopped before it had run this test"


@dataclass(frozen=True, slots=True)
class Death:
    """The test in which a session ended by itself, and why: "memory" or an empty string."""

    test: str
    why: str


@contextlib.contextmanager
def started(start: Starter, stage: Path) -> Generator[Session, None, None]:
    """Start a session; whatever happens, it ends with us."""
    with start(str(stage)) as session:
        try:
            yield session
        finally:
            session.kill()


def run_session(session: Session, configuration: Configuration, hear: Listener) -> Death | None:
    """Run the suites in a process of their own; a silent test is not the student's fault.

    Returns the test in which the process ended by itself; None if it did not.
    """
    lab, setting = configuration.run.lab, configuration.setting
    on_cpu = setting.device == "cpu"
    slack = SLACK_SECONDS if on_cpu else GPU_SLACK_SECONDS
    group = limits.judge_group(setting.cage, JUDGE_MEMORY) if on_cpu else None
    limited = replace(configuration, group=str(group.folder) if group else "")
    seconds = lab.limits.total_seconds + MOST_GIVEN_BACK + slack
    alarm = threading.Timer(seconds, session.kill)
    alarm.start()
    hear.current = ""
    try:
        code = _converse(session, limited, hear)
    finally:
        late = not alarm.is_alive()
        alarm.cancel()
        session.kill()  # it has ended, or is of no more use
        why = _close(group)
    # A manifest without a test comes from a suite that cannot be read: pytest says 2, or 5.
    if code not in (0, 1) and not (hear.begun or (code is None and hear.announced)):
        raise JudgeError(
            f"the suite of lab {lab.number} could not be run", "see the messages above"
        )
    known = hear.progress
    known.results = list(fill_missing(known.expected, known.results, Verdict.INFRA, MISSING))
    return Death(hear.current, why) if hear.current and code is None and not late else None


def _converse(session: Session, configuration: Configuration, hear: Listener) -> int | None:
    """Tell a session what to do and hear it to its end; return pytest's exit code if it says it."""
    assert session.stdin is not None
    assert session.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        session.stdin.write(configuration.encode())
        session.stdin.close()
    return follow(session.stdout, hear)


def _close(group: limits.Cgroup | None) -> str:
    """Remove a session's group; return "memory" if it was killed for that."""
    if group is None:
        return ""
    why = group.why_killed()
    group.close()
    return why


def run_again(
    died: Death | None, configuration: Configuration, start: Starter, hear: Listener
) -> None:
    """Run the suites anew, under other seeds, while sessions end in the middle of a test, ``died``.

    Once may be this machine. Twice in one test it is what the submission made of it: it is not run
    again, and is lost.
    """
    deaths: Counter[str] = Counter()
    run = configuration.run
    for _ in range(MOST_SESSIONS - 1):
        if died is None:
            return
        deaths[died.test] += 1
        fatal = {died.test: died.why} if deaths[died.test] > 1 else {}
        run = replace(run, seed=run.seed + 1, fatal={**run.fatal, **fatal})
        hear.progress.begin_again(run.seed)
        with started(start, configuration.setting.stage) as session:
            died = run_session(session, replace(configuration, run=run), hear)
