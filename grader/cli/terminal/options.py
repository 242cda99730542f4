"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from grader.languages.language import Language, speak


class Device(StrEnum):
    """Where the submission computes."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Sandbox(StrEnum):
    """How much isolation is demanded."""

    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"


class Suite(StrEnum):
    """Which tests run."""

    ALL = "all"
    PUBLIC = "public"


LabArgument = Annotated[str, typer.Argument(metavar="LAB", help="6, 06 or the name of its folder")]
Source = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="PATH",
        help="a lab folder, a tree of labs, one Python file or notebook; default labs/",
    ),
]
DeviceChoice = Annotated[Device, typer.Option(help="where the submission computes")]
SandboxChoice = Annotated[Sandbox, typer.Option(help="required: refuse to grade without one")]
Seed = Annotated[
    int | None, typer.Option(metavar="N", min=0, max=2**63 - 1, help="repeat the inputs of a run")
]
Tasks = Annotated[
    list[str] | None,
    typer.Option("--task", metavar="TASK", help="only this one; may be repeated"),
]
FILE = "FILE"


def _speak(language: Language | None) -> Language | None:
    if language is not None:
        speak(language)
    return language


Lang = Annotated[
    Language | None,
    typer.Option("--lang", callback=_speak, help="what you are told in; default: your locale's"),
]
OutFile = Annotated[str | None, typer.Option(metavar=FILE)]
