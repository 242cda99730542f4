"""The rehearsal's course folder and remote, and the commands that are run in it."""

import csv
import io
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from answers import PER_DAY, Answer, Kind
from stand_ins.remotes import Remote

from grader.labs.lab import Lab

ROOT = Path(__file__).resolve().parent.parent.parent
COURSE = """\
title = "Rehearsal"
roster = "roster.csv"
mark = "best"

[publish]
remote = "{remote}"

[collect]
remote = "{remote}"

[deadlines]
{deadlines}
[late]
{late}
{more}"""
LATE = f"per_day = {PER_DAY}\ndays = 1\n"


SAID = ("--author", "A. Teacher", "--reason", "for the rehearsal")


class Failed(Exception):
    """A command did not do what it should."""


class School:
    """A course in a folder of its own."""

    def __init__(self, folder: Path, labs: Sequence[Lab], students: list[str]) -> None:
        self.folder = folder / "course"
        self.folder.mkdir(parents=True)
        self.labs = labs
        self.students = students
        self.remote = Remote(folder / "class.git")
        rows = "".join(f"{who},Student {who},{who}@example.org\n" for who in students)
        (self.folder / "roster.csv").write_text(f"id,name,email\n{rows}")
        self.late, self.more = LATE, ""
        self.due(datetime.now(UTC) + timedelta(days=1))

    @property
    def database(self) -> str:
        """The URL of the course's database."""
        return f"sqlite:///{self.folder}/course.db"

    def due(self, due: datetime) -> None:
        """Set the deadline of all labs."""
        self.deadline = due
        lines = "".join(f"{lab.number} = {due:%Y-%m-%dT%H:%M:%SZ}\n" for lab in self.labs)
        rules = {"late": self.late, "more": self.more}
        text = COURSE.format(remote=self.remote.folder, deadlines=lines, **rules)
        (self.folder / "course.toml").write_text(text)

    def set_rules(self, late: str, more: str) -> None:
        """Give the course another ``[late]``, and further tables."""
        self.late, self.more = late, more
        self.due(self.deadline)

    def hand_in(self, answers: Sequence[Answer]) -> None:
        """Commit every student's work onto what was published, then let the deadline pass."""
        due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
        self.due(due)
        for student in self.students:
            own = [answer for answer in answers if answer.student == student]
            if any(answer.kind is Kind.NOTHING for answer in own):
                continue
            branch = f"student/{student}"
            files = {name: data for answer in own for name, data in answer.files.items()}
            self.remote.commit(branch, files, due, onto="refs/heads/main^0")
            # What is late in one lab is beside the files of the other.
            if late := {name: data for answer in own for name, data in answer.late_files.items()}:
                date = due + timedelta(seconds=1)
                self.remote.commit(branch, late, date, onto=f"refs/heads/{branch}^0")
        time.sleep(max(0.0, (due + timedelta(seconds=2) - datetime.now(UTC)).total_seconds()))

    def marks(self) -> dict[str, dict[str, str]]:
        """Return the gradebook's rows, by student."""
        out = self.run("gradebook", "--csv", "wide")
        return {row["student"]: row for row in csv.DictReader(io.StringIO(out))}

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        """Start a command of ``lab`` in the course's folder."""
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        ours = {"PYTHONPATH": path, "NO_COLOR": "1"}
        return subprocess.Popen(
            [sys.executable, "-m", "grader", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | ours | environment,
        )

    def run(self, *arguments: str, codes: Sequence[int] = (0,), **environment: str) -> str:
        """Run a command and return what it printed; raises Failed on another exit code."""
        with self.start(*arguments, **environment) as process:
            out, err = process.communicate()
        if process.returncode not in codes:
            told = "\n".join([*out.splitlines()[-5:], *err.splitlines()[-15:]])
            raise Failed(f"lab {' '.join(arguments)}: exit code {process.returncode}\n{told}")
        return out
