"""A class in the demo course, which the commands are run on as a person runs them.

Its lab has the first task alone: a grading takes one worker, not three.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stand_ins.planted import keep_first_task
from stand_ins.programs import Programs
from stand_ins.remotes import Remote

HERE = Path(__file__).parents[1]
DEMO = HERE / "demo"
LAB = "90_echo"
DATE = datetime(2026, 10, 1, 12, tzinfo=UTC)
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
# The command line, with the demo course in place of the repository's labs.
PROGRAM = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
sys.path[:0] = [{project!r}]
from grader.course.commands import classes, grading
classes.find_root = grading.find_root = lambda: Path({demo!r})
from grader.cli.app import main
if __name__ == "__main__":
    sys.exit(main({arguments!r}))
"""


class DemoClass:
    """A course folder with a roster, and a remote with a branch for each student."""

    def __init__(
        self,
        folder: Path,
        programs: Programs,
        work: Mapping[str, str | bytes],
        more: str = "",
    ) -> None:
        self._programs = programs
        self._labs = Path(shutil.copytree(DEMO, folder / "demo"))
        keep_first_task(self._labs)
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
            [sys.executable, "-c", self._program(arguments)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | ENVIRONMENT | environment,
        )

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """Run a command of ``lab``; return its exit code and what it said on both streams."""
        whole = os.environ | ENVIRONMENT | environment
        done = self._programs.run(self._program(arguments), self.folder, whole)
        return done.returncode, done.stdout, done.stderr

    def _program(self, arguments: Sequence[str]) -> str:
        labs, project = str(self._labs), str(HERE.parent)
        return PROGRAM.format(project=project, demo=labs, arguments=list(arguments))
