"""Notebooks as tests and exploits hand them in: plain JSON, right or with one thing wrong."""

import json
from typing import Any

from grader.labs.documents.sections import bodies
from grader.labs.lab import Lab

Data = dict[str, Any]


def code_cell(source: Any, *tags: object, **more: object) -> Data:
    """Return a code cell of nbformat 4."""
    metadata = {"tags": [*tags]} if tags else {}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": [], **more}


def markdown_cell(source: Any, *tags: object, **more: object) -> Data:
    """Return a Markdown cell of nbformat 4."""
    return code_cell(source, *tags, **more) | {"cell_type": "markdown"}


def cells_of(lab: Lab, code: str) -> list[Data]:
    """Return a task cell for each section of a code file."""
    found = bodies(lab, code)
    return [code_cell(f"%%task {name}\n{text}") for name, text in found.items()]


def notebook_of(cells: list[Any], **more: object) -> Data:
    """Return a notebook of nbformat 4.5."""
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells, **more}


def right(lab: Lab) -> Data:
    """Return a notebook that holds a lab's model answer, without pseudocode."""
    return notebook_of(cells_of(lab, (lab.solutions / lab.code_name).read_text("utf-8")))


def as_bytes(data: Any) -> bytes:
    """Return a notebook as it lies on a disk."""
    return json.dumps(data).encode()
