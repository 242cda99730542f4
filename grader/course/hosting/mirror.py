"""The course's template on this machine, and git's way between it and the host.

The token stands in the environment of git alone, as a header for that host's address: on no command
line, in no file. Nothing is ever pushed by force, and no branch is deleted.
"""

import base64
from pathlib import Path
from urllib.parse import urlsplit

from grader.course.git import OWN, git
from grader.course.hosting.calls import AGAIN, Refused
from grader.course.hosting.token import Token
from grader.errors import GitError
from grader.text import visible_line

HEADS, TAGS = "refs/heads/", "refs/tags/"


class Mirror:
    """A bare repository in a temporary folder."""

    def __init__(self, folder: Path, user: str, token: Token) -> None:
        self.folder = folder
        self._token = token
        self._proof = base64.b64encode(f"{user}:{token.secret}".encode()).decode()
        folder.mkdir()
        git("init", "-q", "--bare", "--template=", "-b", "main", ".", folder=folder)

    def fetch(self, url: str) -> None:
        """Fetch all branches and tags of the host's template."""
        pairs = [f"{refs}*:{refs}*" for refs in (HEADS, TAGS)]
        self._git("fetch", "-q", "--no-tags", url, *pairs, url=url)

    def tip(self, branch: str) -> str:
        """Return the commit of a branch, "" if there is none."""
        line = ("for-each-ref", "--format=%(objectname)", f"{HEADS}{branch}")
        return git(*line, folder=self.folder)

    def contains(self, commit: str, branch: str) -> bool:
        """Whether a commit is one of a branch here."""
        line = ("merge-base", "--is-ancestor", commit, f"{HEADS}{branch}")
        try:
            git(*line, folder=self.folder, limits=OWN)
        except GitError:  # also of a commit that is not here at all
            return False
        return True

    def branches(self, url: str) -> dict[str, str]:
        """Return the branches of a repository at the host, with their commits."""
        lines = self._git("ls-remote", "--heads", url, url=url).splitlines()
        pairs = (line.split("\t", 1) for line in lines)
        return {name.removeprefix(HEADS): commit for commit, name in pairs}

    def push_all(self, url: str, branch: str) -> None:
        """Push a branch with the tags of its publications: all of them, or none."""
        tags = git("tag", "--list", f"published/{branch}/*", folder=self.folder).splitlines()
        pairs = [f"{HEADS}{branch}", *(f"{TAGS}{tag}" for tag in tags)]
        self._git("push", "-q", "--atomic", url, *(f"{ref}:{ref}" for ref in pairs), url=url)

    def push(self, url: str, branch: str, names: list[str]) -> None:
        """Push the commit of a branch here to some branches there, all of them or none."""
        pairs = [f"{HEADS}{branch}:{HEADS}{name}" for name in names]
        self._git("push", "-q", "--atomic", url, *pairs, url=url)

    def _git(self, *args: str, url: str) -> str:
        parts = urlsplit(url)
        env = {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"http.{parts.scheme}://{parts.netloc}/.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {self._proof}",
        }
        try:
            return git(*args, folder=self.folder, limits=OWN, env=env)
        except GitError as error:
            told = self._token.hidden_in(error.message).replace(self._proof, "[token]")
            shown = visible_line(f"{parts.scheme}://{parts.netloc}{parts.path}", 120)
            raise Refused(f"{shown}: {visible_line(told)}", 0, AGAIN) from None
