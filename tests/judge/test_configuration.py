"""What a session is told: it is the same on the other side, and holds what was asked for."""

import json
from dataclasses import replace
from pathlib import Path

from stand_ins.expectation import find

from grader.judge.grade import worker_setting
from grader.judge.setup.configuration import Configuration, Run
from grader.judge.setup.request import Request

LAB = find("90_echo")


def test_configuration_crosses_whole() -> None:
    setting = worker_setting(LAB, Path("/stage"), {"target": Path("/model")}, "cpu", "none")
    request = Request(LAB, suite="public", tasks=("store", "scale"), until_lost=True, meters=True)
    run = Run.of(request, "cpu", 5, {"loop": "rules[loop]"}, {"gpu": "there is none"})
    chosen = frozenset({"public test_a", "public test_b"})
    run = replace(run, fatal={"hidden test_a": "memory"}, compiles=True, tests=chosen)
    configuration = Configuration(run, setting, "code = 1\n", "/group")

    assert Configuration.from_json(json.loads(configuration.encode())) == configuration


def test_workers_are_for_tasks_that_are_asked_for_and_not_closed() -> None:
    run = Run.of(Request(LAB), "cpu", 5, {"loop": "rules[loop]"}, {"gpu": "there is none"})

    assert run.open_tasks == {"scale", "store"}
    assert replace(run, tasks=frozenset({"loop", "store"})).open_tasks == {"store"}
