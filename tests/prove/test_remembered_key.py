"""The key of a grading: what is asked for, this machine, and the files that count."""

import os
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
import test_remembered
from stand_ins.import_graph import ROOT, graph
from test_remembered import graded

from grader.judge.setup.request import Request
from grader.labs.lab import Lab, find_lab
from grader.prove.remembered import key
from grader.prove.remembered.key import Keys, counted, machine

lab, _machine = test_remembered.lab, test_remembered._machine

ASKED = {
    "seed": 2,
    "sandbox": "auto",
    "suite": "public",
    "tasks": {"double"},
    "tests": {"hidden test_double"},
    "until_lost": True,
    "compiles": True,
    "meters": True,
    "repeats": ("test_public",),
    "repeats_into": "there",
    "questions": 10.0,
    "students": ("zeno",),
}


def test_whatever_else_is_asked_for_has_another_key(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key, "choose_level", lambda wanted: (wanted, ""))
    keys = Keys([lab], lab.root)
    plain = Request(lab, lab.solutions, "cpu", 1, "none")
    others = [replace(plain, **{name: value}) for name, value in ASKED.items()]
    others += [replace(plain, source=lab.folder)]

    found = {keys.of(request, "quick") for request in (plain, *others)}

    assert {"lab", "source", "device", *ASKED} == {each.name for each in fields(Request)}
    assert len(found | {keys.of(plain, "whole")}) == len(others) + 2
    assert None not in found


def test_what_is_timed_or_drawn_anew_has_no_key(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys([lab], lab.root)
    plain = Request(lab, lab.solutions, "cpu", 1, "none")

    assert keys.of(replace(plain, seed=None), "quick") is None
    assert keys.of(replace(plain, source=lab.root / "nothing.py"), "quick") is None
    monkeypatch.setattr(key, "choose_device", lambda wanted, ranks: "cuda")
    assert keys.of(plain, "quick") is None


# The machine


def other_packages(patch: pytest.MonkeyPatch) -> None:
    found = [*key.packages()]
    torch = next(line for line in found if line.startswith("torch "))
    patch.setattr(key, "packages", lambda: [line + "+1" * (line == torch) for line in found])


MACHINES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a package": other_packages,
    "python": lambda patch: patch.setattr(sys, "version", sys.version + "+"),
    "the processor": lambda patch: patch.setattr(key, "_processor", lambda: {"flags: few"}),
    "the cores": lambda patch: patch.setattr(os, "sched_getaffinity", lambda _: {*range(999)}),
    "the user": lambda patch: patch.setattr(os, "getuid", lambda: 4711),
    "control groups": lambda patch: patch.setattr(key.limits, "detect", lambda: "none at all"),
    "what shadows bwrap": lambda patch: patch.setattr(key, "_tool", lambda name: [name]),
    "PATH": lambda patch: patch.setenv("PATH", os.environ["PATH"] + ":/nowhere"),
    "MODEL": lambda patch: patch.setenv("MODEL", "/nowhere"),
    "INFERLAB_UIDS": lambda patch: patch.setenv("INFERLAB_UIDS", "70000:64"),
    "CUDA_VISIBLE_DEVICES": lambda patch: patch.setenv("CUDA_VISIBLE_DEVICES", "7"),
}


@pytest.mark.parametrize("differ", MACHINES.values(), ids=MACHINES)
def test_another_machine_grades_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, differ: Callable[[pytest.MonkeyPatch], None]
) -> None:
    everything = graded(lab)

    with monkeypatch.context() as patch:
        differ(patch)
        patch.setattr(key, "machine", machine)

        assert graded(lab) == everything
    assert graded(lab) == []


def test_what_reaches_no_process_of_ours_does_not_count(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    graded(lab)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setattr(key, "machine", machine)

    assert graded(lab) == []


def test_a_tool_counts_by_its_content_not_by_when_it_was_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found: list[object] = []
    for content in ("#!/bin/sh\n", "#!/bin/sh\n", "#!/bin/sh\nexit 1\n"):
        tool = tmp_path / "bwrap"
        tool.unlink(missing_ok=True)
        tool.write_text(content)
        tool.chmod(0o755)
        os.utime(tool, (len(found), len(found)))
        found.append(machine()["tools"])

    assert found[0] == found[1] != found[2]


# The whole tree


def test_what_counts_imports_nothing_that_does_not() -> None:
    files = {*counted(find_lab("3", ROOT))}
    below = {name: others for name, others in graph("grader", "reference").items()}
    inside = {name for name in below if is_counted(name, files)}

    assert {"grader.judge.session", "grader.prove.forking.forked", "grader.worker.boot"} <= inside
    assert {"grader.suites.test_03_sampling", "reference.sampling"} <= inside
    assert "grader.suites.test_04_rope" not in inside
    assert {other for name in inside for other in below[name]} <= inside


def is_counted(name: str, files: set[Path]) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return bool({place / "__init__.py", place.with_suffix(".py")} & files)


def test_a_checkpoint_that_stands_in_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.json"
    config.write_text("{}")
    monkeypatch.setenv("MODEL", str(tmp_path))

    assert config in counted(find_lab("1", ROOT))
