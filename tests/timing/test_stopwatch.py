"""Proven timing on a CPU ring: what it accepts and refuses. No test here looks at a duration."""

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from stand_ins.suites import module_of
from torch import Generator, Tensor

from grader import ROOT
from grader.errors import (
    Forbidden,
    JudgeError,
    Mismatch,
    StudentCrashed,
    StudentError,
    StudentTimeout,
)
from grader.labs.lab import Lab, load_lab
from grader.labs.rule import Rule
from grader.labs.tiers import Rung
from grader.prove.forking.forked import WorkerServer, fork_worker
from grader.proxy.student import Student
from grader.sandbox.pool import WarmPool
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged
from grader.timing.race import Race
from grader.timing.roofline import Roofline
from grader.timing.speed import UNTIL_LOOKED_AT
from grader.timing.stopwatch import Stopwatch
from grader.wire.memory import SharedMemory

LAB = load_lab(Path(__file__).parents[1] / "demo" / "labs" / "91_softmax")
SPEED = LAB.task("speed")
RUNG = Rung("speed", SPEED.ladders[0], SPEED.ladders[0].tiers[0])
RIGHT = "import torch\n\ndef softmax(x):\n    return torch.softmax(x, -1)\n"

NORM = """
import torch

def layer_norm_forward(x, weight, bias, eps):
    wide = x.float()
    mean = wide.mean(-1)
    rstd = ((wide - mean[:, None]).square().mean(-1) + eps).rsqrt()
    y = (wide - mean[:, None]) * rstd[:, None] * weight.float() + bias.float()
    return y.to(x.dtype), mean, rstd
"""

Make = Callable[[str], Stopwatch]


def inputs(generator: Generator) -> tuple[Tensor, ...]:
    x = torch.randn(61, 257, generator=generator) * torch.randn(61, 1, generator=generator)
    return (x.bfloat16(),)


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FEWEST_BLOCKS", "MOST_BLOCKS", "SOLO_SAMPLES"):
        monkeypatch.setattr(f"grader.timing.trial.{name}", 2)


RACE = Race(function="softmax", case="61 x 257", inputs=inputs, bytes=1)


@pytest.fixture(scope="module")
def workers() -> Iterator[WorkerServer]:
    made = WorkerServer(replace(LAB, given=(), imports=("torch",)))
    yield made
    made.close()


@pytest.fixture
def make(workers: WorkerServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """A stopwatch for a submission, at level ``none``: that takes no sandbox, and forks do."""
    start = functools.partial(fork_worker, workers.fileno())
    monkeypatch.setattr("grader.timing.stopwatch.WorkerProcess", start)
    opened: list[Any] = []

    def stopwatch(source: str, lab: Lab = LAB) -> Stopwatch:
        context = staged(lab, {}, "none")
        stage = context.__enter__()
        opened.append(lambda: context.__exit__(None, None, None))
        (stage / "submission").mkdir()
        (stage / "submission" / lab.code_name).write_text(source)
        setting = Setting(stage, {}, (), "cpu", "none", 4 << 30, 64, {}, 1 << 16, cage="watch")
        pool = WarmPool(lambda: start(setting), size=1)
        student = Student(lab, setting, pool, source)
        watch = Stopwatch(lab, student, setting, lambda event, data: told.append((event, data)))
        told: list[tuple[str, Any]] = []
        opened.extend([pool.close, student.close_, watch.close])
        watch.told = told  # type: ignore[attr-defined]
        return watch

    yield stopwatch
    for close in reversed(opened):
        close()


def wide(generator: Generator) -> tuple[Tensor, ...]:
    return (torch.randn(244, 2570, generator=generator).bfloat16(),)


def test_right_answer_is_verified_and_measured(make: Make) -> None:
    watch = make(RIGHT)
    # On a loaded machine a shorter call is lost in what it costs to ask for it.
    race = replace(RACE, inputs=wide, case="244 x 2570")

    watch.verify(race)
    # A ratio so low that no machine misses it.
    watch.reach(lowered(RUNG), race)

    ((event, entry),) = watch.told  # type: ignore[attr-defined]
    assert event == "speed"
    assert (entry["task"], entry["group"], entry["case"]) == ("speed", "rows", "244 x 2570")
    assert entry["low"] <= entry["ratio"] <= entry["high"]
    assert entry["blocks"] == 2


def lowered(rung: Rung) -> Rung:
    tier = replace(rung.tier, ratio=1e-6)
    return Rung("speed", replace(rung.ladder, tiers=(tier,)), tier)


def raised(rung: Rung) -> Rung:
    tier = replace(rung.tier, ratio=1e12)  # less time than the clock can tell
    return Rung("speed", replace(rung.ladder, tiers=(tier,)), tier)


def test_race_is_measured_once_for_all_its_tiers(make: Make) -> None:
    watch = make(RIGHT)

    watch.reach(lowered(RUNG), RACE)
    with pytest.raises(Mismatch, match=r"not 1e\+12 times"):
        watch.reach(raised(RUNG), RACE)

    assert len(watch.told) == 1  # type: ignore[attr-defined]


def test_sizes_and_baseline_of_students_serve_a_race(make: Make) -> None:
    lab = load_lab(ROOT / "labs" / "06_layernorm")
    race = module_of(lab.speed_suite).forward(64, 257)
    watch = make(NORM, lab)  # type: ignore[call-arg]

    watch.verify(race)
    watch.reach(lowered(RUNG), race)

    ((_, entry),) = watch.told  # type: ignore[attr-defined]
    assert (entry["function"], entry["case"]) == ("layer_norm_forward", "64 x 257")
    assert entry["tiers"] == {"1e-06": True}
    with pytest.raises(Mismatch, match="layer_norm_forward had not left the right values"):
        make(NORM.replace("+ bias", "- bias"), lab).verify(race)  # type: ignore[call-arg]


CHEATS = {
    "stale": """
SEEN = []

def softmax(x):
    SEEN.append(torch.softmax(x, -1))
    return SEEN[0]
""",
    "by_address": """
SEEN = {}

def softmax(x):
    if x.data_ptr() not in SEEN:
        SEEN[x.data_ptr()] = torch.softmax(x, -1)
    return SEEN[x.data_ptr()]
""",
    "by_object": """
def softmax(x):
    if not hasattr(x, "answer"):
        x.answer = torch.softmax(x, -1)
    return x.answer
""",
    "zeros": """
def softmax(x):
    return torch.zeros_like(x)
""",
    "one_row_missing": """
def softmax(x):
    y = torch.softmax(x, -1)
    y[17] = 0
    return y
""",
    "rows_swapped": """
def softmax(x):
    return torch.softmax(x, -1).roll(1, 0)
""",
    "last_columns_missing": """
def softmax(x):
    y = torch.softmax(x, -1)
    y[:, 250:] = 0
    return y
""",
    "too_coarse": """
def softmax(x):
    y = torch.softmax(x, -1)
    return ((y * 32).round() / 32).to(x.dtype)
""",
    "late_thread": """
import threading, time

def fill(y, x):
    time.sleep(0.2)
    y.copy_(torch.softmax(x, -1))

def softmax(x):
    y = torch.empty_like(x)
    threading.Thread(target=fill, args=(y, x)).start()
    return y
""",
    "harness_without_copy": """
import sys

def softmax(x):
    sys._getframe(1).f_globals["keep"] = lambda result, slot: None
    return torch.softmax(x, -1)
""",
    "nan": """
def softmax(x):
    return torch.full_like(x, float("nan"))
""",
}


@pytest.mark.parametrize("name", CHEATS)
def test_work_that_is_not_done_is_seen(make: Make, name: str) -> None:
    watch = make(f"import torch\n{CHEATS[name]}")

    with pytest.raises(Mismatch):
        watch.reach(lowered(RUNG), RACE)


@pytest.mark.parametrize(
    "body", ["x.zero_()\n    return y", "x[3, 5] += 1\n    return y"], ids=["wiped", "one_element"]
)
def test_changed_argument_is_seen(make: Make, body: str) -> None:
    watch = make(f"import torch\n\ndef softmax(x):\n    y = torch.softmax(x, -1)\n    {body}\n")

    with pytest.raises(Mismatch, match="changed an argument"):
        watch.verify(RACE)


RULED = replace(LAB, rules=(Rule("write it yourself", forbid=("torch.softmax",)),))
# Which calls of its worker are by torch, is told below.
SOMETIMES = """
import torch

COUNT = 0

def softmax(x):
    global COUNT
    COUNT += 1
    if {when}:
        return torch.softmax(x, -1)
    y = (x.float() - x.float().amax(-1, keepdim=True)).exp()
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)
"""


def test_guard_looks_at_what_is_verified(make: Make) -> None:
    with pytest.raises(Forbidden, match=r"torch\.softmax"):
        make(SOMETIMES.format(when="True"), RULED).verify(RACE)


@pytest.mark.parametrize("when", ["True", "COUNT > 30"], ids=["always", "late"])
def test_guard_looks_at_races(make: Make, when: str) -> None:
    with pytest.raises(Forbidden, match=r"torch\.softmax"):
        make(SOMETIMES.format(when=when), RULED).reach(lowered(RUNG), RACE)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_guard_looks_between_blocks_that_are_drawn(
    make: Make, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr("grader.timing.trial.WATCHED_SHARE", share)
    watch = make(SOMETIMES.format(when="8 < COUNT < 30"), RULED)

    with pytest.raises(Forbidden) if share else contextlib.nullcontext():
        watch.reach(lowered(RUNG), RACE)


def test_guard_sees_the_submission_and_not_our_copies(make: Make) -> None:
    rule = Rule("write it yourself", aten=("sum", "copy_", "zeros*", "empty*", "detach"))

    watch = make(RIGHT, replace(LAB, rules=(rule,)))

    watch.verify(RACE)
    watch.reach(lowered(RUNG), RACE)


WATCHED = """
import _thread, threading, torch
from types import BuiltinFunctionType

COUNT = 0

def softmax(x):
    global COUNT
    if torch._C._len_torch_dispatch_stack():
        COUNT += 1
        if COUNT > {most}:
            raise RuntimeError("watched")
    else:
        assert isinstance(_thread.start_new_thread, BuiltinFunctionType)
        assert threading._profile_hook is None
        assert not torch.overrides._get_current_function_mode_stack()
    return (x.float() - x.float().logsumexp(-1, keepdim=True)).exp().to(x.dtype)
"""


@pytest.mark.parametrize(
    ("lab", "most"), [(LAB, 0), (RULED, 2)], ids=["nothing is forbidden", "something is"]
)
def test_what_is_timed_is_not_watched(
    make: Make, monkeypatch: pytest.MonkeyPatch, lab: Lab, most: int
) -> None:
    """The guard looks at one run of one call before all blocks, and at one after them."""
    monkeypatch.setattr("grader.timing.trial.WATCHED_SHARE", 0.0)

    make(WATCHED.format(most=most), lab).reach(lowered(RUNG), RACE)


KEEPS = """
import os, pathlib, torch

kernel = pathlib.Path(os.environ["TRITON_CACHE_DIR"], "ab12", "softmax.cubin")

def softmax(x):
    told = kernel.read_bytes() if kernel.exists() else b"new"
    kernel.parent.mkdir(parents=True, exist_ok=True)
    kernel.write_bytes(b"compiled")
    if told == b"{told}":
        raise RuntimeError("found what the other has compiled" if told != b"new" else "found none")
    return torch.softmax(x.float(), -1).to(x.dtype)
"""


def test_a_race_begins_with_the_kernels_of_the_test_of_its_size(make: Make) -> None:
    watch = make(KEEPS.format(told="none"))
    watch.verify(RACE)
    late = make(KEEPS.format(told="compiled"))
    late._student.handed_on_ = watch._student.handed_on_

    with pytest.raises(StudentError, match="found what the other has compiled"):
        late.reach(lowered(RUNG), RACE)
    with pytest.raises(StudentError, match="found none"):
        make(KEEPS.format(told="new")).reach(lowered(RUNG), RACE)


@pytest.mark.parametrize("result", ["y, y", "y[:-1]", "None", "y.tolist()"])
def test_result_of_another_form_is_an_error_of_the_submission(make: Make, result: str) -> None:
    watch = make(
        f"import torch\n\ndef softmax(x):\n    y = torch.softmax(x, -1)\n    return {result}\n"
    )

    with pytest.raises(StudentError):
        watch.verify(RACE)


def test_call_that_hangs_ends_at_the_deadline(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.timing.trial.COMPILE_SECONDS", 0.5)
    short = replace(LAB, limits=replace(LAB.limits, call_seconds=0.5))
    watch = make("import time\n\ndef softmax(x):\n    time.sleep(60)\n", short)
    monkeypatch.setattr(
        "grader.timing.trial.Lane.run.__kwdefaults__", {"null": False, "seconds": 0.5}
    )

    with pytest.raises(StudentTimeout):
        watch.reach(RUNG, RACE)


def test_ring_that_is_refused_is_given_back(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = make("import os\n\nos._exit(3)\n")
    closed: list[SharedMemory] = []
    monkeypatch.setattr(SharedMemory, "close", lambda self: closed.append(self))

    with pytest.raises(StudentCrashed):
        watch.verify(RACE)

    assert len(closed) == 1


def test_fault_of_the_baseline_is_ours(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = make(RIGHT)
    monkeypatch.setattr(
        "grader.timing.stopwatch.load_baseline",
        lambda lab: type("Zero", (), {"softmax": torch.zeros_like}),
    )

    with pytest.raises(JudgeError):
        watch.reach(RUNG, RACE)


def test_time_below_the_physical_floor_counts_as_missed_until_a_person_has_looked(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "grader.timing.stopwatch.Stopwatch._prepared", lambda self: Roofline(1e-6, 1.0)
    )
    watch = make(RIGHT)

    for _ in range(2):  # each tier of the race is missed
        with pytest.raises(Mismatch) as missed:
            watch.reach(RUNG, RACE)

    ((_, entry),) = watch.told  # type: ignore[attr-defined]
    assert str(missed.value) == f"{entry['suspicious']}: {UNTIL_LOOKED_AT}"
    assert re.fullmatch(
        r"the measurement of softmax at 61 x 257 is not plausible: \d+ us a call, where this GPU "
        r"takes 1000000000000 us to move the least that a call must",
        entry["suspicious"],
    )
