"""A class in the demo course, which the commands are run on as a person runs them."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stand_ins.remotes import Remote

HERE = Path(__file__).parents[1]
DEMO = HERE / "demo"
LAB = "90_echo"
DATE = datetime(2026, 10, 1, 12, tzinfo=UTC)
# The command line, with the demo course in place of the repository's labs.
PROGRAM = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
sys.path[:0] = [{project!r}]
from grader.course.commands import classes as class_commands
class_commands.find_root = lambda: Path({demo!r})
from grader.cli.app import main
if __name__ == "__main__":
    sys.exit(main({arguments!r}))
"""


class DemoClass:
    """A course folder with a roster, and a remote with a branch for each student."""

    def __init__(self, folder: Path, work: Mapping[str, str | bytes], more: str = "") -> None:
        self.folder = folder / "course"
        self.folder.mkdir()
        self.remote = Remote(folder / "class.git")
        for student, code in work.items():
            self.remote.commit(f"student/{student}", {f"{LAB}/echo.py": code}, DATE)
        rows = "".join(f"{student},Name of {student}\n" for student in work)
        (self.folder / "roster.csv").write_text(f"id,name\n{rows}")
        (self.folder / "course.toml").write_text(
            f'title = "Demo"\n{more}\n[collect]\nremote = "{self.remote.folder}"\n'
        )

    @property
    def database(self) -> str:
        """The URL of the course's database."""
        return f"sqlite:///{self.folder}/course.db"

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command of ``lab``."""
        return subprocess.Popen(
            self.command(arguments),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"} | environment,
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """Run a command of ``lab``; return its exit code and what it said on both streams."""
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Return the command line that runs ``lab`` on the demo course."""
        text = PROGRAM.format(project=str(HERE.parent), demo=str(DEMO), arguments=list(arguments))
        return [sys.executable, "-c", text]
