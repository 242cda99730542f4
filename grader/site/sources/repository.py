"""The repository as the site sees it: which files there are, and which of them anybody may read."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.publishing.hidden import is_hidden
from grader.errors import UsageError

CHINESE = ".zh.md"
ATTACKS = ("tests/field/", "tests/exploits/")  # they would tell how to pass, or to cheat
# What has a page of its own if another page links to it: no given code, which answers a lab
# that may still be open.
_SHOWN = re.compile(r"[^/]+|deploy/.+|labs/\d\d_[a-z0-9_]+/.+")


@dataclass(frozen=True, slots=True)
class Repository:
    """All files that git tracks, and new ones that it does not ignore; paths are from the root."""

    root: Path
    files: frozenset[str]

    def text(self, path: str) -> str:
        """Read a file; one that is hidden raises, whoever asks."""
        if is_kept(path):
            raise UsageError(f"{path} is no part of the site: only instructors may read it")
        return (self.root / path).read_text(encoding="utf-8")

    def may_show(self, path: str) -> bool:
        """Whether a file has a page of its own once something links to it."""
        return path in self.files and bool(_SHOWN.fullmatch(path)) and not is_kept(path)

    def sources(self) -> Sequence[str]:
        """Return the Markdown files that are pages, in English, in the order of their paths."""
        return sorted(path for path in self.files if is_page(path))

    def translated(self, path: str) -> str | None:
        """Return the Chinese file beside an English one; None where there is none."""
        beside = path.removesuffix(".md") + CHINESE
        return beside if beside in self.files else None


def read_repository(root: Path) -> Repository:
    """List the files of a clone; a folder that is none raises ``UsageError``."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise UsageError(f"{root} is no clone that git can list", "run make docs in one") from None
    paths = listed.decode().split("\0")
    return Repository(root, frozenset(path for path in paths if (root / path).is_file()))


def is_kept(path: str) -> bool:
    """Whether a file stays with the instructors: suites, answers, oracles, field bugs, exploits."""
    return is_hidden(path) or path.startswith(ATTACKS)


def is_page(path: str) -> bool:
    """Whether a file is a page of the English site."""
    folder, _, name = path.rpartition("/")
    if not name.endswith(".md") or name.endswith(CHINESE):
        return False
    if folder in ("", "docs"):
        return True
    return name == "README.md" and folder.partition("/")[0] == "labs"
