"""The page of a student's tree, in both languages: what there is, and how work is handed in."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from grader.course.publishing.beside.handing import Terms, hand_in
from grader.labs.lab import PSEUDOCODE, Lab
from grader.labs.translations import pages
from grader.labs.translations.files import translation
from grader.languages.language import Language, say, speaking, spoken, word
from grader.text import visible_line

README = Path(__file__).with_name("student_readme.md")
ROWS = {
    "run": "| text from your own code of a lab, beside a right model | `make run LAB=1` |",
    "chat": word('| text from a model made of your pieces | `make chat PROMPT="def main("` |'),
    "serve": "| four texts at once, by your labs 11 and 12 | `make serve` |",
}


def readmes(
    tree: Container[str],
    labs: Sequence[Lab],
    title: str,
    programs: Container[str],
    terms: Terms,
    language: Language,
) -> dict[str, bytes]:
    """Return the page of the tree in both languages; the plain name is that of the course's."""
    found: dict[str, bytes] = {}
    for reader in Language:
        name = "README.md" if reader is language else f"README.{reader}.md"
        linked = {lab.name: name for lab in labs if f"labs/{lab.name}/{name}" in tree}
        with speaking(reader):
            found[name] = _readme(labs, title, programs, terms, linked).encode()
    return found


def _readme(
    labs: Sequence[Lab],
    title: str,
    programs: Container[str],
    terms: Terms,
    linked: Mapping[str, str],  # handouts that are there in this language, by lab
) -> str:
    first = next((lab for lab in labs if not lab.is_manual), labs[0])
    task = next((task.id for task in first.tasks if task.id != PSEUDOCODE), PSEUDOCODE)
    handouts = {lab.name: f"labs/{lab.name}/{linked.get(lab.name, 'README.md')}" for lab in labs}
    return _template().format(
        title=visible_line(title),
        rows="\n".join(table_row(lab, f"[{lab.number:02d}]({handouts[lab.name]})") for lab in labs),
        handout=handouts[first.name],
        name=first.name,
        code=first.handed_in[0],
        number=first.number,
        task=task,
        chat="".join(say(row) + "\n" for name, row in ROWS.items() if name in programs),
        hand_in=hand_in(terms, labs),
    )


def _template() -> str:
    english = README.read_text(encoding="utf-8")
    if spoken() is Language.ENGLISH:
        return english
    return pages.told(english, translation(README).read_text(encoding="utf-8"))


def table_row(lab: Lab, first: str) -> str:
    """Return what a table of labs says of one, with ``first`` in its first cell."""
    cells = (first, _cell(say(lab.title)), _cell(say(lab.summary)))
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return visible_line(" ".join(text.split())).replace("|", "\\|")
