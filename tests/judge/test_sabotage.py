"""Machines in a bad state, ten of them: right answers lose no point there, whatever fails.

``stand_ins/sabotage`` says what is done, from outside of submissions. That a submission which does
such a thing itself keeps nothing by it is for ``tests/exploits``.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from stand_ins import sabotage
from stand_ins.expectation import find
from stand_ins.isolation import require_sandbox
from stand_ins.sabotage import GPU_ALONE, GPU_WAYS, WAYS, Sabotaged

from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer
from grader.labs.lab import Lab
from grader.labs.results import Report, Verdict

HARMLESS = {Verdict.PASSED, Verdict.INFRA, Verdict.SKIPPED, Verdict.NOT_GRADED}
OURS = "an answer of ours, without the submission, has failed too: "


@dataclass(frozen=True, slots=True)
class Few:
    """Some tests of a lab's task: enough for each way to act on, where it acts on the lab."""

    lab: Lab
    task: str
    tests: tuple[str, ...]


FEW = {
    "06": Few(
        find("06_layernorm"),
        "forward",
        ("rows_are_normalised", "long_rows", "forward_kernels_compile"),
    ),
    "08": Few(
        find("08_tp_linear"),
        "column",
        ("column_outputs", "column_keeps_no_more", "column_on_any_number"),
    ),
    "12": Few(find("12_paged"), "triton", ("result_comes_from_a_kernel", "kernel_at_any_width")),
}
# What is said of tests that cannot be judged; a lab without an entry does not notice the way.
SAYS = {
    ("library", "06"): OURS + "the process was ended by SIGILL",
    ("library", "08"): OURS + "the process was ended by SIGILL",
    ("library", "12"): OURS + "the process was ended by SIGILL",
    ("memory", "06"): OURS + "the code took more than the 1 MiB",
    ("memory", "08"): "a rank did not start: the code took more than the 1 MiB",
    ("memory", "12"): OURS + "the code took more than the 1 MiB",
    ("compiler", "06"): "no kernel can be compiled for sm_80 on this machine",
    ("disk", "06"): "no kernel can be compiled for sm_80 on this machine",
    ("disk", "08"): OURS + "FileNotFoundError",
    ("gpu", "06"): OURS + "RuntimeError: CUDA error: no CUDA-capable device is detected",
    ("gpu", "08"): OURS + "RuntimeError: CUDA error: no CUDA-capable device is detected",
    ("gpu", "12"): OURS + "RuntimeError: CUDA error: no CUDA-capable device is detected",
    ("nccl", "08"): OURS + "DistBackendError: NCCL error",
    ("threads", "08"): "the ranks did not find each other",
    ("threads", "12"): OURS + "RuntimeError: can't start new thread",  # which a device needs
}


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    if not torch.cuda.is_available():  # where one is, there may be no bubblewrap
        require_sandbox()
    made = sabotage.server([few.lab.folder for few in FEW.values()])
    yield made
    made.close()


def graded(server: ForkServer, way: str, few: Few, device: str = "cpu") -> Report:
    start = Sabotaged(server, way, " or ".join(few.tests))
    right = few.lab.solutions / few.lab.code_name
    return grade(Request(few.lab, right, device, 3, "auto", tasks={few.task}), start=start)


@pytest.mark.in_turn
@pytest.mark.parametrize("number", FEW)
@pytest.mark.parametrize("way", [way for way in WAYS if way not in GPU_ALONE])
def test_right_answer_loses_no_point(server: ForkServer, way: str, number: str) -> None:
    report = graded(server, way, FEW[number])

    assert report.score == report.graded
    assert {test.verdict for test in report.tests} <= HARMLESS
    broken = [test.message for test in report.tests if test.verdict is Verdict.INFRA]
    says = SAYS.get((way, number))
    assert bool(broken) == (says is not None)
    assert says is None or any(says in message for message in broken), broken[0]


@pytest.mark.gpu
@pytest.mark.parametrize("number", FEW)
@pytest.mark.parametrize("way", GPU_WAYS)
def test_right_answer_loses_no_point_on_a_gpu(server: ForkServer, way: str, number: str) -> None:
    if FEW[number].lab.limits.ranks > torch.cuda.device_count():
        pytest.skip("needs a GPU for each rank")

    report = graded(server, way, FEW[number], "cuda")

    assert report.score == report.graded
    assert {test.verdict for test in report.tests} <= HARMLESS
