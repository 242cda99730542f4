"""The magics of a lab: ``%lab 3``, ``%%task``, ``%check``, ``%grade``, ``%hint``, ``%submit``.

``%%task`` puts a cell in its place of the lab's file; every verdict is of the files, by the judge,
in a process of its own. A mistake of the student's is a line or two, no traceback of ours.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from IPython.core.error import StdinNotImplementedError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from grader.errors import InferlabError, UsageError
from grader.labs.documents import sections
from grader.labs.documents.cells import problem_of
from grader.labs.documents.places import first_line, placed_report
from grader.labs.lab import PSEUDOCODE, Lab, find_lab, find_root
from grader.languages.language import of_locale, say, speaking
from grader.notebook.agreed import Agreed, Changed
from grader.notebook.build import code_source
from grader.notebook.files import take_answers
from grader.notebook.judging import Judge
from grader.notebook.pictures import Pictures
from grader.notebook.verdict import Verdict
from grader.notebook.waiting import Waiting
from grader.notebook.work import Work
from grader.text import visible_line

NAME = "grader.notebook"  # as %load_ext has it
NO_LAB = UsageError("which lab is this?", "run the first cell: %lab 3")


def load(shell: Any) -> None:
    """Register the magics, once; the environment as it is then is the one that the judge gets."""
    if "LabMagics" not in shell.magics_manager.registry:
        shell.register_magics(LabMagics(shell, Judge.here()))

        def forget(*_: Any) -> None:
            # Else IPython says of a cell that is run twice that all of this is there already.
            shell.extension_manager.loaded.discard(NAME)

        shell.events.register("post_run_cell", forget)


@contextmanager
def told() -> Generator[None]:
    """Print an error of the student's or of this machine, with its hint, and go on."""
    try:
        yield
    except InferlabError as error:
        print(f"error: {visible_line(error.message, 1000)}")
        if error.hint:
            print(f"hint: {visible_line(error.hint, 1000)}")


@magics_class
class LabMagics(Magics):
    """The commands of one kernel."""

    def __init__(self, shell: Any, judge: Judge) -> None:
        super().__init__(shell)
        self._shell = shell
        self._judge = judge
        self._lab: Lab | None = None
        self._begins: dict[str, int] = {}  # by task, the line of its cell where the code begins

    @property
    def chosen(self) -> Lab:
        """The lab that was chosen; raises ``UsageError`` before."""
        if self._lab is None:
            raise NO_LAB
        return self._lab

    @line_magic
    def lab(self, line: str) -> None:
        """Say which lab this notebook is: ``%lab 3``."""
        with told():
            root = find_root()
            self._lab = lab = find_lab(line, root)
            for folder in (str(root), str(lab.folder)):
                if folder not in sys.path:
                    sys.path.append(folder)  # for labs.common; behind what the kernel has
            if "triton" in lab.imports and "triton" not in sys.modules and not _has_gpu():
                os.environ["TRITON_INTERPRET"] = "1"  # as the judge has it
            self._shell.push({"picture": Pictures(lab)})
            print(f"Lab {lab.number:02d} · {visible_line(lab.title)}")

    @cell_magic
    def task(self, line: str, cell: str) -> None:
        """Run a cell, and put it in place of its section of the lab's file."""
        with told():
            name = line.strip()
            known = sections.names(self.chosen)
            if name not in known:
                hint = f"its cells: {', '.join(known)}"
                raise UsageError(f"lab {self.chosen.number} has no task {name!r} to write", hint)
            text = cell.strip("\n")
            problem = problem_of(f"\n{cell}", name)
            if problem:
                raise UsageError(problem, "the file was left as it is")
            if self._may_replace(name, text):
                self._run(line, cell, name)
                work = Work(self.chosen)
                work.put(name, text)
                Agreed(self.chosen).keep({name: text})
                self._begins[name] = first_line(f"\n{cell}")
                print(f"{name}: written to {work.where(name)}")

    def _may_replace(self, name: str, text: str) -> bool:
        """Ask if the file's section is not what the cell was made from."""
        lab = self.chosen
        file = Work(lab).parts().get(name, "")
        if Agreed(lab).changed(name, text, file) in (Changed.NEITHER, Changed.CELL):
            return True
        print(f"{name} has changed in {lab.code_name} since this cell and the file were the same.")
        answer = self._ask("Keep the cell's text (c) or the file's (f)? [neither] ")
        if answer == "f":
            self._shell.set_next_input(code_source(name, file), replace=True)
            print("the cell has the file's text now: run it")
        elif answer != "c":
            print("nothing was replaced; answer c or f to decide")
        return answer == "c"

    def _run(self, line: str, cell: str, name: str) -> None:
        """Run a cell in the kernel; what it raises is raised, and the file stays as it was."""
        shown = f"%%task {line}\n{cell}"  # a traceback counts its lines
        file = self._shell.compile.cache(shown, self._shell.execution_count, raw_code=shown)
        try:
            exec(self._shell.compile(f"\n{cell}", file, "exec"), self._shell.user_ns)
        except BaseException:
            print(f"{name} was not put into {self.chosen.code_name}, since it raises here")
            if name != sections.IMPORTS:
                print("hint: has the cell of imports been run?")
            raise

    @line_magic
    def check(self, line: str) -> Verdict | None:
        """Grade one task: ``%check norm``."""
        with told():
            task = self.chosen.task(line.strip()).id
            remarks = take_answers(self.chosen, self._side) if task == PSEUDOCODE else ()
            return self._graded(task, remarks)

    @line_magic
    def grade(self, line: str) -> Verdict | None:
        """Grade the lab, with the pseudocode of the notebook as it was saved."""
        with told():
            if line.strip():
                raise UsageError("%grade grades the whole lab", f"one task: %check {line.strip()}")
            return self._graded("", take_answers(self.chosen, self._side))

    def _graded(self, task: str, remarks: tuple[str, ...]) -> Verdict | None:
        waiting = Waiting(self._shell, task or f"lab {self.chosen.number:02d}")
        try:
            report = self._judge.grade(self.chosen, task, waiting.tell)
        except KeyboardInterrupt:
            print("interrupted: nothing was graded")
            raise
        finally:
            waiting.end()
        places = Work(self.chosen).places(self._begins)
        return Verdict(self.chosen, placed_report(report, places), task, remarks)

    @line_magic
    def hint(self, line: str) -> None:
        """Show the hint of a task: ``%hint norm``."""
        with told():
            hint = self.chosen.task(line.strip()).hint.strip()
            with speaking(of_locale()):
                print(visible_line(say(hint), 2000))

    @line_magic
    def submit(self, line: str) -> None:
        """Hand in, after asking."""
        with told():
            for remark in take_answers(self.chosen, self._side):
                print(visible_line(remark))
            number = str(self.chosen.number)
            code, out, err = self._judge.run("submit", number, "--plan", "--origin", "notebook")
            print("\n".join(map(visible_line, f"{out}{err}".strip().splitlines())))
            if code != 0:
                return
            if self._ask("Go on? [y/N] ") not in ("y", "yes"):
                print("nothing was done")
                return
            code, out, err = self._judge.run("submit", number, "--yes", "--origin", "notebook")
            told_now = f"{out}{err}".strip().splitlines()
            print("\n".join(map(visible_line, told_now)))

    def _side(self, part: str) -> str:
        return self._ask(
            f"{part} has changed in the notebook and in its file: cell (c), file (f)? "
        )

    def _ask(self, question: str) -> str:
        """Ask the student; "" where nobody can be asked, as when a notebook is run headless."""
        try:
            return input(question).strip().lower()
        except (StdinNotImplementedError, EOFError):
            return ""


def _has_gpu() -> bool:
    from grader.judge.grade import choose_device

    return choose_device("auto") == "cuda"
