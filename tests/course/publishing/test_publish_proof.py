"""lab publish proves what students get anew: a lab that fails its model answer stays here."""

from pathlib import Path

import pytest
from stand_ins.instructors import append, commit, make_remote, make_repository
from stand_ins.isolation import require_sandbox

import grader.course.commands.author
from grader.cli.app import main
from grader.course.git import git
from grader.course.publishing.publish import Order, publish

TITLE = "Inference, autumn 2026"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = make_repository(tmp_path / "instructors")
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: made)
    return made


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "students.git")


def tags(remote: Path) -> list[str]:
    return git("tag", folder=remote).split()


def test_a_broken_lab_is_not_published_and_a_right_one_is(
    root: Path, remote: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require_sandbox()
    order = ["publish", "90", "--to", str(remote)]
    assert main(order) == 0
    assert "proving 90_echo: model answer and stub\n" in capsys.readouterr().err
    right = root / "solutions/90_echo/echo.py"
    kept = right.read_text()
    right.write_text(kept.replace("return", "return None and"))
    append(root, "labs/90_echo/README.md", "\nOne more word.\n")
    commit(root, "Break the model answer")

    assert main(order) == 1

    out, err = capsys.readouterr()
    assert "solutions/90_echo/echo.py: " in out
    assert err.endswith(
        "error: what students would get is broken; nothing was published\n"
        "hint: lab check LAB shows all; --unproven publishes all the same\n"
    )
    assert tags(remote) == ["published/main/1"]
    assert main([*order, "--dry-run"]) == 0
    assert "  not proven: 90_echo\n" in capsys.readouterr().err
    assert tags(remote) == ["published/main/1"]
    assert main([*order, "--unproven"]) == 0
    assert "  not proven: 90_echo\n" in capsys.readouterr().err
    assert tags(remote) == ["published/main/1", "published/main/2"]


def test_only_what_changed_is_asked_for(root: Path, remote: Path) -> None:
    asked: list[list[str]] = []

    def proven(names: object) -> bool:
        asked.append(list(names))  # type: ignore[call-overload]
        return True

    def send(labs: str) -> None:
        publish(root, Order((labs,), str(remote), "main", TITLE), proven=proven)

    send("90,92")
    send("90,92")
    append(root, "labs/92_ranks/README.md", "\nOne more word.\n")
    commit(root, "Say more")
    send("90")
    append(root, "labs/common.py", "\nMORE = 1\n")
    commit(root, "Give more")
    send("90")

    given = [["92_ranks"], ["90_echo"]]
    assert asked[0] == ["90_echo", "92_ranks"]
    assert asked[1:] == given


def test_what_leaks_is_not_proven_first(root: Path, remote: Path) -> None:
    append(root, "labs/90_echo/README.md", "\n    self._rows.append(row.clone())\n")
    commit(root, "Say too much")
    asked: list[object] = []

    order = Order(("90",), str(remote), "main", TITLE)
    outcome = publish(root, order, proven=lambda names: not asked.append(names))

    assert outcome.leaks
    assert asked == []
