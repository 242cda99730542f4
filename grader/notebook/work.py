"""A student's work on a lab in parts: sections of the code file, answers of PSEUDOCODE.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.files import write_file
from grader.labs.documents.places import BELOW_THE_MAGIC, Place, places_of
from grader.labs.documents.sections import bodies, other_heading, put, without_heading
from grader.labs.lab import Lab
from grader.notebook.handout import prompts, put_answer

ANSWER = "pseudocode:"  # in front of a task's name: the part that is its pseudocode


@dataclass(frozen=True, slots=True)
class Work:
    """The two files of a lab as they are now, read anew at each question."""

    lab: Lab

    def parts(self) -> dict[str, str]:
        """Return the texts of all parts that the files have."""
        found = bodies(self.lab, _text(self.lab.stub))
        answers = prompts(_text(self.lab.pseudocode))
        return found | {f"{ANSWER}{task}": text for task, text in answers.items()}

    def places(self, begins: Mapping[str, int]) -> tuple[Place, ...]:
        """Return where the cells stand in the code file; ``begins`` has their first lines."""
        code = _text(self.lab.stub)
        cells = {name: (name, begins.get(name, BELOW_THE_MAGIC)) for name in bodies(self.lab, code)}
        return places_of(self.lab, code, cells)

    def where(self, task: str) -> str:
        """Say where the section of a task lies."""
        file = f"labs/{self.lab.name}/{self.lab.code_name}"
        place = next((place for place in self.places({}) if place.cell == task), None)
        return f"{file}, lines {place.first} to {place.last}" if place else file

    def put(self, part: str, text: str) -> None:
        """Write one part, and leave all others as they are; raises ``UsageError``."""
        if part.startswith(ANSWER):
            file = self.lab.pseudocode
            new = put_answer(_text(file), part.removeprefix(ANSWER), text)
        else:
            file = self.lab.stub
            new = self._put_code(part, text)
        write_file(file, new.encode("utf-8"))

    def _put_code(self, part: str, text: str) -> str:
        before = _text(self.lab.stub)
        other = other_heading(self.lab, part, text)
        if other:
            told = f"a line of the cell is the heading of {other}, another section of the file"
            raise UsageError(told, "take it out of the cell")
        try:
            return put(self.lab, before, {part: without_heading(self.lab, text)})
        except KeyError:
            file = self.where("")
            hint = f"put the line back that begins it: # --- {part} ---"
            raise UsageError(f"{file} has no section for {part}", hint) from None


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}", "save it as UTF-8 text") from None
