"""Bare repositories for tests: commits with the files and the dates that a test asks for."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from grader.course.git import git


class Remote:
    """A bare repository that a class pushes to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        git("init", "--bare", "--quiet", "--initial-branch=main", folder=folder)
        # As hosts have it: whoever fetches may leave large files out.
        git("config", "uploadpack.allowFilter", "true", folder=folder)

    def commit(
        self,
        branch: str,
        files: Mapping[str, bytes | str],
        date: datetime,
        *,
        onto: str = "",
        mode: str = "100644",
    ) -> str:
        """Put a commit on a branch and return its hash; without ``onto`` the branch starts anew."""
        stream = _commit(branch, files, date, onto, mode)
        git("fast-import", "--quiet", "--force", folder=self.folder, stdin=stream)
        return self.tip(branch)

    def history(self, branch: str, *commits: tuple[Mapping[str, str], datetime]) -> list[str]:
        """Put commits on a new branch, one after the other; return their hashes."""
        stream = b"".join(_commit(branch, files, date) for files, date in commits)
        git("fast-import", "--quiet", folder=self.folder, stdin=stream)
        ref = f"refs/heads/{branch}"
        return git("rev-list", "--reverse", ref, folder=self.folder).splitlines()

    def tip(self, branch: str) -> str:
        """Return the hash that a branch points to."""
        return git("rev-parse", f"refs/heads/{branch}", folder=self.folder)


def _commit(
    branch: str,
    files: Mapping[str, bytes | str],
    date: datetime,
    onto: str = "",
    mode: str = "100644",
) -> bytes:
    """Return a commit as fast-import reads it; it follows those before it in one stream."""
    seconds = int(date.timestamp())
    stream = [f"commit refs/heads/{branch}\ncommitter S <s@x> {seconds} +0000\n".encode()]
    stream.append(b"data 4\nwork\n")
    stream += [f"from {onto}\n".encode()] if onto else []
    for name, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        stream.append(f"M {mode} inline {name}\ndata {len(data)}\n".encode() + data + b"\n")
    return b"".join(stream)
