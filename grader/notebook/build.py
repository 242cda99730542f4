"""A lab's notebook out of its own files: handout, pictures, stub and prompts, task by task."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from grader.extras import needs
from grader.labs.documents.cells import ANSWER_TAG, TAG
from grader.labs.documents.notebook import PROMPT_HEADING
from grader.labs.documents.pictures import pictures
from grader.labs.documents.sections import IMPORTS
from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.task import Task
from grader.languages.language import say
from grader.notebook.handout import described, in_readers_language, prompts, read_handout
from grader.notebook.pictures import call_of, text_of
from grader.notebook.work import ANSWER

KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
_IMAGE = re.compile(r"^!\[.*\]\(pictures/(\w+)\.svg\)\n*", re.MULTILINE)
WELCOME = (
    "> This notebook and `{code}` are one: a cell that begins with `%%task` runs here, and is put "
    "in its place of the file. `%check` grades a task, `%grade` the lab, `%hint` nudges. What is "
    "graded is the file, by the judge: nothing that this kernel knows counts. Pseudocode is "
    "answered in the Markdown cells (double-click one); save the notebook before you grade it."
)
IMPORTS_TEXT = "Imports and types that all tasks share. What yours need beside them is added here:"
GRADE = "Grade all of it"
GRADE_TEXT = "With the pseudocode, which is read from the notebook as saved."
SUBMIT = "Hand in the work"
SUBMIT_TEXT = (
    "Hands in `{code}` and `PSEUDOCODE.md`, after asking you: at the service that you are logged in"
    " at (`make login`), else by a commit and a push."
)


def build(lab: Lab, parts: Mapping[str, str]) -> Any:
    """Return a notebook (of nbformat) with these texts of a student's work in it."""
    with needs("notebook"):
        from nbformat import v4

    cells = [cell for cell in _cells(v4, lab, parts)]
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return v4.new_notebook(cells=cells, metadata={**metadata, "inferlab": {"lab": lab.name}})


def written(notebook: Any) -> bytes:
    """Return a notebook as a file, once it is what nbformat demands."""
    with needs("notebook"):
        import nbformat

    nbformat.validate(notebook)
    return (nbformat.writes(notebook) + "\n").encode("utf-8")


def code_source(task: str, text: str) -> str:
    """Return the text of a task's cell."""
    return f"%%task {task}\n{text}"


def answer_source(task: str, text: str) -> str:
    """Return the text of a cell that answers a prompt."""
    return f"{PROMPT_HEADING}{task}\n\n{text}"


def _cells(v4: Any, lab: Lab, parts: Mapping[str, str]) -> Iterator[Any]:
    handout = read_handout(lab)
    head, _, rest = handout.before.partition("\n")
    welcome = say(WELCOME.format(code=lab.code_name))
    yield _text(v4, "handout", f"{head}\n\n{welcome}\n{rest}")
    yield _code(v4, "setup", f"%load_ext grader.notebook\n%lab {lab.number}", "setup")
    yield from _pictures(v4, lab, "")
    yield _text(v4, "about-imports", say(IMPORTS_TEXT))
    yield _code(v4, f"task-{IMPORTS}", code_source(IMPORTS, parts[IMPORTS]), f"{TAG}{IMPORTS}")
    for task in lab.tasks:
        if task.id != PSEUDOCODE:
            yield from _task(v4, lab, task, handout.tasks.get(task.id) or described(task), parts)
    yield _text(v4, "about-grade", f"## {say(GRADE)}\n\n{say(GRADE_TEXT)}")
    yield _code(v4, "grade", "%grade", "grade")
    submit = say(SUBMIT_TEXT.format(code=lab.code_name))
    yield _text(v4, "about-submit", f"## {say(SUBMIT)}\n\n{submit}")
    yield _code(v4, "submit", "%submit", "submit")
    if handout.after:
        yield _text(v4, "after", handout.after)


def _task(v4: Any, lab: Lab, task: Task, text: str, parts: Mapping[str, str]) -> Iterator[Any]:
    drawn = {picture.name for picture in pictures(lab)}
    yield _text(v4, f"handout-{task.id}", _without_drawn(text, drawn))
    yield from _pictures(v4, lab, task.id)
    if task.id in parts:
        yield _code(v4, f"task-{task.id}", code_source(task.id, parts[task.id]), TAG + task.id)
    yield _code(v4, f"check-{task.id}", f"%check {task.id}", "check")
    if f"{ANSWER}{task.id}" in parts:
        if asked := _asked_anew(lab, task):
            yield _text(v4, f"prompt-{task.id}", asked)
        source = answer_source(task.id, parts[f"{ANSWER}{task.id}"])
        cell = v4.new_markdown_cell(source, metadata={"tags": [ANSWER_TAG + task.id]})
        yield _with_id(cell, f"pseudocode-{task.id}")


def _asked_anew(lab: Lab, task: Task) -> str:
    """Return a prompt for who reads Chinese, "" if the file that is answered has it.

    It stands above the cell, as that and the file have to agree.
    """
    translated = prompts(in_readers_language(lab.pseudocode)).get(task.id, "")
    quoted = "\n".join(line for line in translated.split("\n") if line.startswith(">"))
    return "" if quoted in lab.pseudocode.read_text(encoding="utf-8") else quoted


def _pictures(v4: Any, lab: Lab, task: str) -> Iterator[Any]:
    """Yield the pictures that explain a task, or with "" the lab; a call that can be changed."""
    for picture in pictures(lab):
        if picture.task == task:
            yield _text(v4, f"about-{picture.name}", text_of(picture))
            yield _code(v4, f"picture-{picture.name}", call_of(picture), "picture")


def _without_drawn(text: str, drawn: set[str]) -> str:
    """Leave out of a handout the pictures that the notebook draws itself."""
    return _IMAGE.sub(lambda image: "" if image[1] in drawn else image[0], text)


def _text(v4: Any, name: str, source: str) -> Any:
    return _with_id(v4.new_markdown_cell(source.strip("\n")), name)


def _code(v4: Any, name: str, source: str, *tags: str) -> Any:
    return _with_id(v4.new_code_cell(source, metadata={"tags": [*tags]}), name)


def _with_id(cell: Any, name: str) -> Any:
    cell["id"] = name.replace("_", "-")[:64]  # the same in each building
    return cell
