"""Commits of student trees, made in a throw-away repository."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.git import OWN, git
from grader.course.publishing.beside.handing import NO_TERMS, Terms
from grader.course.publishing.hidden import Files
from grader.course.publishing.repository import resolve
from grader.course.publishing.tree import student_tree
from grader.labs.lab import Lab
from grader.languages.language import Language


@dataclass(frozen=True, slots=True)
class Press:
    """What all branches of a publication are made from."""

    folder: Path  # the bare repository that the commits go to
    files: Files  # of the instructors' commit
    source: str  # its hash
    person: str  # "Name <address>"
    title: str
    terms: Terms = NO_TERMS
    language: Language = Language.ENGLISH

    def commit(
        self,
        branch: str,
        labs: Sequence[Lab],
        parent: str,
        number: int,
        held: frozenset[str] = frozenset(),
        withdrawn: Sequence[str] = (),
    ) -> tuple[str, str]:
        """Commit the tree of some labs on a branch, tag it, and return both names.

        ``held`` is given code that is left out; ``withdrawn`` are labs that it held before.
        """
        names = ", ".join(lab.name for lab in labs) or "no lab"
        did = f"Withdraw {', '.join(withdrawn)}" if withdrawn else f"Publish {names}"
        holds = f"Publication {number}: {names}"
        message = f"{did}\n\n{holds}, from {self.source[:12]}.\n"
        tag = f"published/{branch}/{number}"
        stream = [
            f"commit refs/heads/{branch}\ncommitter {self.person} now\n".encode(),
            data_command(message.encode()),
            f"from {parent}\n".encode() if parent else b"",
            tree_commands(self._files(branch, labs, held)),
            f"tag {tag}\nfrom refs/heads/{branch}\ntagger {self.person} now\n".encode(),
            data_command(f"{holds}\n".encode()),
        ]
        options = ("--quiet", "--date-format=now")
        git("fast-import", *options, folder=self.folder, limits=OWN, stdin=b"".join(stream))
        return resolve(self.folder, f"refs/heads/{branch}"), f"refs/tags/{tag}"

    def _files(self, branch: str, labs: Sequence[Lab], held: frozenset[str]) -> dict[str, bytes]:
        said = self.title, held, self.terms, branch, self.language
        return student_tree(self.files, labs, *said)


def identity(root: Path) -> str:
    """Return who made the commit that is published: its committer publishes it."""
    return git("log", "-1", "--format=%cn <%ce>", "HEAD", folder=root)


def tree_commands(files: Mapping[str, bytes]) -> bytes:
    """Return what makes a commit of ``git fast-import`` hold these files, by path, alone."""
    parts = [b"deleteall\n"]
    for path, content in files.items():
        parts += [f"M 100644 inline {path}\n".encode(), data_command(content)]
    return b"".join(parts)


def data_command(content: bytes) -> bytes:
    """Return bytes as ``git fast-import`` takes them."""
    return b"data %d\n%b\n" % (len(content), content)
