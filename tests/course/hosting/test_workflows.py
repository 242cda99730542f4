"""What hosts run at each push: valid by their schemas, and each step runs in a published tree."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from stand_ins.forge import Forge, serving
from stand_ins.forges import GiteaForge, GitHubForge, Requests
from stand_ins.instructors import PERSON, ROOT

from grader.course.config import load_course
from grader.course.git import git
from grader.course.publishing.beside.editors import CONTAINER, SETTINGS
from grader.course.publishing.beside.handing import Terms
from grader.course.publishing.beside.workflows import FILES, WORKFLOWS, workflow_files
from grader.course.publishing.repository import files_at
from grader.course.publishing.selection import select
from grader.course.publishing.tree import student_tree
from grader.course.rules.hosts import Kind
from grader.errors import CourseError
from grader.labs.lab import all_labs

LAB = "03_sampling"
CODE = f"labs/{LAB}/sampling.py"
Work = Mapping[str, bytes]  # by the name of the file
SCHEMAS = {kind: "vendor.github-workflows" for kind in Kind} | {Kind.GITLAB: "vendor.gitlab-ci"}
LABS = all_labs(ROOT)


@pytest.fixture(scope="session")
def tree() -> dict[str, bytes]:
    """What a student gets of lab 03, with the workflows of every host."""
    files = files_at(ROOT, "HEAD")
    terms = Terms(workflows=tuple(Kind))
    return student_tree(files, select(["3"], files), "T", terms=terms, branch="main")


def is_valid(text: bytes, schema: str, folder: Path) -> bool:
    # It builds a grammar when it is imported, which whoever collects tests need not wait for.
    check = pytest.importorskip("check_jsonschema.cli", reason='needs the extra "dev"').main
    testing = pytest.importorskip("click.testing", reason='needs the extra "dev"')
    file = folder / "file.yml"
    file.write_bytes(text)
    done = testing.CliRunner().invoke(check, ["--builtin-schema", schema, str(file)])
    assert done.exit_code in (0, 1), done.output
    return done.exit_code == 0


@pytest.mark.parametrize("kind", Kind)
def test_a_workflow_is_as_its_host_says(kind: Kind, tmp_path: Path) -> None:
    text = workflow_files([kind], LABS, "main")[FILES[kind]]

    assert is_valid(text, SCHEMAS[kind], tmp_path)
    broken = text.replace(b"  script:", b"  scrip:").replace(b"    runs-on:", b"    runs-in:")
    assert not is_valid(broken, SCHEMAS[kind], tmp_path)


@pytest.mark.parametrize("kind", Kind)
def test_the_courses_branch_is_left_alone(kind: Kind) -> None:
    text = workflow_files([kind], LABS, "handout").get(FILES[kind], b"").decode()

    assert 'branches-ignore: ["handout"]' in text or '!= "handout"' in text
    assert not re.search(r"\$(branch|runner)", text)


def test_without_a_host_there_is_none_and_the_course_names_some(tmp_path: Path) -> None:
    assert workflow_files([], LABS, "main") == {}
    file = tmp_path / "course.toml"
    file.write_text('title = "T"\n[publish]\nworkflows = ["gitlab", "github"]\n')
    assert load_course(file).workflows == (Kind.GITLAB, Kind.GITHUB)
    file.write_text('title = "T"\n[publish]\nworkflows = ["bitbucket"]\n')
    with pytest.raises(CourseError, match="'bitbucket' is none of github, gitlab, gitea"):
        load_course(file)


def test_a_published_tree_has_settings_for_editors(tree: Mapping[str, bytes]) -> None:
    assert tree.keys() >= {*WORKFLOWS}
    settings = json.loads(tree[SETTINGS])
    assert settings["python.testing.pytestArgs"] == ["labs"]
    assert "labs/conftest.py" in tree
    container = json.loads(tree[CONTAINER])
    target = container["postCreateCommand"].removeprefix("make ")
    assert f"\n{target}:" in tree["Makefile"].decode()


# The steps, run


class Push:
    """A student's repository at a host, to which work was pushed, and a machine that runs steps."""

    def __init__(self, forge: Forge, tree: Mapping[str, bytes], folder: Path, work: Work) -> None:
        self.forge = forge
        token = forge.account("ada-l")
        repo = forge.add("labs-s17")
        repo.members["ada-l"] = "push"
        made = folder / "made"
        for path, content in tree.items():
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_bytes(content)
        git("init", "-q", "-b", "main", folder=made)
        self._commit(made)
        git("push", "-q", str(repo.folder), "main", folder=made)
        git("switch", "-q", "-c", "student/s17", folder=made)
        for name, content in work.items():
            (made / "labs" / LAB / name).write_bytes(content)
        self._commit(made)
        git("push", "-q", str(repo.folder), "student/s17", folder=made)
        self.tip = git("rev-parse", "HEAD", folder=made)
        self.machine = folder / "machine"
        self.machine.mkdir()
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "GITHUB_SERVER_URL": forge.address,
            "GITHUB_API_URL": f"{forge.address}{forge.api}",
            "GITHUB_REPOSITORY": "course/labs-s17",
            "GITHUB_SHA": self.tip,
            "GITHUB_REF_NAME": "student/s17",
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "TOKEN": token,
            "OMP_NUM_THREADS": "1",
        }

    @staticmethod
    def _commit(folder: Path) -> None:
        git("add", "-A", folder=folder)
        git("commit", "-q", "-m", "Work", folder=folder, env=PERSON)

    def clone(self) -> None:
        """What a host does before the first step, where it does."""
        address = self.forge.address.replace("://", f"://x:{self.env['TOKEN']}@")
        url = f"{address}/course/labs-s17.git"
        git("clone", "-q", url, str(self.machine), folder=self.machine.parent)
        git("checkout", "-q", self.tip, folder=self.machine)

    def step(self, script: str) -> int:
        """Run a step by bash, as runners do; packages are there already."""
        venv = self.machine / ".venv"
        if not venv.exists() and (self.machine / "Makefile").exists():
            venv.symlink_to(ROOT / ".venv")
        script = script.replace("make setup", "true")
        line = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
        done = subprocess.run(line, cwd=self.machine, env=self.env, check=False)
        return done.returncode

    def text(self, name: str) -> str:
        return (self.machine / name).read_text()


Pushed = Callable[..., Push]


@pytest.fixture
def pushed(tree: Mapping[str, bytes], tmp_path: Path) -> Generator[Pushed]:
    made: list[Any] = []

    def push(kind: type[Forge], work: Work) -> Push:
        made.append(serving(kind(tmp_path / "host")))
        return Push(made[-1].__enter__(), tree, tmp_path, work)

    yield push
    for host in made:
        host.__exit__(None, None, None)


def begun(tree: Mapping[str, bytes]) -> Work:
    """The stub, of which a student has changed a line that changes nothing."""
    return {"sampling.py": tree[CODE] + b"\n# begun\n"}


def steps_of(tree: Mapping[str, bytes], kind: Kind) -> list[dict[str, Any]]:
    return yaml.safe_load(tree[FILES[kind]])["jobs"]["public"]["steps"]


def test_each_step_at_github_tells_a_right_answer(
    tree: Mapping[str, bytes], pushed: Pushed
) -> None:
    names = ("sampling.py", "PSEUDOCODE.md")
    right = {name: (ROOT / "solutions" / LAB / name).read_bytes() for name in names}
    push = pushed(GitHubForge, right)
    assert isinstance(push.forge, Requests)
    comments = push.forge.request("labs-s17", "student/s17")
    push.clone()
    codes: dict[str, int] = {}
    for step in steps_of(tree, Kind.GITHUB):
        if "run" in step:
            outputs = Path(push.env["GITHUB_OUTPUT"])
            labs = outputs.read_text().strip().removeprefix("labs=") if outputs.exists() else ""
            assert ("if" in step) == bool(labs)
            push.env["LABS"] = labs
            codes[step["name"]] = push.step(step["run"])

    assert codes == dict.fromkeys(codes, 0)
    assert len(codes) == 5
    assert push.env["LABS"] == "03"
    summary = Path(push.env["GITHUB_STEP_SUMMARY"]).read_text()
    assert summary.startswith("# Lab 03 · sampling\n\n**100 of 100 points**")
    assert [comment["body"] for comment in comments] == [f"<!-- public tests -->\n{summary}"]
    # The next push writes the same comment anew.
    (push.machine / "on_push.md").write_text("Later.\n")
    assert push.step("python3 ci/tell.py") == 0
    assert [comment["body"] for comment in comments] == ["<!-- public tests -->\nLater.\n"]


@pytest.mark.parametrize("kind", [Kind.GITEA, Kind.FORGEJO])
def test_each_step_at_gitea_fetches_grades_and_comments(
    tree: Mapping[str, bytes], pushed: Pushed, kind: Kind
) -> None:
    push = pushed(GiteaForge, begun(tree))
    assert isinstance(push.forge, Requests)
    comments = push.forge.request("labs-s17", "student/s17")
    steps = steps_of(tree, kind)

    assert push.step(steps[0]["run"]) == 0
    assert git("rev-parse", "HEAD", folder=push.machine) == push.tip
    assert push.env["TOKEN"] not in (push.machine / ".git" / "config").read_text()
    if kind is Kind.FORGEJO:  # its steps are the same
        assert steps == steps_of(tree, Kind.GITEA)
        return
    assert push.step(steps[1]["run"]) == 1
    assert push.step(steps[2]["run"]) == 0
    assert len(comments) == 1
    assert comments[0]["body"].endswith(push.text("on_push.md"))


def test_each_line_at_gitlab_leaves_what_it_shows(
    tree: Mapping[str, bytes], pushed: Pushed
) -> None:
    push = pushed(GiteaForge, begun(tree))
    push.clone()
    job = yaml.safe_load(tree[FILES[Kind.GITLAB]])["public tests"]

    assert push.step("\n".join(job["script"])) == 1

    assert push.text("on_push.md").startswith("# Lab 03 · sampling\n")
    assert [file.name for file in push.machine.glob(job["artifacts"]["reports"]["junit"])] == [
        "lab-03.xml"
    ]
    assert job["artifacts"]["paths"] == ["on_push.md"]


def test_where_nothing_was_begun_nothing_is_set_up(
    tree: Mapping[str, bytes], pushed: Pushed
) -> None:
    push = pushed(GiteaForge, begun(tree))
    push.clone()
    git("checkout", "-q", "origin/main", folder=push.machine)

    assert push.step('test -z "$(sh ci/on_push.sh begun | xargs)"') == 0
    # Of a history without the course's branch each lab may have been begun.
    git("update-ref", "-d", "refs/remotes/origin/main", folder=push.machine)
    git("remote", "remove", "origin", folder=push.machine)
    assert push.step('test "$(sh ci/on_push.sh begun | xargs)" = 03') == 0
