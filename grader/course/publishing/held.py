"""Given code that answers a lab: ``labs/llama.py``, from lab 02 on, is a complete lab 01.

It is held back while that lab is open: until nobody can hand in for points any more, extensions and
late days included. Where no deadline says so, a person has to know.
"""

from collections.abc import Container, Iterable, Mapping
from datetime import datetime

from grader.course.config import Course
from grader.course.grants import closing
from grader.labs.lab import Lab


def answered(lab_names: Iterable[str]) -> dict[str, str]:
    """Return the lab that a module of labs/ answers, by the module: {"llama": "01_llama"}."""
    return {name.partition("_")[2]: name for name in lab_names}


def given_away(
    every: Iterable[str], published: Container[str], paths: Container[str]
) -> dict[str, str]:
    """Return the labs, of those ``published``, that a module among the paths answers, by it."""
    return {
        module: lab
        for module, lab in answered(every).items()
        if f"labs/{module}.py" in paths and lab in published
    }


def open_labs(
    course: Course | None, lab_names: Iterable[str], now: datetime
) -> dict[str, datetime]:
    """Return the labs that are open, with the moment in which they are no more."""
    moments = {name: closing(course, int(name[:2])) for name in lab_names}
    return {name: moment for name, moment in moments.items() if moment and now <= moment}


def held_modules(
    labs: Iterable[Lab], every: Iterable[str], open_still: Mapping[str, datetime]
) -> dict[str, str]:
    """Return which given modules of ``labs`` answer an open lab, with that lab."""
    answers = answered(every)
    given = {name for lab in labs for name in lab.given}
    return {
        name: answers[name]
        for name in sorted(given)
        if name in answers and answers[name] in open_still
    }
