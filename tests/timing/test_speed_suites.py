"""The sizes that students time are those that are graded, and each is a speed test alone."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import torch
from stand_ins.programs import Programs
from stand_ins.suites import module_of

from grader import ROOT
from grader.judge.plugin.items import suite_files
from grader.labs.lab import Lab, all_labs
from grader.timing.race import Race, load_baseline

LABS = [lab for lab in all_labs(ROOT) if lab.speed_suite.is_file()]
SESSION = """
import dataclasses, json
from pathlib import Path
from grader.sandbox.confinement import gpu
from grader.judge.setup.configuration import Run
from grader.judge.session import run_pytest
from grader.labs.lab import load_lab
from grader.proxy.conversation.calls import Calls
from grader.proxy.conversation.spent import Spent

class Student:
    spent_ = Spent()
    def turn_to_(self, task): pass
    def begin_(self, *args): pass
    def inspect_(self): pass
    def printed_(self): return ""
    def asked_(self): return set()
    def calls_(self): return Calls()
    def retire_(self): pass
    def close_(self): pass
    def take_compiled_(self): pass
    def give_compiled_(self): pass

class Stopwatch:
    def verify(self, race): emit("verify", [race.function, race.case])
    def reach(self, rung, race): emit("reach", [race.function, race.case, rung.ladder.name])

def emit(event, data):
    print(json.dumps([event, data], default=dataclasses.asdict))

lab = dataclasses.replace(load_lab(Path({lab!r})), name="66_without_suite")
run = Run(lab, seed=1, suite="speed", tasks=frozenset({{"speed"}}))
run_pytest(run, Student(), emit, Stopwatch())
"""


def public(lab: Lab) -> list[Race]:
    module = module_of(lab.speed_suite)
    if lab.number == 7:
        return module.RACES
    return [*module.FORWARD, *module.BACKWARD]


def graded(lab: Lab) -> list[Race]:
    suite = module_of(lab.hidden_suite)
    if lab.number == 7:
        (sizes,) = suite.SPEED.args[1:]
        return [suite.race(*size) for size in sizes]
    return [
        make(*size) for make in (suite.forward_race, suite.backward_race) for size in suite.SIZES
    ]


def told(race: Race) -> tuple[Any, ...]:
    work = race.bytes, race.flops, race.size, race.axis
    return (race.function, race.case, dict(race.options), race.compare, *work)


def test_labs_06_and_07_have_sizes_for_students() -> None:
    assert [lab.number for lab in LABS] == [6, 7]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.topic)
def test_races_of_students_are_those_that_are_graded(lab: Lab) -> None:
    assert [*map(told, public(lab))] == [*map(told, graded(lab))]


def test_small_races_draw_what_the_graded_ones_draw() -> None:
    for lab, size, names in (
        (LABS[0], (7, 33), [("forward", "forward_race"), ("backward", "backward_race")]),
        (LABS[1], (8, 16, 4, True), [("attention", "race")]),
    ):
        own, suite = module_of(lab.speed_suite), module_of(lab.hidden_suite)
        for name, theirs in names:
            drawn = [
                getattr(module, made)(*size).inputs(torch.Generator().manual_seed(3))
                for module, made in ((own, name), (suite, theirs))
            ]
            kinds = [[(t.shape, t.dtype, t.stride()) for t in tensors] for tensors in drawn]
            assert kinds[0] == kinds[1]


def test_the_baseline_takes_what_students_draw() -> None:
    lab = LABS[0]
    own, baseline = module_of(lab.speed_suite), load_baseline(lab)
    race = own.backward(7, 33)
    drawn = race.inputs(torch.Generator().manual_seed(3))
    dy, x, weight, mean, rstd = (tensor.float() for tensor in drawn)  # on a CPU, of one dtype

    dx, dweight, dbias = getattr(baseline, race.function)(dy, x, weight, mean, rstd)

    leaf = x.double().requires_grad_()
    torch.nn.functional.layer_norm(leaf, (33,), weight.double()).backward(dy.double())
    torch.testing.assert_close(dx.double(), leaf.grad, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(dbias.double(), dy.double().sum(0), atol=1e-4, rtol=1e-4)
    assert dweight.shape == weight.shape


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.topic)
def test_without_the_hidden_suite_students_sizes_are_what_is_timed(lab: Lab) -> None:
    assert suite_files(lab, "speed") == [lab.hidden_suite]
    assert suite_files(replace(lab, name="66_without"), "speed") == [lab.speed_suite]
    assert lab.speed_suite not in suite_files(lab, "all")


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.topic)
def test_each_race_is_verified_and_run_once_for_each_step(lab: Lab, programs: Programs) -> None:
    done = programs.run(SESSION.format(lab=str(lab.folder)), ROOT)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]

    races = [[race.function, race.case] for race in public(lab)]
    assert [data for event, data in events if event == "verify"] == races
    steps = {ladder.name: len(ladder.tiers) for ladder in lab.task("speed").ladders}
    reached = Counter(tuple(data) for event, data in events if event == "reach")
    assert {name[:2] for name in reached} == {*map(tuple, races)}
    assert all(count == steps[group] for (_, _, group), count in reached.items())
    assert len(reached) == len(races)
    verdicts = {data["verdict"] for event, data in events if event == "test"}
    assert verdicts == {"passed"}
