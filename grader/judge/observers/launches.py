"""Launches of the tests, noted by a probe, and those that were metered told (``make bench``)."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from grader.errors import SubmissionFault
from grader.labs.metered import Metered
from grader.proxy.student import Student

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


def described(launch: dict[str, Any]) -> str:
    """Return a launch in words: shapes of its tensors, and what was passed by name."""
    tensors = ["".join(map(str, v[1:3])) for v in launch["args"] if v[0] == "tensor"]
    named = [f"{name}={value[-1]}" for name, value in launch["kwargs"].items() if len(value) == 2]
    return ", ".join([*dict.fromkeys(tensors), *named])[:300]
