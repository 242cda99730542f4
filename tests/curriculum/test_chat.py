"""``make chat``: whose pieces it uses, and that with any of them the text stays the same."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from stand_ins.model_answers import solution

from labs import chat, pieces
from labs.assembly import Assembly, given_since
from labs.common import LlamaConfig, load_weights
from labs.pieces import Work

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "labs" / "checkpoints" / "target"
CONFIG = LlamaConfig.from_pretrained(TARGET)
# In bfloat16 the order of two sums already changes the text.
WEIGHTS = {name: tensor.float() for name, tensor in load_weights(TARGET).items()}
PIECES = {  # by lab: the tasks whose functions a text needs
    1: {"norm", "mlp", "attention"},
    2: {"pad"},
    3: {"filters", "sampler"},
    4: {"frequencies", "rotate"},
    5: {"static", "growing", "attend"},
}
PROMPT = [5, 9, 301, 7]


def works(**passed: set[str]) -> dict[int, Work]:
    """Work on labs, by names such as ``lab4``, of which these tasks pass."""
    return {
        int(name[3:]): Work(int(name[3:]), frozenset(tasks), solution(int(name[3:])))
        for name, tasks in passed.items()
    }


EVERYTHING = works(**{f"lab{number}": tasks for number, tasks in PIECES.items()})


def logits_of(model: Assembly) -> torch.Tensor:
    """The logits of a prompt and of two tokens after it, as ``chat.generate`` makes them."""
    caches = model.make_caches(len(PROMPT) + 2)
    found = [model(*model.lay_out(PROMPT, 0), caches)]
    for step in range(2):
        text, start = [40 + step], len(PROMPT) + step
        if caches is None:
            text, start = [*PROMPT, *range(40, 41 + step)], 0
        found.append(model(*model.lay_out(text, start), caches)[:, -1:])
    return torch.cat(found, 1)


def names(value: dict[int, Work] | set[str]) -> str:
    """Name a case by its tasks, in an order that is the same in every process."""
    if isinstance(value, dict):
        value = {task for work in value.values() for task in work.passed}
    return " ".join(sorted(value)) or "nothing"


@pytest.mark.parametrize(
    ("mine", "yours"),
    [
        ({}, set()),
        (works(lab1={"norm"}), {"norm"}),
        (works(lab1={"mlp", "attention"}), {"mlp", "attention"}),
        (works(lab2={"pad"}), {"padding"}),
        (works(lab4={"rotate"}), {"rotation"}),
        (works(lab4={"frequencies"}), set()),  # what would rotate by them?
        (works(lab4={"frequencies", "rotate"}), {"frequencies", "rotation"}),
        (works(lab5={"growing"}), {"cache"}),
        (works(lab5={"static"}), {"cache"}),
        (works(lab1={"attention"}, lab5={"attend"}), {"attention"}),
        (EVERYTHING, {"norm", "mlp", "attention", "padding", "rotation", "frequencies", "cache"}),
    ],
    ids=names,
)
def test_pieces_change_nothing(mine: dict[int, Work], yours: set[str]) -> None:
    model = Assembly(mine, CONFIG, WEIGHTS)

    got = logits_of(model)

    torch.testing.assert_close(got, logits_of(Assembly({}, CONFIG, WEIGHTS)), rtol=1e-3, atol=1e-3)
    assert {name for name, owner in model.owners.items() if owner.startswith("yours")} == yours


def test_later_lab_of_two_is_used() -> None:
    model = Assembly(works(lab1={"attention"}, lab5={"attend"}), CONFIG, WEIGHTS)

    assert model.owners["attention"] == "yours, lab 05"


def spoken(mine: dict[int, Work], *options: str) -> list[int]:
    model = Assembly(mine, CONFIG, WEIGHTS)
    return chat.generate(model, PROMPT, chat.parse(["", "--max-new-tokens", "12", *options]), mine)


def test_text_is_the_same_with_and_without_a_cache() -> None:
    assert spoken({}) == spoken(EVERYTHING) == spoken(works(lab5={"static"}))


def test_seed_decides_what_is_drawn() -> None:
    hot = ("--temperature", "1.5")

    assert spoken(EVERYTHING, *hot) == spoken(EVERYTHING, *hot)
    assert len({tuple(spoken(EVERYTHING, *hot, "--seed", str(seed))) for seed in range(4)}) > 1


def test_filters_of_lab_03_are_used() -> None:
    # Only the best token is left: hot or not, the text is the greedy one.
    assert spoken(EVERYTHING, "--temperature", "2", "--top-k", "1") == spoken({})


def test_text_is_told_with_owners_and_speed(capsys: pytest.CaptureFixture[str]) -> None:
    code = chat.main(["def main(", "--given", "--max-new-tokens", "3"])

    out, err = capsys.readouterr()
    assert code == 0
    assert out.startswith("def main(")
    assert "norm       given" in err
    assert "3 written: prefill" in err
    assert "decode" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "--given", "--top-k", "3", "--temperature", "1"], "--top-k needs your lab 03"),
        (["x", "--given", "--top-p", "0.5"], "--top-p needs your lab 03"),
        (["x", "--given", "--model", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_served_is_said(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat.main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with one lab, whose public tests pass as long as nobody asks twice."""
    folder = tmp_path / "labs" / "04_rope"
    folder.mkdir(parents=True)
    (folder / "rope.py").write_text("ANSWER = 1\n")
    (folder / "test_rope.py").write_text("")
    monkeypatch.setattr(pieces, "LABS", tmp_path / "labs")
    monkeypatch.setattr(pieces, "MEMORY", tmp_path / ".inferlab" / "pieces.json")
    return folder


def asked(monkeypatch: pytest.MonkeyPatch, answer: frozenset[str] | None) -> list[int]:
    calls: list[int] = []

    def ask(number: int) -> frozenset[str] | None:
        calls.append(number)
        return answer

    monkeypatch.setattr(pieces, "_ask_the_judge", ask)
    return calls


def test_judge_is_asked_once_for_each_state_of_a_file(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = asked(monkeypatch, {"rotate": "", "frequencies": "2 of 3 public tests fail, first x"})

    for _ in range(2):
        work = pieces.work_on(4)
        assert work.passed == {"rotate"}
        assert work.piece("rotate") is not None
        assert work.piece("rotate").ANSWER == 1  # type: ignore[union-attr]
        assert work.piece("frequencies") is None
        assert work.left_out("frequencies") == "2 of 3 public tests fail, first x"
    assert calls == [4]
    (lab / "rope.py").write_text("ANSWER = 2\n")
    assert pieces.work_on(4).module.ANSWER == 2  # type: ignore[union-attr]
    assert calls == [4, 4]


FAILED = {"id": "b", "task": "rotate", "verdict": "failed", "message": "off"}
UNWRITTEN = FAILED | {"verdict": "error", "message": "NotImplementedError: rotate"}
PASSED = FAILED | {"id": "a", "verdict": "passed", "message": ""}


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ([PASSED], ""),
        ([PASSED, FAILED], "1 of 2 public tests fail, first b"),
        ([UNWRITTEN, UNWRITTEN], "not written yet"),
        ([UNWRITTEN | {"id": "c"}, FAILED], "2 of 2 public tests fail, first b"),
    ],
)
def test_piece_that_is_left_out_says_why(
    lab: Path, monkeypatch: pytest.MonkeyPatch, tests: list[dict[str, str]], why: str
) -> None:
    earned = 0 if why else 60
    task = {"id": "rotate", "points": 60, "score": earned, "graded": True}
    report = json.dumps({"tasks": [task], "tests": tests})
    done = subprocess.CompletedProcess([], 1, stdout=report, stderr="")
    monkeypatch.setattr(pieces.subprocess, "run", lambda *_args, **_options: done)

    work = pieces.work_on(4)

    assert (work.left_out("rotate"), "rotate" in work.passed) == (why, not why)
    told = given_since({4: work}, [(4, "rotate")])
    assert told == (f"given; yours, lab 04: {why}" if "fail" in why else "given")


def spoil(memory: Path) -> None:
    memory.parent.mkdir(exist_ok=True)
    memory.write_text("not json")


@pytest.mark.parametrize("prepare", [lambda memory: None, spoil])
def test_lab_that_is_not_there_or_not_graded_has_no_pieces(
    lab: Path, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Path], None]
) -> None:
    prepare(pieces.MEMORY)
    calls = asked(monkeypatch, None)

    assert pieces.work_on(3).passed == frozenset()
    assert pieces.work_on(4).module is None
    assert pieces.work_on(4).module is None
    assert calls == [4, 4]  # what could not be graded is asked again


def test_judge_decides_whose_pieces_they_are(tmp_path: Path) -> None:
    # Two labs of them all: each that is there is graded.
    others = ("0[!14]_*", "1[0-9]_*")
    for part in ("grader", "labs"):
        ignored = shutil.ignore_patterns("suites", *others)
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignored)
    text = (ROOT / "solutions" / "04_rope" / "rope.py").read_text()
    (tmp_path / "labs" / "04_rope" / "rope.py").write_text(text)

    done = subprocess.run(
        [sys.executable, "-m", "labs.chat", "def main(", "--max-new-tokens", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("def main(")
    assert "rotation     yours, lab 04" in done.stderr
    assert "norm         given" in done.stderr
