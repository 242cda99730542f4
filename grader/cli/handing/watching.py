"""What a student sees of a hand-in at a service: its way through the queue, then the verdict."""

import sys
import time
from datetime import datetime
from typing import Any

from grader.client.service import ENDS, Answer, Service, Unreachable
from grader.labs.lab import Lab, find_lab, find_root
from grader.languages.language import labelled, say, word
from grader.report.facts.next_step import guide_to
from grader.report.facts.stored import report_of
from grader.report.formats.terminal import make_console, render_terminal
from grader.text import visible

NOT_GRADED_YET = HELD_BACK = 4  # the exit code
AGAIN_SECONDS = 3.0  # after a broken connection
MOST_COMMENT = 4000  # characters
MOST_BREAKS = 40  # in a row, before the watching ends


def watched(service: Service, lab: Lab, number: int) -> int:
    """Show how a grading comes on until it ends, then the verdict."""
    try:
        _follow(service, number)
    except KeyboardInterrupt:
        print()
        return later(number, lab)
    except Unreachable as error:
        print(labelled("note", say(error.line)), file=sys.stderr)
        return later(number, lab)
    return verdict(service, number)


def _follow(service: Service, number: int) -> None:
    """Print a line for each step; a stream that breaks is taken up where it was."""
    seen, breaks = "", 0
    print(f"  {say(_place(service.state(number)))}")
    while True:
        try:
            for event in service.events(number, seen):
                seen, breaks = event.id or seen, 0
                line = _line(event.kind, event.data)
                if line:
                    print(f"  {say(line)}", flush=True)
                if event.kind in ENDS:
                    return
        except Unreachable:
            breaks += 1
            if breaks >= MOST_BREAKS:
                raise
        if service.state(number).get("state") in ENDS:
            return
        time.sleep(AGAIN_SECONDS)


def _place(state: Answer) -> str:
    place, wait = state.get("place"), state.get("wait_median_seconds")
    if not isinstance(place, int) or place < 1:
        return "waiting for its turn" if state.get("state") == "waiting" else word("grading")
    if not isinstance(wait, int | float):
        return f"place {place} in the queue"
    seconds = round(wait)
    return f"place {place} in the queue; of late it took {seconds} s until a grading began"


def _line(kind: str, data: Answer) -> str:
    match kind:
        case "begun":
            return word("grading …")
        case "task" if data.get("ended") == data.get("tests"):
            task, tests = text_of(data, "task"), text_of(data, "tests")
            return f"{task}: {tests} tests judged"
        case "again":
            return "it failed by our fault, and is graded again"
        case "superseded":
            return "a newer one of yours took its place before it was graded"
        case "held":
            return "it could not be graded, by our fault: your instructor looks at it"
        case _:
            return ""


def verdict(service: Service, number: int) -> int:
    state = service.state(number)
    report = state.get("report")
    if state.get("held_back"):
        held = text_of(state, "held_back")
        print(say(f"number {number} is {held}"))
        return HELD_BACK
    if not isinstance(report, dict):
        now = text_of(state, "state")
        print(say(f"number {number} is {now}, not graded yet"))
        return NOT_GRADED_YET
    stored: dict[str, Any] = report  # pyright: ignore[reportUnknownVariableType]
    found = report_of(stored)
    lab = find_lab(str(found.lab), find_root())
    make_console(sys.stdout).print(render_terminal(found, guide_to(lab)))
    _print_comments(state)
    print("  " + say(f"number {number}: {page(service, number)}"))
    return found.exit_code


def _print_comments(state: Answer) -> None:
    """Show what the staff said of a hand-in."""
    comments: Any = state.get("comments")
    for each in comments if isinstance(comments, list) else ():
        if isinstance(each, dict):
            said: dict[str, Any] = each  # pyright: ignore[reportUnknownVariableType]
            author, about = text_of(said, "author"), text_of(said, "about")
            print("  " + (say(f"{author} on {about}:") if about else f"{author}:"))
            for line in visible(str(said.get("text", "")), MOST_COMMENT).split("\n"):
                print(f"    {line}")


def later(number: int, lab: Lab) -> int:
    command = f"make attempts LAB={lab.number} ARGS='--show {number}'"
    print(say(f"it is graded without you: {command}"))
    return NOT_GRADED_YET


def page(service: Service, number: int) -> str:
    return f"{service.url}/attempts/{number}"


def text_of(data: Answer, key: str) -> str:
    """Return what a service says under a key, as a terminal may show it."""
    return visible(str(data.get(key, "")), 200)


def moment_of(data: Answer, key: str) -> str:
    """Return a moment that a service says, to the second, in this machine's zone."""
    try:
        moment = datetime.fromisoformat(str(data.get(key))).astimezone()
    except ValueError:
        return text_of(data, key)
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z")
