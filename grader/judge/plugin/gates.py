"""Which tests still make sense: a failed gate closes its task, a flaw what needs all of a task."""

from collections.abc import Iterable, Mapping

from grader.labs.results import Expected, Verdict


class GateFailed(Exception):
    """A test that this one depends on did not pass."""


class Gates:
    """What has failed so far; ``closed`` are tasks that a rule closed before any test."""

    def __init__(self, closed: Mapping[str, str]) -> None:
        self._closed = dict(closed)  # task -> the gate that it failed
        self._flawed = dict(closed)  # task -> its first test that did not pass
        self._lost = dict(closed)  # task -> the first of those that is worth anything

    def is_closed(self, task_id: str) -> bool:
        """Tell whether a gate of the task has failed."""
        return task_id in self._closed

    def note(self, expected: Expected, verdict: Verdict, *, halves: bool) -> None:
        """Remember a test that the submission did not pass; one that ``halves`` closes no gate."""
        if verdict is Verdict.PASSED or not verdict.counts:
            return
        self._flawed.setdefault(expected.task, expected.id)
        if expected.weight > 0:
            self._lost.setdefault(expected.task, expected.id)
        if expected.gate and not halves:
            self._closed.setdefault(expected.task, expected.id)

    def close(self, task_id: str, gate: str) -> None:
        """Close a task for what the submission did while it ran."""
        for known in (self._closed, self._flawed, self._lost):
            known.setdefault(task_id, gate)

    def check_not_lost(self, task_id: str, needed: Iterable[str]) -> None:
        """Raise GateFailed if the task cannot earn all of its points any more.

        ``needed`` are the tasks that some of its points need all of.
        """
        if task_id in self._lost:
            raise GateFailed(f"{self._lost[task_id]} did not pass")
        self._check_whole(needed)

    def check(self, task_id: str, requires: Iterable[str], all_of: Iterable[str]) -> None:
        """Raise GateFailed if a gate of the task, or of one that it requires, did not pass.

        Of the tasks ``all_of`` no test may have failed. The message ends a sentence: "not tried: ".
        """
        if task_id in self._closed:
            raise GateFailed(f"{self._closed[task_id]} has to pass first")
        for other in requires:
            if other in self._closed:
                raise GateFailed(f"it builds on {other}, whose {self._closed[other]} did not pass")
        self._check_whole(all_of)

    def _check_whole(self, tasks: Iterable[str]) -> None:
        for other in tasks:
            if other in self._flawed:
                test = self._flawed[other]
                raise GateFailed(f"it needs all of {other}, whose {test} did not pass")
