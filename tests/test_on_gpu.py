"""``make test-gpu`` without a GPU: its jobs, how it goes on, and the page that it writes."""

import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import run_on_gpu
from stand_ins import gpu_ledger
from stand_ins.gpu_grader import Grader
from stand_ins.gpu_jobs import Job, environment, jobs
from stand_ins.gpu_ledger import Entry, Machine

from grader import ROOT
from grader.labs.lab import all_labs

MACHINE = Machine("NVIDIA H1", 2, 4, "580", "3.12.3", "2.11.0", "3.6.0", "abc1234", "2026-11-27")


@pytest.fixture(scope="module")
def every() -> list[Job]:
    return jobs()


def entry(job: str, code: int = 0) -> Entry:
    return Entry(job, " ".join(job.split()[:2]), code, 1.5, "what it said")


def printing(name: str, text: str, *, all_gpus: bool = False, code: int = 0) -> Job:
    body = f"import os, sys; print({text}); sys.exit({code})"
    return Job(name, (sys.executable, "-c", body), all_gpus)


def test_every_right_and_wrong_answer_is_a_job_and_right_ones_come_first(every: list[Job]) -> None:
    names = [job.name for job in every]
    answers = [*ROOT.glob("solutions/*/wrong/*.py"), *ROOT.glob("solutions/*/variants/*.py")]
    first_wrong = next(place for place, name in enumerate(names) if " wrong/" in name)

    assert len({*names}) == len(names)
    assert all(f"check {f.parts[-3][:2]} {f.parent.name}/{f.name}" in names for f in answers)
    assert not any("variants/" in name or "solution" in name for name in names[first_wrong:])


def test_groups_of_ranks_have_every_gpu(every: list[Job]) -> None:
    groups = {lab.number for lab in all_labs(ROOT) if lab.limits.ranks > 1}

    assert {int(job.name.split()[1]) for job in every if job.all_gpus} == groups


def test_what_is_timed_and_what_needs_a_gpu_is_among_the_jobs(every: list[Job]) -> None:
    kinds = Counter(job.kind for job in every)

    assert {"exploits", "hidden", "tests"} <= {*kinds}
    assert any(job.name.startswith("exploits clock/") for job in every)
    assert any(job.name.startswith("exploits gpu/") for job in every)


def test_parts_are_all_jobs_once(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    for part in ("1/3", "2/3", "3/3"):
        assert run_on_gpu.main(["--list", "--part", part, "exploits *"]) == 0
        told += capsys.readouterr().out.splitlines()

    assert sorted(told) == sorted(job.name for job in jobs(["exploits *"]))


def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        code = run_on_gpu.main(["--ledger", str(tmp_path / "l"), "exploits *"])

    assert code == 3
    assert "shows no NVIDIA GPU" in capsys.readouterr().err


def test_each_job_sees_its_own_gpu_and_groups_see_all(tmp_path: Path) -> None:
    seen = "os.environ['CUDA_VISIBLE_DEVICES']"
    left = [printing(f"check 01 {n}", seen) for n in range(6)]
    left.append(printing("check 08 x", seen, all_gpus=True))
    ledger = tmp_path / "ledger"

    run_on_gpu.Round(MACHINE, ledger, time.monotonic() + 60).run(left)

    found = gpu_ledger.remembered(ledger, MACHINE)
    assert found.pop("check 08 x").said.split() == ["0,1"]
    assert {one.said.strip() for one in found.values()} <= {"0", "1"}
    assert len(found) == 6
    assert environment([1])["CUDA_VISIBLE_DEVICES"] == "1"


def test_answers_are_graded_side_by_side_and_held_against_what_they_should_earn() -> None:
    grader = Grader(environment([0]), 2, "cpu")
    answers = ["04 solution", "04 stub", "04 wrong/no_such.py"]

    with ThreadPoolExecutor(3) as pool:
        told = [*pool.map(lambda answer: grader.ask(answer, 240), answers)]
    grader.close()

    assert [one["answer"] for one in told] == answers
    assert [one["code"] for one in told] == [0, 0, 2]
    assert told[2]["said"] == "KeyError: 'wrong/no_such.py'"


def test_job_whose_grader_ends_has_failed() -> None:
    grader = Grader({**environment([0]), "PYTHONHOME": "/nonexistent"}, 1, "cpu")

    ended = run_on_gpu.graded(Job("check 04 solution"), grader)
    grader.close()

    assert ended.code == 124
    assert "ended" in ended.said


def test_no_job_begins_after_its_time(tmp_path: Path) -> None:
    run_on_gpu.Round(MACHINE, tmp_path / "l", time.monotonic() - 1).run([printing("a b", "1")])

    assert gpu_ledger.remembered(tmp_path / "l", MACHINE) == {}


def test_job_that_hangs_is_ended_and_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Job, "seconds", 1)
    job = Job(
        "check 01 x", (sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)")
    )

    ended = run_on_gpu.run(job, range(1))

    assert ended.code == 124
    assert ended.said.split("\n")[-1] == "ended after 1 s"


def test_what_has_passed_in_this_state_on_such_a_machine_is_known(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    for machine, job, code in (
        (MACHINE, "check 01 a", 1),
        (MACHINE, "check 01 a", 0),
        (replace(MACHINE, state="def5678"), "check 01 b", 0),
        (replace(MACHINE, gpus=4), "check 01 c", 0),
        (MACHINE, "check 01 d", 3),
    ):
        gpu_ledger.remember(ledger, machine, entry(job, code))

    found = gpu_ledger.remembered(ledger, MACHINE)

    assert {name: one.code for name, one in found.items()} == {"check 01 a": 0, "check 01 d": 3}


def test_the_page_has_a_section_of_each_kind_of_machine() -> None:
    ended = [entry("check 01 a"), entry("check 02 b", 1)]
    kinds = ["check 01", "check 02", "check 02", "tests"]
    text = gpu_ledger.section(MACHINE, ended, kinds)
    other = replace(MACHINE, gpus=4)

    page = gpu_ledger.into("", MACHINE, text)
    page = gpu_ledger.into(page, other, gpu_ledger.section(other, ended, kinds))
    page = gpu_ledger.into(page, MACHINE, gpu_ledger.section(MACHINE, ended[:1], kinds))

    assert "| check 02 | 2 | 0 | 1 | 1 | 2 |" in text
    assert "| tests | 1 | 0 | 0 | 1 | 0 |" in text
    assert "- failed: `check 02 b`" in text
    assert page.count("## 2 x NVIDIA H1") == page.count("## 4 x NVIDIA H1") == 1
    assert page.count("- failed") == 1  # of the one whose section was not written anew
    assert page.startswith("# What was proven on GPUs\n")
