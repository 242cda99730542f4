"""What the public tests launch: compiled for GPUs (``make compile``), or metered (``make bench``).

Each specialisation is compiled for ``FIRST``. Of each kernel the one whose launch had the largest
tensors is compiled for the other targets too.
"""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from grader.errors import SubmissionFault
from grader.labs.cards import CARDS
from grader.labs.compiled import Compiled
from grader.labs.metered import Metered
from grader.proxy.compiler import Compiler
from grader.proxy.student import Student

FIRST = "sm_90"
MOST_SPECIALISATIONS = 24  # of one kernel
LOAD_SECONDS = 60.0


class LaunchPlugin:
    """Notes the launches of every test that asks for the submission, by one of its probes."""

    def __init__(self, probe: Callable[[], AbstractContextManager[Any]]) -> None:
        self._probe = probe
        self.launches: list[Any] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Iterator[None]:
        """Note around the body of a test, whatever becomes of it."""
        if "student" not in pyfuncitem.fixturenames:
            return (yield)
        noted = None
        try:
            with self._probe() as noted:
                return (yield)
        finally:
            if noted is not None:
                self.launches += noted.launches


def tell_metered(
    launches: list[tuple[dict[str, Any], Metered]], emit: Callable[[str, Any], None]
) -> None:
    """Emit ("metered", …) for each launch, those that are alike in all tests once."""
    kinds: dict[str, tuple[dict[str, Any], Metered]] = {}
    for launch, metered in launches:
        alike = dataclasses.replace(metered, times=0)
        key = json.dumps([launch["args"], launch["kwargs"], alike.to_json()])
        times = metered.times + (kinds[key][1].times if key in kinds else 0)
        kinds[key] = launch, dataclasses.replace(metered, times=times)
    for launch, metered in kinds.values():
        emit("metered", {"launch": described(launch), **metered.to_json()})


def tell_tuned(student: Student, emit: Callable[[str, Any], None]) -> None:
    """Emit ("tuned", …) for each kernel that is left to Triton's autotuner."""
    student.retire_()
    student.extend_(LOAD_SECONDS)
    with contextlib.suppress(SubmissionFault):  # told by the tests
        for kernel in student.tuned_():
            emit("tuned", kernel.to_json())


def compile_all(
    launches: list[dict[str, Any]], compiler: Compiler, emit: Callable[[str, Any], None]
) -> None:
    """Compile what was recorded, kernel by kernel, and emit ("compiled", …) for each result."""
    launches = [*{json.dumps(one): one for one in launches}.values()]
    for kernel in dict.fromkeys((launch["line"], launch["kernel"]) for launch in launches):
        of_it = [one for one in launches if (one["line"], one["kernel"]) == kernel]
        for launch, made in _of_kernel(of_it, compiler):
            emit("compiled", {"launch": described(launch), "of": len(of_it), **made.to_json()})


def _of_kernel(
    launches: list[dict[str, Any]], compiler: Compiler
) -> Iterator[tuple[dict[str, Any], Compiled]]:
    kinds: dict[str, dict[str, Any]] = {}
    for launch in sorted(launches, key=_elements, reverse=True):
        kinds.setdefault(specialisation(launch), launch)
    shown = False  # one for each target
    for launch in [*kinds.values()][:MOST_SPECIALISATIONS]:
        made = compiler.compile(launch, FIRST)
        yield launch, made
        if not shown:
            yield from ((launch, compiler.compile(launch, name)) for name in CARDS if name != FIRST)
        shown = True


def specialisation(launch: dict[str, Any]) -> str:
    """Return what tells launches apart that Triton compiles each by itself.

    By name a number may be a ``tl.constexpr`` or an option: each value counts. By place it counts
    as Triton takes it, unless it could be one, too: 1, a multiple of 16, small or neither.
    """
    return str((launch["kernel"], [_kind(a) for a in launch["args"]], launch["kwargs"]))


def _kind(value: Any) -> Any:
    match value:
        case ["tensor", dtype, _, offset, *_]:
            return [dtype, offset == 0]
        case ["float", _]:
            return "float"
        case ["tuple", list(items)]:
            return [_kind(item) for item in items]  # pyright: ignore[reportUnknownVariableType]
        case ["value", int(number)] if number > 1 and type(number) is int:
            return [number % 16 == 0, number >= 1 << 31, number if number in POWERS else 0]
        case _:
            return value


POWERS = frozenset(1 << exponent for exponent in range(17))  # what blocks are


def _elements(launch: dict[str, Any]) -> int:
    return sum(_size(value) for value in [*launch["args"], *launch["kwargs"].values()])


def _size(value: Any) -> int:
    match value:
        case ["tensor", _, _, _, int(size)]:
            return size
        case _:
            return 0


def described(launch: dict[str, Any]) -> str:
    """Return a launch in words: shapes of its tensors, and what was passed by name."""
    tensors = [f"{v[1]}{v[2]}" for v in launch["args"] if v[:1] == ["tensor"]]
    named = [f"{name}={value[-1]}" for name, value in launch["kwargs"].items() if len(value) == 2]
    return ", ".join([*dict.fromkeys(tensors), *named])[:300]
