"""What a git host runs at each push to a student's repository: the public tests, by this judge.

One script says which labs were begun and grades them; each host's own file calls it.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from string import Template

from grader.course.rules.hosts import Kind
from grader.labs.lab import Lab

SCRIPT, TELL = "ci/on_push.sh", "ci/tell.py"
FILES = {
    Kind.GITHUB: ".github/workflows/public-tests.yml",
    Kind.GITLAB: ".gitlab-ci.yml",
    Kind.GITEA: ".gitea/workflows/public-tests.yml",
    Kind.FORGEJO: ".forgejo/workflows/public-tests.yml",
}
TEXTS = {
    Kind.GITHUB: "github.yml.txt",
    Kind.GITLAB: "gitlab.yml.txt",
    Kind.GITEA: "gitea.yml.txt",
    Kind.FORGEJO: "gitea.yml.txt",
}
RUNNERS = {Kind.FORGEJO: "docker"}  # labels that their own guides give a first runner
WORKFLOWS = (*FILES.values(), SCRIPT, TELL)


def workflow_files(kinds: Collection[Kind], labs: Sequence[Lab], branch: str) -> dict[str, bytes]:
    """Return the files by path in the tree; none where no host is named, or no lab has tests."""
    if not kinds or all(lab.is_manual for lab in labs):
        return {}
    found = {SCRIPT: _text("on_push.sh.txt", branch)}
    if any(kind is not Kind.GITLAB for kind in kinds):
        found[TELL] = Path(__file__).with_name("tell.py.txt").read_text(encoding="utf-8")
    for kind in kinds:
        found[FILES[kind]] = _text(TEXTS[kind], branch, RUNNERS.get(kind, "ubuntu-latest"))
    return {path: text.encode() for path, text in found.items()}


def _text(name: str, branch: str, runner: str = "") -> str:
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    return Template(text).substitute(branch=branch, runner=runner)
