"""A host that a student runs brings that student's own work, or nothing."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from stand_ins.git_hosts import Elsewhere, FilesAlone, Smart, prepare_files, serving
from stand_ins.remotes import Remote

from grader.course.git import git
from grader.course.grading.collecting.branch import doubts
from grader.course.grading.collecting.fetch import Bounds, Broken, fetched
from grader.errors import GitError

WHEN = datetime(2026, 10, 1, tzinfo=UTC)
CODE = "90_echo/echo.py"


@pytest.fixture
def bob(tmp_path: Path) -> Remote:
    found = Remote(tmp_path / "bob.git")
    found.history("main", ({CODE: "one"}, WHEN), ({CODE: "two"}, WHEN))
    return found


def code(repository: Path) -> str:
    return git("show", f"refs/heads/tip:{CODE}", folder=repository)


def test_a_host_that_speaks_gits_protocol_gives_all_of_a_history(
    bob: Remote, tmp_path: Path
) -> None:
    with serving(tmp_path, Smart) as host, fetched(f"{host}/bob.git", "main", Bounds()) as found:
        assert code(found) == "two"
        assert len(git("rev-list", "refs/heads/tip", folder=found).splitlines()) == 2
        assert not (found / "shallow").exists()
        assert [*doubts(found, [], [], WHEN)] == []


def test_a_host_leads_nobody_to_the_work_of_another_student(bob: Remote, tmp_path: Path) -> None:
    with serving(tmp_path, Elsewhere) as host:
        with pytest.raises(Broken, match="leads to another address, which may be anybody's"):
            with fetched(f"{host}/eve.git", "main", Bounds()):
                pass
        with pytest.raises(GitError, match="leads to another address"):
            git("ls-remote", f"{host}/eve.git", folder=tmp_path)


def test_a_host_that_gives_files_without_end_gives_none(bob: Remote, tmp_path: Path) -> None:
    prepare_files(bob.folder)

    with serving(tmp_path, FilesAlone) as host:
        with pytest.raises(Broken, match="serves files alone"):
            with fetched(f"{host}/bob.git", "main", Bounds()):
                pass


def test_a_history_that_is_cut_off_is_told(bob: Remote, tmp_path: Path) -> None:
    own, url = tmp_path / "own.git", bob.folder.as_uri()
    git("clone", "-q", "--bare", "--depth=1", "-b", "main", url, str(own), folder=tmp_path)

    with fetched(str(own), "main", Bounds()) as found:
        assert code(found) == "two"
        assert [*doubts(found, [], [], WHEN)] == [
            "not all of its history is here: nobody can tell by it whether its dates are true"
        ]
