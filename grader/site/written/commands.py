"""The command line, as the program itself describes it, and the targets of the Makefile."""

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from grader.cli.app import app
from grader.site.sources.tables import code, table

_TARGET = re.compile(r"^([a-z][a-z-]*):.*?## (.*)$", re.MULTILINE)
# typer keeps the classes of commands under no name that is exported.
Command = Any


def command_page() -> str:
    """Write a section for each command of ``lab``: usage, what it does, arguments and options."""
    program = get_command(app)
    lines = [
        "# The command line",
        "What `lab` knows, as `lab --help` and `lab COMMAND --help` print it. "
        "In a clone it is `.venv/bin/lab`, and [targets of make](make.md) call it.",
    ]
    for name, context, command in _commands(program, _context(program, "lab"), "lab"):
        lines += [f"## {name}", str(command.help or "").strip(), _usage(command, context)]
        records = (part.get_help_record(context) for part in command.params)
        rows = [(code(record[0]), record[1]) for record in records if record]
        lines += [table(("argument or option", "meaning"), rows)] if rows else []
    return "\n\n".join(lines) + "\n"


def target_page(makefile: str) -> str:
    """Write the table of all targets that ``make help`` lists, from the Makefile's own text."""
    rows = [(code(f"make {name}"), _options(does)) for name, does in _TARGET.findall(makefile)]
    told = table(("target", "what it does"), rows)
    return f"# Targets of make\n\nWhat `make help` prints.\n\n{told}"


def _commands(command: Command, context: Any, name: str) -> Iterator[tuple[str, Any, Command]]:
    """Give each command below, by its full name; those that hold others are not commands here."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, context, command
        return
    for key in sorted(below):
        inner = below[key]
        if not inner.hidden:
            yield from _commands(inner, _context(inner, key, context), f"{name} {key}")


def _context(command: Command, name: str, parent: Any = None) -> Any:
    return command.context_class(command, info_name=name, parent=parent)


def _usage(command: Command, context: Any) -> str:
    words = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    return f"```text\n{words}\n```"


def _options(told: str) -> str:
    """Set what stands in brackets, and assignments, as code."""
    return re.sub(r'\[[^\]]*\]+|\b[A-Z]+=(?:"[^"]*"|\S+)', lambda match: code(match[0]), told)
