"""Which faults are held against a submission at once, and which only once ours has come through."""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from grader.errors import (
    Forbidden,
    Mismatch,
    StudentCrashed,
    StudentError,
    StudentMemory,
    StudentTimeout,
    SubmissionFault,
)
from grader.judge.plugin.blame import Blame, may_be_ours
from grader.proxy.student import Student


def raised(kind: str, message: str = "", *bases: str) -> StudentError:
    return StudentError(kind, message, (kind, *bases, "Exception"))


@dataclass
class Stand:
    """In a student's place: what an answer of ours meets, and what was asked in which order."""

    met: str
    asked: list[str] = field(default_factory=list)

    def give_up_(self) -> None:
        self.asked.append("give up")

    def control_(self) -> str:
        self.asked.append("control")
        return self.met


def blame_on(stand: Stand) -> Blame:
    return Blame(cast(Student, cast(Any, stand)), None)


@pytest.mark.parametrize(
    "fault",
    [
        StudentCrashed("it died"),
        StudentMemory("too much"),
        StudentTimeout("too late"),
        raised("RuntimeError", "CUDA error: an illegal memory access was encountered"),
        raised("RuntimeError", "[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        raised("RuntimeError", "can't start new thread"),
        raised("RuntimeError", "Connection closed by peer [127.0.0.1]:4242"),
        raised("FileNotFoundError", "no such file", "OSError"),
        raised("UnicodeEncodeError", "'ascii' codec", "UnicodeError", "ValueError"),
        raised("DistBackendError", "it broke", "DistError", "RuntimeError"),
        raised("ImportError", "libodd.so: cannot open shared object file"),
    ],
)
def test_what_a_machine_may_be_behind_is_asked_again(fault: SubmissionFault) -> None:
    assert may_be_ours(fault)


@pytest.mark.parametrize(
    "fault",
    [
        Mismatch("CUDA error: y is off by 3"),
        Forbidden("the code called torch.compile"),
        raised("NotImplementedError", "norm: rms_norm"),
        raised("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
        raised("ValueError", "5 rows for 2 ranks"),
    ],
)
def test_what_code_does_by_itself_is_its_own(fault: SubmissionFault) -> None:
    stand = Stand("a full disk")

    assert blame_on(stand).trouble(fault) == ""
    assert stand.asked == []


@pytest.mark.parametrize("met", ["", "a full disk"])
def test_submission_is_gone_before_ours_is_asked(met: str) -> None:
    stand = Stand(met)

    assert blame_on(stand).trouble(StudentCrashed("it died")) == met
    assert stand.asked == ["give up", "control"]


def test_fault_that_comes_again_is_asked_for_once() -> None:
    stand, fault = Stand("a full disk"), StudentCrashed("it died on import")
    blame = blame_on(stand)

    assert [blame.trouble(fault), blame.trouble(fault)] == ["a full disk"] * 2
    assert stand.asked == ["give up", "control"]
    assert blame.trouble(StudentCrashed("it died on import")) == "a full disk"
    assert stand.asked == ["give up", "control"] * 2
