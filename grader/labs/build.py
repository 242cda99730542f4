"""What a compiler makes of a submission's sources: one file, by a command that the lab gives."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.labs.toml import Table

DEVICES = ("cpu", "cuda")
SOURCES, OUTPUT, TORCH = "{sources}", "{output}", "{torch}"  # in a command
MOST_MB = 1 << 10  # of a built file: the judge holds it while it is copied
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLACE = re.compile(r"\{\w*\}")


@dataclass(frozen=True, slots=True)
class SourceRule:
    """Words that no source may hold outside of comments and strings, as patterns."""

    reason: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Build:
    """One library; ``command`` is a program and its arguments, which is run by no shell.

    In an argument ``{sources}``, alone, stands for the sources, ``{output}`` for what is to be
    written, ``{torch}`` for the folder of torch. What is for "cuda" is made on GPUs only.
    """

    name: str
    sources: tuple[str, ...]
    command: tuple[str, ...]
    install: str  # what to type where the program is missing
    device: str = "cpu"
    seconds: int = 180  # a compiler can be made to wait for what never comes
    cpu_seconds: int = 60  # of each process
    memory_mb: int = 2048
    file_mb: int = 16
    rules: tuple[SourceRule, ...] = ()

    @property
    def file_name(self) -> str:
        """The name of what is made."""
        return f"{self.name}.so"

    @property
    def program(self) -> str:
        """The compiler."""
        return self.command[0]

    def line(self, output: str, torch: str) -> list[str]:
        """Return the command with the places of ``output`` and torch filled in."""
        line: list[str] = []
        for part in self.command:
            filled = part.replace(OUTPUT, output).replace(TORCH, torch)
            line += self.sources if part == SOURCES else [filled]
        return line


def build_of(task_id: str) -> str:
    """Return the id of the gate that what a task loads is."""
    return f"build[{task_id}]"


def read_build(table: Table, topic: str) -> Build:
    """Read one ``[[build]]`` of a lab on a topic, which its sources are named after."""
    default = Build("", (), (), "")
    build = Build(
        name=table.text("name"),
        sources=table.texts("sources"),
        command=tuple(shlex.split(table.text("command"))),
        install=table.text("install"),
        device=table.text("device", default.device),
        seconds=table.whole("seconds", default.seconds),
        cpu_seconds=table.whole("cpu_seconds", default.cpu_seconds),
        memory_mb=table.whole("memory_mb", default.memory_mb),
        file_mb=table.whole("file_mb", default.file_mb, MOST_MB),
        rules=tuple(_rule(rule) for rule in table.tables("rules", ())),
    )
    table.finish()
    if _NAME.fullmatch(build.name) is None:
        raise table.error("name", f"{build.name!r} is no lower-case identifier")
    if build.device not in DEVICES:
        raise table.error("device", f"must be one of {', '.join(DEVICES)}")
    for source in build.sources:
        if re.fullmatch(rf"{topic}\.(?!py$|md$)[a-z]+", source) is None:
            raise table.error(
                "sources", f"{source!r} is not named {topic}.cpp, {topic}.cu and so on"
            )
    text = " ".join(build.command)
    for place in (SOURCES, OUTPUT):
        if place not in text:
            raise table.error("command", f"does not say where {place} stands")
    if unknown := {*_PLACE.findall(text)} - {SOURCES, OUTPUT, TORCH}:
        raise table.error("command", f"holds {min(unknown)}, which stands for nothing")
    return build


def _rule(table: Table) -> SourceRule:
    rule = SourceRule(reason=table.text("reason"), words=table.texts("words"))
    table.finish()
    return rule


def build_problems(builds: Sequence[Build], used: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say what is wrong with builds, beside what each task uses of them."""
    names = [build.name for build in builds]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield f"build.name: {name!r} occurs twice"
    for task, wanted in used.items():
        for name in wanted:
            if name not in names:
                yield f"tasks.builds: {task!r} uses {name!r}, which no build is called"
    for name in names:
        if all(name not in wanted for wanted in used.values()):
            yield f"build.name: no task uses {name!r}"
