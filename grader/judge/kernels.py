"""``make compile``: record what the public tests launch, then compile it for GPUs.

Each specialisation is compiled for ``FIRST``. Of each kernel the one whose launch had the largest
tensors is compiled for the other targets too.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grader.labs.cards import CARDS
from grader.labs.compiled import Compiled
from grader.proxy.compiler import Compiler
from grader.proxy.launches import num_bytes, specialisation
from grader.proxy.student import Student

FIRST = "sm_90"
MOST_SPECIALISATIONS = 24  # of one kernel


class LaunchPlugin:
    """Records the launches of every test that asks for the submission."""

    def __init__(self, student: Student) -> None:
        self._student = student
        self.launches: list[dict[str, Any]] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        """Record around the body of a test, whatever becomes of it."""
        if "student" not in pyfuncitem.fixturenames:
            return (yield)
        recorded = None
        try:
            with self._student.recorded() as recorded:
                return (yield)
        finally:
            if recorded is not None:
                self.launches += [new for new in recorded.launches if new not in self.launches]


def compile_all(
    launches: list[dict[str, Any]], compiler: Compiler, emit: Callable[[str, Any], None]
) -> None:
    """Compile what was recorded, kernel by kernel, and emit ("compiled", …) for each result."""
    for kernel in dict.fromkeys((launch["line"], launch["kernel"]) for launch in launches):
        of_it = [one for one in launches if (one["line"], one["kernel"]) == kernel]
        for launch, made in _of_kernel(of_it, compiler):
            emit("compiled", {"launch": described(launch), "of": len(of_it), **made.to_json()})


def _of_kernel(
    launches: list[dict[str, Any]], compiler: Compiler
) -> Iterator[tuple[dict[str, Any], Compiled]]:
    kinds: dict[str, dict[str, Any]] = {}
    for launch in sorted(launches, key=num_bytes, reverse=True):
        kinds.setdefault(specialisation(launch), launch)
    shown = False  # one for each target
    for launch in [*kinds.values()][:MOST_SPECIALISATIONS]:
        made = compiler.compile(launch, FIRST)
        yield launch, made
        if not shown:
            yield from ((launch, compiler.compile(launch, name)) for name in CARDS if name != FIRST)
        shown = True


def described(launch: dict[str, Any]) -> str:
    """Return a launch in words: shapes of its tensors, and what was passed by name."""
    tensors = [f"{v[1]}{v[2]}" for v in launch["args"] if v[:1] == ["tensor"]]
    named = [f"{name}={value[-1]}" for name, value in launch["kwargs"].items() if len(value) == 2]
    return ", ".join([*dict.fromkeys(tensors), *named])[:300]
