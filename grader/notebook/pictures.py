"""A lab's pictures as a cell shows them: drawn anew by a call that the student may change."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.errors import UsageError
from grader.labs.documents.pictures import Picture, PictureFunction, pictures
from grader.labs.lab import Lab
from grader.report.markup.web import escaped
from grader.text import visible

DPI = 110


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture as the output of a cell; its plain text is what a person who cannot see reads."""

    picture: Picture

    def _repr_html_(self) -> str:
        stream = io.BytesIO()
        self.picture.figure.savefig(stream, format="png", dpi=DPI, bbox_inches="tight")
        data = base64.b64encode(stream.getvalue()).decode()
        image = f'<img style="max-width:100%" src="data:image/png;base64,{data}"'
        return f'{image} alt="{escaped(self.picture.text)}">'

    def __repr__(self) -> str:
        return visible(self.picture.text)


class Pictures:
    """``picture(name, …)`` of a kernel: draws one of a lab's pictures."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def __call__(self, name: str, /, **parameters: Any) -> Shown:
        """Draw the picture; raises ``UsageError`` for arguments that it does not take."""
        found = {item.name: item for item in pictures(self._lab)}
        if name not in found:
            known = ", ".join(found) or "none"
            raise UsageError(f"lab {self._lab.number} has no picture {name!r}", f"it has: {known}")
        unknown = [key for key in parameters if key not in found[name].parameters]
        if unknown:
            hint = f"it takes: {', '.join(found[name].parameters)}"
            raise UsageError(f"{name} takes no {unknown[0]}", hint)
        return Shown(found[name](**parameters))


def call_of(picture: PictureFunction) -> str:
    """Return the code of a picture's cell: the call with all arguments, to be changed."""
    pairs = [f"{key}={_literal(value)}" for key, value in picture.parameters.items()]
    return f"picture({', '.join([_literal(picture.name), *pairs])})"


def text_of(picture: PictureFunction) -> str:
    """Return what stands above the cell of a picture: what to look for, and what to try."""
    lines = [f"*Picture.* {picture.says}"]
    tried = [_tries(key, values) for key, values in picture.choices.items() if len(values) > 1]
    return "\n\n".join([*lines, *([f"Try {'; '.join(tried)}."] if tried else [])])


def _literal(value: Any) -> str:
    """Write a value as the code around it does: with double quotes."""
    text = repr(value)
    return f'"{value}"' if isinstance(value, str) and text == f"'{value}'" else text


def _tries(name: str, values: Sequence[Any]) -> str:
    return f"`{name}` = {', '.join(f'`{_literal(value)}`' for value in values)}"
