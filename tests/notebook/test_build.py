"""What a notebook is built of, and that cells and files are never written over unasked."""

import json
from pathlib import Path

import pytest
from stand_ins import expectation
from stand_ins.filled import answer_parts, copied

from grader import ROOT
from grader.errors import UsageError
from grader.labs.documents.notebook import convert
from grader.labs.documents.sections import names
from grader.labs.lab import Lab, all_labs, find_lab

pytest.importorskip("nbformat", reason="needs the extra [notebook]")

from grader.notebook.build import build
from grader.notebook.files import notebook_file, write_notebook
from grader.notebook.handout import prompts, put_answer
from grader.notebook.work import Work
from grader.readers import Budget


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return find_lab("3", copied(ROOT, tmp_path, hidden=False))


def refuse(part: str) -> str:
    raise AssertionError(f"asked about {part}")


def edit(lab: Lab, old: str, new: str) -> None:
    """Change the notebook as a student does."""
    file = notebook_file(lab)
    data = json.loads(file.read_text("utf-8"))
    for cell in data["cells"]:
        cell["source"] = "".join(cell["source"]).replace(old, new)
    file.write_text(json.dumps(data))


@pytest.mark.parametrize("lab", all_labs(ROOT), ids=lambda lab: lab.name)
def test_notebook_holds_what_the_lab_has(lab: Lab) -> None:
    notebook = build(lab, Work(lab).parts())

    sources = [cell.source for cell in notebook.cells]
    text = "\n\n".join(sources)
    for name in names(lab):
        assert sum(source.startswith(f"%%task {name}\n") for source in sources) == 1
    for task in lab.tasks[:-1]:
        assert sources.count(f"%check {task.id}") == 1
        assert sum(s.startswith(f"### Pseudocode: {task.id}\n") for s in sources) == (
            task.id in prompts(lab.pseudocode.read_text("utf-8"))
        )
    for contract in (contract for task in lab.tasks for contract in task.contracts):
        assert contract.says in text.replace("`", "")  # lab.toml has no marks of code
    assert "](pictures/" not in text
    assert sum(source.startswith("picture(") for source in sources) >= 2
    assert sources.count("%grade") == sources.count("%submit") == 1
    made = convert(lab, json.dumps(notebook).encode(), "it", Budget())
    assert made.code == lab.stub.read_bytes()


def test_lab_without_headings_or_pictures_has_a_notebook_too() -> None:
    lab = expectation.find(expectation.DEMO)

    sources = [cell.source for cell in build(lab, Work(lab).parts()).cells]

    for task in ("scale", "store", "loop"):
        assert sum(source.startswith(f"%%task {task}\n") for source in sources) == 1
        assert f"%check {task}" in sources


def test_notebook_that_is_there_is_not_written_again(lab: Lab) -> None:
    write_notebook(lab, refuse)
    before = notebook_file(lab).read_bytes()

    done = write_notebook(lab, refuse)

    assert notebook_file(lab).read_bytes() == before
    assert done.lines == ()


def test_newer_text_of_the_file_comes_into_its_cell_alone(lab: Lab) -> None:
    write_notebook(lab, refuse)
    edit(lab, "%grade", "%grade # mine")
    Work(lab).put("beam", "beam = 1")
    Work(lab).put("pseudocode:beam", "keep the best")

    done = write_notebook(lab, refuse)

    text = notebook_file(lab).read_text("utf-8")
    assert '"%%task beam\\n",\n    "beam = 1"' in text
    assert "keep the best" in text
    assert "%grade # mine" in text
    assert done.lines == (
        "beam: taken over from the file",
        "pseudocode:beam: taken over from the file",
    )


def test_newer_cell_is_left_and_told(lab: Lab) -> None:
    write_notebook(lab, refuse)
    edit(lab, "class Sampler:", "class Sampler:  # mine")
    before = notebook_file(lab).read_bytes()

    done = write_notebook(lab, refuse)

    assert notebook_file(lab).read_bytes() == before
    assert done.lines == ("sampler: the cell is newer; run it to put it into the file",)


@pytest.mark.parametrize("answer", ["", "f"])
def test_where_both_have_changed_the_student_is_asked(lab: Lab, answer: str) -> None:
    write_notebook(lab, refuse)
    edit(lab, "class Sampler:", "class Sampler:  # the cell's")
    Work(lab).put("sampler", "sampler = 'the file'")
    asked: list[str] = []

    def ask(part: str) -> str:
        asked.append(part)
        return answer

    write_notebook(lab, ask)

    text = notebook_file(lab).read_text("utf-8")
    assert asked == ["sampler"]
    assert ("# the cell's" in text) is (answer == "")
    assert ("sampler = 'the file'" in text) is (answer == "f")
    assert "sampler = 'the file'" in lab.stub.read_text("utf-8")


def test_lost_record_asks_rather_than_guesses(lab: Lab) -> None:
    write_notebook(lab, refuse)
    (lab.root / ".inferlab" / "notebook" / f"{lab.name}.json").write_text("[")
    Work(lab).put("sampler", "sampler = 1")

    done = write_notebook(lab, lambda _: "")

    assert done.lines == ("sampler: cell and file have both changed; neither was touched",)


def test_damaged_notebook_is_told_and_stays(lab: Lab) -> None:
    notebook_file(lab).write_text("{")

    with pytest.raises(UsageError, match="is no valid JSON"):
        write_notebook(lab, refuse)

    assert notebook_file(lab).read_text() == "{"


def test_answer_is_put_below_its_heading() -> None:
    text = "# Top\n\n## one\n\n> ask\n\n## two\n\n> ask\n"

    assert put_answer(text, "one", "> ask\n\nsay") == "# Top\n\n## one\n\n> ask\n\nsay\n\n" + (
        "## two\n\n> ask\n"
    )
    assert prompts(put_answer(text, "three", "x")) == {"one": "> ask", "two": "> ask", "three": "x"}


def test_model_answers_are_cut_into_all_parts() -> None:
    for lab in all_labs(ROOT):
        assert {*names(lab)} <= {*answer_parts(lab)}
