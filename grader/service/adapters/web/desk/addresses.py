"""Where the pages are on which people read work."""

from urllib.parse import urlencode

from grader.labs.lab import Lab
from grader.service.core.people.reading import Work
from grader.service.domain.records import number_of


def address_of(work: Work) -> str:
    """Return the address of the page on which people read work."""
    return work_address(work.lab, work.student, work.commit)


def work_address(lab: Lab, student: str, commit: str) -> str:
    """Return the address of work that there is."""
    if count := number_of(commit):
        return f"/attempts/{count}/code"
    return f"/reading/{lab.number}/work?{urlencode({'student': student, 'commit': commit})}"
