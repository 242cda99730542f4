"""Values that a test passes, as Python code; what code cannot say in a line is stored beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from grader.proxy.loans.loans import Loan
from grader.proxy.repeat.transcript import objects_in
from grader.proxy.values.arguments import argument
from grader.proxy.values.shown import form
from grader.proxy.values.values import Far, Proxy
from grader.wire.codec import Record

MOST_NUMBERS = 16  # of a tensor that stands in the code
MOST_DIGITS = 8  # of such a number
MOST_ITEMS = 60  # of a list that stands in the code
MOST_RECORD = 60  # characters of one that is written anew each time
STORED = "x"


class Unrepeatable(Exception):
    """A value that no script can have; the message says why."""


class Literals:
    """Writes values; what it has stored, and which modules its code needs, is told afterwards."""

    def __init__(self, given: Mapping[str, Path], paths: Mapping[str, str], device: str) -> None:
        """``given`` are files by their modules; ``paths`` has code for the folders of a worker."""
        self.given = {module: file.read_text(encoding="utf-8") for module, file in given.items()}
        self._paths = paths
        self._device = device
        self.names: dict[int | Loan, str] = {}
        self.stored: list[Any] = []
        self.told: list[str] = []  # what is stored, in words
        self.modules: set[str] = set()
        self.records: dict[str, str] = {}  # code of long ones, by their names

    def text(self, value: Any) -> str:
        """Return the code of a value; raises Unrepeatable where there is none."""
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, Proxy):
            return self._object(value.number_)
        if isinstance(value, Loan):
            return self._object(value)
        if isinstance(value, Far):
            self.modules.add("sparse")
            return f"sparse.apart({self.text(value.value)}, {value.strides})"
        if isinstance(value, Record):
            return self._record(value)
        if isinstance(value, torch.Generator):
            where = "" if self._device == "cpu" else repr(self._device)
            return f"torch.Generator({where}).manual_seed({value.initial_seed()})"
        if isinstance(value, torch.device):
            return f'torch.device("{value}")'
        if isinstance(value, list | tuple | dict):
            return self._container(value)
        if isinstance(value, str):
            return self._string(value)
        if value is ...:
            return "..."
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        return repr(value)

    def _object(self, which: int | Loan) -> str:
        if which not in self.names:
            raise Unrepeatable("it passes on an object that came from somewhere else")
        return self.names[which]

    def _tensor(self, value: Tensor) -> str:
        items: list[Any] = value.flatten().tolist() if value.numel() <= MOST_NUMBERS else []
        short = all(len(repr(item)) <= MOST_DIGITS for item in items)
        plain = value.is_contiguous() and not value.storage_offset() and items and short
        if not plain or value.is_complex() or self._device != "cpu" or value.is_meta:
            return self._store(value)
        usual = value.dtype in (torch.float32, torch.int64, torch.bool)
        dtype = "" if usual else f", dtype={value.dtype}"
        return f"torch.tensor({self._plain(value.tolist())}{dtype})"

    def _plain(self, items: Any) -> str:
        """Return the code of the numbers of a tensor."""
        if isinstance(items, list):
            return f"[{', '.join(map(self._plain, cast(list[Any], items)))}]"
        return self.text(items)

    def _store(self, value: Any) -> str:
        self.stored.append(value)
        self.told.append(form(value) if isinstance(value, Tensor) else argument(value, {}))
        return f"{STORED}[{len(self.stored) - 1}]"

    def _record(self, value: Record) -> str:
        pattern = re.compile(rf"^class {re.escape(value.name)}\b", re.MULTILINE)
        module = next((name for name, text in self.given.items() if pattern.search(text)), "")
        if not module:
            raise Unrepeatable(f"it passes on a {value.name}, which no given module has")
        self.modules.add(module)
        fields = [f"{key}={self.text(item)}" for key, item in value.fields.items()]
        short = f"{module}.{value.name}({', '.join(fields)})"
        if len(short) <= MOST_RECORD:
            return short
        text = "\n".join([f"{module}.{value.name}(", *(f"    {item}," for item in fields), ")"])
        known = next((name for name, code in self.records.items() if code == text), "")
        name = known or f"config{len(self.records) + 1 if self.records else ''}"
        self.records[name] = text
        return name

    def _container(self, value: Any) -> str:
        items: list[Any] = [*value.values()] if isinstance(value, dict) else [*value]
        kinds = {type(item) for item in items}
        many = len(items) > 4 and kinds == {Tensor}  # such as the weights of a model
        if (many or len(items) > MOST_ITEMS) and not any(objects_in(items)):
            return self._store(value)
        if isinstance(value, dict):
            pairs = cast(dict[Any, Any], value).items()
            return f"{{{', '.join(f'{self.text(k)}: {self.text(v)}' for k, v in pairs)}}}"
        inside = ", ".join(map(self.text, items))
        if isinstance(value, tuple):
            return f"({inside}{',' if len(items) == 1 else ''})"
        return f"[{inside}]"

    def _string(self, value: str) -> str:
        for path, code in self._paths.items():
            if value == path or value.startswith(f"{path}/"):
                inside = value[len(path) + 1 :]
                return f"str({code} / {inside!r})" if inside else f"str({code})"
        return repr(value)
