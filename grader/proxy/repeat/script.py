"""A test's transcript as Python: what led to the last call, on the student's own module."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator
from typing import Any, cast

from torch import Tensor

from grader.proxy.loans.loans import Loan
from grader.proxy.repeat.led import Led
from grader.proxy.repeat.literals import STORED, Literals, Unrepeatable
from grader.proxy.repeat.transcript import Asked, Transcript, Use, objects_in
from grader.proxy.values.shown import form, plain
from grader.proxy.values.values import Proxy
from grader.text import visible_line

WIDE = 96  # columns of a call in one line
MOST_CAME = 60  # characters of what an earlier call gave
MOST_FORMS = 3  # tensors of that
WATCHED = "watch", "reads"  # of a backend: calls of a function, looked at
PARTS = "function", "method", "builtin_function_or_method", "type", "module"  # read where used
# Modules of the worker that a script may need, each with its package.
OURS = {"graphs": "compiling", "repeated": "scripts", "sparse": "calls", "ways": "calls"}
OTHERS = {"FILES", "HERE", "Path", "ROOT", "args", "config", "kwargs", "last", "result", "suppress"}
RESERVED = {*keyword.kwlist, *dir(builtins), *OURS, *OTHERS, "spec", "sys", "torch", STORED}


class Script:
    """Writes the calls; ``body`` are its lines, in order."""

    def __init__(self, transcript: Transcript, module: str, literals: Literals) -> None:
        """Raises Unrepeatable where a script cannot do what the test did."""
        if transcript.never:
            raise Unrepeatable(transcript.never)
        self._transcript = transcript
        self._module = module
        self._literals = literals
        self._taken = {*RESERVED, *literals.given, module}
        self.body: list[str] = []
        led = Led(transcript)
        self._backends = led.backends
        self.fault = led.entries[-1].fault if led.entries else ""  # of the last call
        for entry in led.entries:
            self.body += self._lines(entry, last=entry is led.entries[-1])

    # -- their code -------------------------------------------------------------------------

    def _lines(self, entry: Asked, *, last: bool) -> list[str]:
        """Return the lines of a request; the last one's shows what came."""
        if entry.header["op"] == "each":
            return self._each(entry)
        code = self._code(entry)
        name = self._bound(entry, code)
        if name is None:
            return []
        if entry.fault and not last:
            said = visible_line(entry.fault, MOST_CAME)
            inside = [f"    {line}" for line in code.split("\n")]
            return [f"with suppress(Exception):  # it raised {said}", *inside]
        if name or last:
            code = f"{name or 'result'} = {code}"
        *lines, end = code.split("\n")
        said = "" if name or last else came(entry)
        remark = f"  # gave {said}" if said else ""
        fits = len(end) + len(remark) <= WIDE
        return [*lines, end + remark * fits, *[f"print({name or 'result'})"] * last]

    def _bound(self, entry: Asked, code: str) -> str | None:
        """Return the variable that takes what came, "" if none need; None: no line is needed."""
        match entry.header:
            case {"op": "keep", "number": int(number)}:
                return self._named(-1 - number, f"kept{number}")
            case {"op": "handle"} if isinstance(entry.answer, Proxy):
                self._literals.names[entry.answer.number_] = code
                return None
            case {"op": "get"} if isinstance(entry.answer, Proxy) and entry.answer.kind_ in PARTS:
                self._literals.names.setdefault(entry.answer.number_, code)
                return None
            case _:
                pass
        new = [number for number in entry.makes() if number not in self._literals.names]
        if not new:
            return ""
        if isinstance(entry.answer, Proxy):
            return self._named(new[0], entry.answer.kind_)
        name = self._variable(str(entry.target[-1] if entry.target else entry.header.get("name")))
        self._literals.names |= dict(_places(entry.answer, name))
        return name

    def _named(self, which: int | Loan, kind: str) -> str:
        known = self._literals.names.get(which)
        if known is None:
            known = self._literals.names[which] = self._variable(kind)
        return known

    def _variable(self, kind: str) -> str:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()
        name = words if words.isidentifier() else "thing"
        number, free = 1, name
        while free in self._taken:
            number += 1
            free = f"{name}{number}"
        self._taken.add(free)
        return free

    def _code(self, entry: Asked) -> str:
        for thing in entry.takes():
            if isinstance(thing, Loan):
                self._lend(thing)
        text, header, value = self._literals.text, entry.header, entry.value
        match header:
            case {"op": "get"}:
                return f"{self._owner(header['object'])}.{header['name']}"
            case {"op": "set"}:
                return (
                    f"setattr({self._owner(header['object'])}, {header['name']!r}, {text(value)})"
                )
            case {"op": "generator"}:
                return f"torch.Generator().manual_seed({header['seed']})"
            case {"op": "graph"}:
                self._literals.modules.add("tape")
                return "tape.Tape()"  # lent as such on a CPU alone
            case {"op": "backend"}:
                self._literals.modules.add("graphs")
                return "graphs.Backend()"
            case {"op": "kept"}:
                return self._literals.names[-1 - header["number"]]
            case {"op": "handle"}:
                return self._name(entry.target)
            case _:
                args, kwargs = entry.value
                return self._call(entry.target, args, kwargs)

    def _call(self, target: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        text = self._literals.text
        match target:
            case ["object", int(number), str(method)] if number in self._backends:
                if method in WATCHED:
                    return self._called(text(args[0]), (*args[1:], *kwargs.values()), {})
            case ["object", _, "__getitem__"]:
                return f"{self._owner(target[1])}[{text(args[0])}]"
            case ["backward", int(number), _]:
                self._literals.modules.add("ways")
                return self._called("ways.backward", args, {}, self._literals.names[-1 - number])
            case [str(way), str(name)] if way != "function":
                self._literals.modules.add("ways")
                return self._called(f"ways.{way}", args, kwargs, f"{self._module}.{name}")
            case _:
                pass
        return self._called(self._name(target), args, kwargs)

    def _called(self, name: str, args: Any, kwargs: dict[str, Any], *before: str) -> str:
        text = self._literals.text
        given = [*before, *map(text, args), *(f"{key}={text(v)}" for key, v in kwargs.items())]
        line = f"{name}({', '.join(given)})"
        if len(line) <= WIDE:
            return line
        return "\n".join([f"{name}(", *(f"    {item}," for item in given), ")"])

    def _name(self, target: list[Any]) -> str:
        match target:
            case ["given", str(module), str(name)]:
                self._literals.modules.add(module)
                return f"{module}.{name}"
            case ["object", int(number), "__call__"]:
                return self._owner(number)
            case ["object", int(number), method]:
                return f"{self._owner(number)}.{method}"
            case _:
                return f"{self._module}.{target[-1]}"

    def _owner(self, number: int) -> str:
        if number not in self._literals.names:
            raise Unrepeatable("it uses an object that came from somewhere else")
        return self._literals.names[number]

    def _each(self, entry: Asked) -> list[str]:
        """Return one call for each of some last arguments."""
        text = self._literals.text
        given = ", ".join([*map(text, entry.value), "last"])
        return [
            f"for last in {text(entry.lasts)}:",
            f"    result = {self._name(entry.target)}({given})",
            "    print(last, result)",
        ]

    # -- objects of the test ----------------------------------------------------------------

    def _lend(self, lent: Loan) -> None:
        """Write what stands for an object of the test, once."""
        if lent in self._literals.names:
            return
        kind = getattr(lent.target, "__name__", type(lent.target).__name__).strip("_")
        name = self._named(lent, kind)
        uses = self._transcript.uses[lent]
        text = self._literals.text
        for inner in [x for use in uses for x in objects_in(use.answer) if isinstance(x, Loan)]:
            self._lend(inner)
        lines = [self._use(use, name) for use in uses]
        first = text(self._transcript.first[lent])
        self._literals.modules.add("repeated")
        self.body += [f"{name} = repeated.OfTheTest({name!r}, {first}, ["]
        self.body += [*(f"    {line}," for line in lines), "])", ""]

    def _use(self, use: Use, name: str) -> str:
        """Return the code of one use, and write the function that it needs if it asks itself."""
        text = self._literals.text
        if use.refused:
            kind, _, message = use.refused.partition(": ")
            answer = f"{kind}({message!r})"
        elif use.asked:
            self._literals.modules.add("repeated")
            answer = f"repeated.Does({self._function(use, name)})"
        else:
            answer = text(use.answer)
        given, behind = text(_without_objects(use.value)), text(use.attributes)
        return f"({use.name!r}, {given}, {answer}, {behind})"

    def _function(self, use: Use, name: str) -> str:
        """Write what an object of the test asks of the code while it is used."""
        function = self._variable(f"{name}_does")
        names = self._literals.names
        args, kwargs = use.value
        places = dict([*_places(args, "args"), *_places(kwargs, "kwargs")])
        before, outer = {key: names.get(key) for key in places}, {*names.values()}
        names |= places
        lines = [line for entry in use.asked for line in self._lines(entry, last=False)]
        answer = self._literals.text(use.answer)
        for key, known in before.items():
            names.pop(key)
            names |= {key: known} if known else {}
        made = [x for x in sorted({*names.values()} - outer) if x.isidentifier()]
        self.body += ["", f"def {function}(*args, **kwargs):"]
        self.body += [f"    global {', '.join(made)}"] if made else []
        self.body += [*(f"    {line}" for line in lines), f"    return {answer}", ""]
        return function


def _places(value: Any, name: str) -> Iterator[tuple[int, str]]:
    """Give the objects in what came, each with the code that takes it out of a variable."""
    if isinstance(value, Proxy):
        yield value.number_, name
    elif isinstance(value, list | tuple):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _places(item, f"{name}[{index}]")
    elif isinstance(value, dict):
        for key, item in cast(dict[Any, Any], value).items():
            yield from _places(item, f"{name}[{key!r}]")


def _without_objects(value: Any) -> Any:
    """Return arguments of a lent object with ``...`` for what the submission alone has."""
    if isinstance(value, Proxy | Loan):
        return ...
    if isinstance(value, list | tuple):
        items = [_without_objects(item) for item in cast(list[Any], value)]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return {k: _without_objects(v) for k, v in cast(dict[Any, Any], value).items()}
    return value


def package_and_name(module: str) -> tuple[str, str]:
    """Return where a module that a script needs is imported from, and its name there."""
    return (f"grader.worker.{OURS[module]}" if module in OURS else "labs"), module


def came(entry: Asked) -> str:
    """Say in short what an earlier call gave."""
    answer: Any = entry.answer
    if answer is None:
        return "" if entry.header["op"] == "set" else "None"
    if isinstance(answer, Tensor):
        return form(answer)
    if isinstance(answer, list | tuple) and any(isinstance(item, Tensor) for item in answer):
        return ", ".join(form(x) if isinstance(x, Tensor) else "…" for x in answer[:MOST_FORMS])
    if isinstance(answer, bool | int | float | str | list | tuple):
        return visible_line(plain(answer, depth=1), MOST_CAME)
    return ""
