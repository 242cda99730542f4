"""lab publish: what students get, a history that only grows, and nothing of others overwritten."""

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from stand_ins.instructors import ROOT, append, commit, make_remote, make_repository, write

import grader.course.commands.author
import grader.course.publishing.publish
from grader.cli.app import main
from grader.course.git import git
from grader.course.publishing.beside.editors import EDITORS
from grader.course.publishing.publish import Order, Outcome, publish
from grader.errors import UsageError

TITLE = "Inference, autumn 2026"
LAB_90 = {f"labs/90_echo/{name}" for name in ("README.md", "lab.toml", "echo.py", "test_echo.py")}
LAB_90 |= {"labs/90_echo/PSEUDOCODE.md"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "instructors")


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return make_remote(tmp_path / "students.git")


Send = Callable[..., Outcome]


@pytest.fixture
def send(root: Path, remote: Path) -> Send:
    def call(*labs: str, branch: str = "main", **options: bool) -> Outcome:
        return publish(root, Order(labs, str(remote), branch, TITLE), **options)

    return call


def refs(remote: Path) -> list[str]:
    return git("for-each-ref", "--format=%(refname)", folder=remote).splitlines()


def state(remote: Path) -> str:
    return git("for-each-ref", folder=remote)


def paths(remote: Path, name: str = "main") -> set[str]:
    return set(git("ls-tree", "-r", "--name-only", name, folder=remote).splitlines())


def text(remote: Path, path: str, name: str = "main") -> str:
    return git("cat-file", "blob", f"{name}:{path}", folder=remote)


# What students get


def test_students_get_the_lab_the_judge_and_nothing_else(send: Send, remote: Path) -> None:
    outcome = send("90")

    assert outcome.leaks == ()
    assert paths(remote) == LAB_90 | {
        *("labs/common.py", "grader/__init__.py", "grader/cli/app.py", "Makefile", "README.md"),
        *("LICENSE", "constraints.txt", "pyproject.toml", ".gitignore", "published.toml"),
        *("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursor/rules/course.mdc"),
        *(".github/copilot-instructions.md", "README.zh.md"),
        *EDITORS,
    }
    assert 'branch = "main"\nhand_in = "student/{id}"' in text(remote, "published.toml")
    makefile = text(remote, "Makefile")
    assert "\ngrade: " in makefile
    for target in ("test", "check", "lint", "types", "bench-kernels", "bench-engine", "chat"):
        assert f"\n{target}: " not in makefile
    readme = text(remote, "README.md")
    assert readme.startswith(f"# {TITLE}\n")
    assert "make grade LAB=90" in readme


def test_a_commit_counts_and_not_the_folder(send: Send, root: Path, remote: Path) -> None:
    write(root, "labs/90_echo/notes.txt", "not for students")
    append(root, "grader/suites/test_90_echo.py", "# uncommitted, and not published anyway\n")
    send("90")

    assert "labs/90_echo/notes.txt" not in paths(remote)


def test_what_would_be_left_out_stops_it(send: Send, root: Path, remote: Path) -> None:
    append(root, "labs/90_echo/README.md", "One more sentence.\n")
    with pytest.raises(UsageError, match=r"^not committed: labs/90_echo/README\.md$") as caught:
        send("90")

    assert "commit" in caught.value.hint
    assert refs(remote) == []
    send("92")  # the change is in no path of this lab
    assert "labs/92_ranks/ranks.py" in paths(remote)


def test_given_code_comes_with_the_lab_that_names_it(send: Send, root: Path, remote: Path) -> None:
    write(root, "labs/chat.py", "from labs import engine\nfrom labs.common import EchoConfig\n")
    write(root, "labs/engine.py", "answer = 1\n")
    toml = (root / "labs/92_ranks/lab.toml").read_text()
    write(root, "labs/92_ranks/lab.toml", 'given = ["engine"]\n' + toml.replace("given = []\n", ""))
    commit(root, "Give an engine")

    send("90")
    assert not {"labs/engine.py", "labs/chat.py"} & paths(remote)
    send("92")
    assert {"labs/engine.py", "labs/chat.py"} <= paths(remote)
    assert "\nchat: " in text(remote, "Makefile")


@pytest.fixture
def answering(root: Path) -> Path:
    """A repository in which lab 92 is given what answers lab 90, and a program needs it."""
    write(root, "labs/echo.py", "answer = 1\n")
    write(root, "labs/chat.py", "from labs import echo\n")
    toml = (root / "labs/92_ranks/lab.toml").read_text()
    write(root, "labs/92_ranks/lab.toml", 'given = ["echo"]\n' + toml.replace("given = []\n", ""))
    commit(root, "Give an answer")
    return root


@pytest.mark.parametrize(
    ("dates", "held"),
    [
        ("[deadlines]\n90 = 2999-01-01T00:00:00Z\n", True),
        ("[deadlines]\n90 = 2020-01-01T00:00:00Z\n", False),
        (
            "[deadlines]\n90 = 2020-01-01T00:00:00Z\n[extensions.ada]\n90 = 2999-01-01T00:00:00Z\n",
            True,
        ),
        ("", None),
    ],
)
def test_given_code_that_answers_an_open_lab_is_held_back(
    answering: Path,
    remote: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    dates: str,
    held: bool | None,
) -> None:
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: answering)
    monkeypatch.chdir(answering.parent)
    (answering.parent / "course.toml").write_text(f'title = "T"\n{dates}')
    order = ("publish", "--unproven", "90,92", "--to", str(remote), "--branch", "main")

    assert run(*order) == 0

    told = capsys.readouterr().err
    files = {"labs/echo.py", "labs/chat.py"}
    assert files & paths(remote) == (set() if held else files)
    assert "labs/92_ranks/ranks.py" in paths(remote)
    assert ("held back: labs/echo.py answers 90_echo, open until 2999-01-01 00:00 UTC" in told) is (
        held is True
    )
    assert ("warning: labs/echo.py is an answer to 90_echo" in told) is (held is None)
    if held:
        assert run(*order, "--give-away") == 0
        assert files <= paths(remote)
        assert "warning: labs/echo.py is an answer to 90_echo" in capsys.readouterr().err
        assert run(*order) == 0  # what is there stays
        assert files <= paths(remote)


def test_program_comes_with_the_handout_that_names_it(send: Send, root: Path, remote: Path) -> None:
    write(root, "labs/echoes.py", "from labs.common import EchoConfig\nTEXT = 'heard.txt'\n")
    write(root, "labs/unasked.py", "from labs.common import EchoConfig\n")
    for name in ("heard.txt", "heard.LICENSE.txt", "other.txt"):
        write(root, f"labs/checkpoints/{name}", "a text\n")
    append(root, "labs/92_ranks/README.md", "Run `python -m labs.echoes`.\n")
    commit(root, "Add programs")

    send("90")
    assert "labs/echoes.py" not in paths(remote)
    send("92")
    asked = {"labs/echoes.py", "labs/checkpoints/heard.txt", "labs/checkpoints/heard.LICENSE.txt"}
    assert asked <= paths(remote)
    assert not {"labs/unasked.py", "labs/checkpoints/other.txt"} & paths(remote)


def test_models_come_with_the_program_that_needs_them(send: Send, root: Path, remote: Path) -> None:
    write(root, "labs/echoes.py", 'CHECKPOINTS = ("loud", "quiet")\n')
    for name in ("loud", "quiet", "other"):
        write(root, f"labs/checkpoints/{name}/config.json", "{}")
    append(root, "labs/92_ranks/README.md", "Run `python -m labs.echoes`.\n")
    commit(root, "Add a program")

    send("90")
    assert not any(path.startswith("labs/checkpoints/") for path in paths(remote))
    send("92")
    models = {path for path in paths(remote) if path.startswith("labs/checkpoints/")}
    assert models == {f"labs/checkpoints/{name}/config.json" for name in ("loud", "quiet")}


def test_pages_on_kernels_come_with_a_lab_that_has_some(
    send: Send, root: Path, remote: Path
) -> None:
    pages = {"docs/triton.md", "docs/triton-interpreter.md", "docs/compile.md"}
    pages |= {"docs/pictures/blocks.svg"}
    for path in (*pages, "docs/trust.md", "docs/pictures/draw.py"):
        write(root, path, "text\n")
    commit(root, "Add pages")
    send("90")
    assert not pages & paths(remote)

    toml = (root / "labs/90_echo/lab.toml").read_text()
    write(
        root,
        "labs/90_echo/lab.toml",
        toml.replace('imports = ["torch"', 'imports = ["torch", "triton"'),
    )
    commit(root, "Let a lab have kernels")
    send("90")

    assert {path for path in paths(remote) if path.startswith("docs/")} == pages


def test_sizes_that_are_timed_come_with_their_lab(send: Send, root: Path, remote: Path) -> None:
    for name in ("__init__", "echo", "baseline_echo", "softmax"):
        write(root, f"labs/speed/{name}.py", '"""Some sizes."""\n')
    commit(root, "Add sizes")

    send("92")
    assert not any(path.startswith("labs/speed/") for path in paths(remote))
    send("90")
    found = {path for path in paths(remote) if path.startswith("labs/speed/")}
    assert found == {f"labs/speed/{name}.py" for name in ("__init__", "echo", "baseline_echo")}


# A history of its own


def test_the_next_lab_is_a_fast_forward_with_a_tag(send: Send, root: Path, remote: Path) -> None:
    send("90")
    first = git("rev-parse", "main", folder=remote)
    outcome = send("91-92")

    assert git("log", "--format=%H %P", "main", folder=remote).split() == [
        *(git("rev-parse", "main", folder=remote), first),
        first,
    ]
    assert refs(remote) == [
        "refs/heads/main",
        "refs/tags/published/main/1",
        "refs/tags/published/main/2",
    ]
    assert git("rev-parse", "published/main/2^{}", folder=remote) == outcome.publications[0].commit
    assert outcome.publications[0].labs == ("90_echo", "91_softmax", "92_ranks")
    assert paths(remote) >= LAB_90 | {"labs/91_softmax/softmax.py", "labs/92_ranks/ranks.py"}
    assert git("log", "-1", "--format=%an <%ae> %s", "main", folder=remote) == (
        "Ada Instructor <ada@example.org> Publish 90_echo, 91_softmax, 92_ranks"
    )


def test_nothing_new_is_no_publication(send: Send, remote: Path) -> None:
    send("90")
    before = state(remote)

    outcome = send("90")

    assert not outcome.publications[0].is_new
    assert state(remote) == before


def test_a_new_version_of_a_lab_is_the_next_commit(send: Send, root: Path, remote: Path) -> None:
    send("90")
    append(root, "labs/90_echo/README.md", "One more sentence.\n")
    commit(root, "Explain")

    send("90")

    assert text(remote, "labs/90_echo/README.md").endswith("One more sentence.")
    assert git("rev-list", "--count", "main", folder=remote) == "2"


def test_a_branch_per_lab(send: Send, remote: Path) -> None:
    send("90,92", branch="lab/{NN}")

    assert refs(remote) == [
        *("refs/heads/lab/90", "refs/heads/lab/92"),
        *("refs/tags/published/lab/90/1", "refs/tags/published/lab/92/1"),
    ]
    assert "labs/92_ranks/ranks.py" not in paths(remote, "lab/90")
    assert "labs/92_ranks/ranks.py" in paths(remote, "lab/92")


def test_a_dry_run_scans_and_pushes_nothing(send: Send, root: Path, remote: Path) -> None:
    assert LAB_90 <= send("90", dry_run=True).publications[0].files.keys()
    assert refs(remote) == []

    append(
        root,
        "labs/90_echo/README.md",
        "    values.append(row.clone())\nself._rows.append(row.clone())",
    )
    commit(root, "Say too much")
    assert send("90", dry_run=True).leaks


# Nothing of others is overwritten


def push(remote: Path, tmp_path: Path, *options: str, name: str = "notes.txt") -> None:
    """Push a commit to main, as somebody with a clone would."""
    clone = tmp_path / "clone"
    git("clone", "-q", str(remote), str(clone), folder=tmp_path)
    write(clone, name, "mine\n")
    commit(clone, "Add notes", *options)
    git("push", "-q", "-f", "origin", "HEAD:refs/heads/main", folder=clone)


def refuses(send: Send, remote: Path, *labs: str) -> UsageError:
    before = state(remote)
    with pytest.raises(UsageError) as caught:
        send(*labs)
    assert state(remote) == before
    return caught.value


def test_a_foreign_branch_is_left_alone(send: Send, remote: Path, tmp_path: Path) -> None:
    push(remote, tmp_path)

    error = refuses(send, remote, "90")

    assert error.message == f"the branch main of {remote} was not made by lab publish"
    send("90", branch="handout")
    assert "refs/heads/handout" in refs(remote)


def test_a_change_on_the_branch_is_left_alone(send: Send, remote: Path, tmp_path: Path) -> None:
    send("90")
    push(remote, tmp_path)

    error = refuses(send, remote, "91")

    assert f"the branch main of {remote} was changed after published/main/1" in error.message
    assert "by Ada Instructor: Add notes" in error.message


def test_a_rewritten_branch_is_left_alone_and_can_be_brought_back(
    send: Send, remote: Path, tmp_path: Path
) -> None:
    send("90")
    send("91")
    push(remote, tmp_path, "--amend")

    error = refuses(send, remote, "92")

    assert error.message == (
        f"the branch main of {remote} was rewritten: it no longer holds published/main/2"
    )
    last = error.hint.removeprefix("bring it back: git ").split("'")
    git("push", "-f", str(remote), last[1], folder=remote)
    send("92")
    assert "labs/92_ranks/ranks.py" in paths(remote)


def test_a_deleted_branch_is_named(send: Send, remote: Path) -> None:
    send("90")
    git("update-ref", "-d", "refs/heads/main", folder=remote)

    assert "was deleted after published/main/1" in refuses(send, remote, "91").message


@pytest.mark.parametrize("name", ["²", "x"])
def test_a_tag_that_is_no_publication_is_passed_over(send: Send, remote: Path, name: str) -> None:
    send("90")
    git("update-ref", f"refs/tags/published/main/{name}", "main", folder=remote)

    send("91")

    assert "refs/tags/published/main/2" in git("show-ref", folder=remote)


def test_two_publishers_at_once(send: Send, remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send("90")
    prepare = grader.course.publishing.publish.find_leaks

    def meanwhile(*args: object) -> object:
        monkeypatch.setattr(grader.course.publishing.publish, "find_leaks", prepare)
        send("92")
        return prepare(*args)

    monkeypatch.setattr(grader.course.publishing.publish, "find_leaks", meanwhile)
    with pytest.raises(UsageError, match="was changed while this was prepared") as caught:
        send("91")

    assert "publish again" in caught.value.hint
    assert git("rev-list", "--count", "main", folder=remote) == "2"
    assert "labs/91_softmax/softmax.py" not in paths(remote)
    send("91")
    assert {"labs/91_softmax/softmax.py", "labs/92_ranks/ranks.py"} <= paths(remote)


def test_two_first_publishers_at_once(
    send: Send, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = grader.course.publishing.publish.find_leaks

    def meanwhile(*args: object) -> object:
        monkeypatch.setattr(grader.course.publishing.publish, "find_leaks", prepare)
        send("92")
        return prepare(*args)

    monkeypatch.setattr(grader.course.publishing.publish, "find_leaks", meanwhile)
    with pytest.raises(UsageError, match="was changed while this was prepared"):
        send("91")

    assert "labs/91_softmax/softmax.py" not in paths(remote)


def test_all_branches_or_none(send: Send, remote: Path) -> None:
    hook = remote / "hooks" / "update"
    hook.write_text('#!/bin/sh\ncase "$1" in *lab/92) echo "not today" >&2; exit 1;; esac\n')
    hook.chmod(0o755)
    with pytest.raises(UsageError, match="did not take the branch"):
        send("90,92", branch="lab/{NN}")

    assert refs(remote) == []


def test_a_remote_with_the_instructors_own_history_is_refused(
    send: Send, root: Path, remote: Path
) -> None:
    git("push", "-q", str(remote), "HEAD:refs/heads/teachers", folder=root)

    error = refuses(send, remote, "90")

    assert "also holds refs/heads/teachers" in error.message
    assert "solutions" in error.message


def test_a_remote_goes_by_its_name_too(root: Path, remote: Path) -> None:
    git("remote", "add", "students", str(remote), folder=root)

    publish(root, Order(("90",), "students", "main", TITLE))

    assert LAB_90 <= paths(remote)


# Mistakes


@pytest.mark.parametrize(
    ("labs", "problem"),
    [
        (("77",), "there is no lab '77' in the last commit"),
        (("90-94",), "there is no lab '94' in the last commit"),
        (("92-90",), "92-90 counts backwards"),
        (("",), "which labs"),
        (("../90_echo",), "there is no lab"),
    ],
)
def test_a_wrong_lab_is_one_line(send: Send, remote: Path, labs: tuple[str], problem: str) -> None:
    assert problem in refuses(send, remote, *labs).message


@pytest.mark.parametrize(
    ("to", "problem"),
    [
        ("nowhere.git", "there is no repository at nowhere.git"),
        (".", "cannot be read"),
        ("--upload-pack=touch", "is no repository"),
        ("ext::sh -c 'touch /tmp/x'", "cannot be read"),
        ("ssh://nobody@localhost:9/x", "cannot be read"),
    ],
)
def test_a_wrong_remote_is_one_line(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        publish(root, Order(("90",), to, "main", TITLE))

    assert problem in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("branch", ["a b", "lab/{N}", "-f", "x..y", "HEAD"])
def test_a_wrong_branch_is_one_line(send: Send, remote: Path, branch: str) -> None:
    with pytest.raises(UsageError, match="is no name of a branch"):
        send("90", branch=branch)
    assert refs(remote) == []


def test_a_missing_file_is_named(send: Send, root: Path, remote: Path) -> None:
    (root / "labs/90_echo/test_echo.py").unlink()
    commit(root, "Lose the public tests")

    error = refuses(send, remote, "90")

    assert error.message.startswith("labs/90_echo/test_echo.py is not in the commit")


def test_a_folder_without_a_commit_is_one_line(tmp_path: Path, remote: Path) -> None:
    with pytest.raises(UsageError, match="has no commit to publish"):
        publish(tmp_path, Order(("90",), str(remote), "main", TITLE))


def test_an_extension_by_command_holds_a_lab_open_too(
    answering: Path,
    remote: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("sqlalchemy", reason='needs the extra "course"')
    from grader.course.database.records import Grant, GrantKind, Student
    from grader.course.database.store import Store

    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: answering)
    monkeypatch.chdir(answering.parent)
    rules = 'title = "T"\n[deadlines]\n90 = 2020-01-01T00:00:00Z\n'
    (answering.parent / "course.toml").write_text(rules)
    late, now = datetime(2999, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    with Store.open("sqlite:///course.db", answering.parent) as store:
        store.put_students([Student("ada", "Ada", "", "student/ada")])
        words = (late, True, "A. Teacher", "ill", now)
        store.add_grant(Grant("ada", "90_echo", GrantKind.EXTENSION, *words))

    assert run("publish", "--unproven", "90,92", "--to", str(remote), "--branch", "main") == 0

    assert "labs/echo.py" not in paths(remote)
    told = capsys.readouterr().err
    assert "held back: labs/echo.py answers 90_echo, open until 2999-01-01 00:00 UTC" in told


# The command


def run(*arguments: str) -> int:
    return main(list(arguments))


def test_the_course_says_where_to(
    root: Path, remote: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: root)
    monkeypatch.chdir(root.parent)
    write(
        root.parent,
        "course.toml",
        f'title = "{TITLE}"\n[publish]\nremote = "{remote.name}"\nbranch = "handout"\n',
    )

    assert run("publish", "90", "--unproven") == 0

    assert "handout of" in capsys.readouterr().err
    assert text(remote, "README.md", "handout").startswith(f"# {TITLE}")


def test_without_a_remote_the_command_asks(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: root)
    monkeypatch.chdir(tmp_path)

    assert run("publish", "90") == 2
    assert capsys.readouterr().err.startswith("error: where to?\nhint: give --to REMOTE")
    assert run("publish", "90", "--course", "gone.toml") == 2
    assert "there is no gone.toml" in capsys.readouterr().err


def test_a_leak_is_listed_and_exits_with_1(
    root: Path, remote: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: root)
    append(root, "labs/90_echo/README.md", "\n    self._rows.append(row.clone())\n")
    commit(root, "Say too much")

    assert run("publish", "90", "--to", str(remote)) == 1

    out, err = capsys.readouterr()
    assert out.startswith("labs/90_echo/README.md:6 (blob ")
    assert "is solutions/90_echo/echo.py:" in out
    assert "nothing was published" in err
    assert refs(remote) == []


def test_a_changed_stub_is_named(
    root: Path, remote: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: root)
    run("publish", "90", "--unproven", "--to", str(remote))
    append(root, "labs/90_echo/echo.py", "\n# a last word\n")
    commit(root, "Add a last word")
    capsys.readouterr()

    assert run("publish", "90", "--unproven", "--to", str(remote)) == 0

    err = capsys.readouterr().err
    assert "0 files added, 1 changed, 0 removed" in err
    assert "note: labs/90_echo/echo.py changed" in err


def test_a_clone_of_the_branch_grades(tmp_path: Path) -> None:
    """With the whole judge and a real lab: once, for it takes a grading."""
    source = tmp_path / "instructors"
    git("init", "-q", "-b", "main", str(source), folder=tmp_path)
    for name in ("labs", "grader", "bench", "reference", "solutions"):
        subprocess.run(["cp", "-r", str(ROOT / name), str(source / name)], check=True)
    for name in ("LICENSE", "Makefile", "constraints.txt", "pyproject.toml", ".gitignore"):
        write(source, name, (ROOT / name).read_text(encoding="utf-8"))
    commit(source, "Begin")
    remote = make_remote(tmp_path / "students.git")
    assert publish(source, Order(("3",), str(remote), "main", TITLE)).leaks == ()
    clone = tmp_path / "clone"
    git("clone", "-q", str(remote), str(clone), folder=tmp_path)
    answer = (ROOT / "solutions" / "03_sampling" / "sampling.py").read_text(encoding="utf-8")
    write(clone, "labs/03_sampling/sampling.py", answer)
    make = ["make", "grade", "LAB=3", "DEVICE=cpu", f"PYTHON={sys.executable}"]
    make.append("ARGS=--json report.json")

    done = subprocess.run(make, cwd=clone, capture_output=True, text=True)

    assert "Only the public tests were run" in done.stdout
    assert "95 of 100 points" in done.stdout  # the prompts were not answered
    assert (clone / "report.json").is_file()
    helped = subprocess.run(
        [sys.executable, "-m", "grader", "--help"], cwd=clone, text=True, capture_output=True
    )
    assert "grade " in helped.stdout
    assert "bench " in helped.stdout
    assert "publish" not in helped.stdout
