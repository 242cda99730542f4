"""The calls of one test: the last one and what led to it, to be shown if the test fails."""

from __future__ import annotations

import keyword
import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from grader.proxy.repeat.transcript import Transcript
from grader.proxy.values.arguments import argument

KEPT = 40  # calls; who is told of what led to a failure reads no more
MOST_MAKERS = 400  # calls that made an object, which are kept beside them
MOST_LINES = 8
UNREAD = "something that could not be read"
MOST_LINE = 400  # characters
# What else a call of some kinds does.
MORE = {"overwritten": ", and its result is then written over", "gradients": ", then backward"}
EACH = {"together": "", "gradients_together": ", then backward"}  # one call a case
WATCHED = "watch", "reads"  # what the judge's backend calls is a function of the submission


@dataclass(slots=True, eq=False)
class Call:
    """One call; ``made`` is the number of the object that it returned, ``items`` those of a list.

    ``gave`` tells whether anything came back but an object that was there before.
    """

    target: list[Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    kind: str  # of the object that it is a call of
    made: int | None = None
    items: tuple[int, ...] = ()
    gave: bool = False

    @property
    def of(self) -> int | None:
        """The number of the object that was called, if it was one."""
        return self.target[1] if self.target[0] == "object" else None


class Calls:
    """Notes calls as they are made. They are put into words when they are asked for."""

    def __init__(self, public: Collection[str] = (), reads: Collection[str] = ()) -> None:
        """``public`` are the names to be written, ``reads`` methods by which tests only look."""
        self.whole: Transcript | None = None  # where a script is to be made of a test
        self._public = public
        self._reads = reads
        self.clear()

    def clear(self) -> None:
        """Begin a test, whose worker may number its objects anew."""
        if self.whole:
            self.whole.clear()
        self._calls: deque[Call] = deque(maxlen=KEPT)
        self.came = ""  # the last value that came from the submission, in words
        self._kinds: dict[int, str] = {}
        self._makers: dict[int, Call] = {}  # of objects, the calls that returned them
        self._found: dict[int, str] = {}  # what was taken from a module or class, by its path
        self._given: set[int] = set()  # objects that given code has made
        self._backends: set[int] = set()  # objects of the judge's, whatever is called like them

    def take(self, came: str, *, given: bool) -> None:
        """Keep what came; what we count beside what is ``given`` only where it is all there is."""
        if given or self.came in ("", UNREAD):
            self.came = came

    def note(self, target: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Keep a call that is about to be made."""
        kind = self._kinds.get(target[1], "object") if target[0] == "object" else ""
        call = Call(target, args, kwargs, kind)
        for item in _taken(call):
            self._kinds[item.number_] = item.kind_
        if self._calls and (self._is_look(self._calls[-1]) or not self._told(self._calls[-1])):
            self._calls.pop()  # it has changed nothing, and was no failure's
        self._calls.append(call)
        return call

    def _is_look(self, call: Call) -> bool:
        return call.target[0] == "object" and call.target[-1] in self._reads

    def gave(self, call: Call, value: Any) -> None:
        """Keep what came of a call, as far as later ones are about it."""
        if _is_object(value):
            self.returned(call, value.number_, value.kind_)
            return
        call.gave = value is not None
        items = cast(list[Any], value) if isinstance(value, list | tuple) else []
        if items and all(map(_is_object, items)):
            for item in items:
                self._keep(call, item.number_, item.kind_)
            call.items = tuple(item.number_ for item in items)

    def returned(self, call: Call, number: int, kind: str) -> None:
        """Keep that a call returned an object."""
        call.made, call.gave = number, number not in self._given
        self._keep(call, number, kind)

    def _keep(self, call: Call, number: int, kind: str) -> None:
        self._kinds[number] = kind
        if len(self._makers) < MOST_MAKERS:
            self._makers.setdefault(number, call)
        if call.target[0] == "given" or call.of in self._given:
            self._given.add(number)

    def found(self, header: dict[str, Any], answer: Any) -> Any:
        """Keep by which path an object was taken from a module or a class, and return it."""
        number, path = getattr(answer, "number_", None), ""
        match header:
            case {"op": "handle", "target": [*_, str(name)]}:
                path = name
            case {"op": "get", "object": int(owner), "name": str(name)} if owner in self._found:
                path = f"{self._found[owner]}.{name}"
            case {"op": "backend"} if type(number) is int:
                self._backends.add(number)
            case _:
                pass
        if path and type(number) is int:
            self._found[number] = path
            self._kinds[number] = path.partition(".")[0]
        return answer

    @property
    def function(self) -> str:
        """The public name of the submission that the last call was about; "" without a call."""
        told = filter(None, map(self._told, reversed(self._calls)))
        names = [self._function(call) for call in told]
        return next((name for name in names if name in self._public), (names or [""])[0])

    def _function(self, call: Call) -> str:
        """Return the public name that a call is about; what a name made is about that name."""
        if call.of is None:
            return str(call.target[-1])
        maker = self._makers.get(call.of)
        return call.kind if maker is None or call.kind in self._public else self._function(maker)

    def lines(self) -> list[str]:
        """Return the last call and those that its objects have seen, as one could type them.

        What given code was asked after it, to know what is right, is no call of the submission's.
        """
        if not self._calls:
            return []
        told = [call for call in self._calls if self._told(call)] or [self._calls[-1]]
        own = (call for call in reversed(told) if call.target[0] != "given" or self._is_own(call))
        last = next(own, told[-1])
        led = [*filter(None, map(self._told, self._led_to(last)))]
        names = self._names(led)
        lines = [_line(call, names) for call in led]
        if len(lines) <= MOST_LINES:
            return lines
        between = f"… {len(lines) - MOST_LINES} calls"
        return [lines[0], between, *lines[1 - MOST_LINES :]]

    def _led_to(self, last: Call) -> list[Call]:
        """Return, in order, the calls on all objects that the last one has to do with."""
        objects = {*_objects(last)}
        # What made an object is told however long ago it was.
        older = [call for call in dict.fromkeys(self._makers.values()) if call not in self._calls]
        calls = [*older, *[*self._calls][: self._calls.index(last) + 1]]
        while True:
            led = [call for call in calls if call is last or objects & {*_about(call)}]
            found = {number for call in led for number in _objects(call)} - objects
            if not found:
                return led
            objects |= found

    def _told(self, call: Call) -> Call | None:
        """Return a call as a student would make it, or None for what the judge does beside it."""
        if call.of in self._backends:
            if call.target[-1] not in WATCHED:
                return None
            function, *args = call.args
            target = ["object", function.number_, "__call__"]
            args = (*args, *call.kwargs.values())
            return Call(target, args, {}, self._kinds.get(function.number_, "object"))
        if call.of not in self._given or self._is_own(call):
            return call
        called = call.target[-1] == "__call__" and self._was_changed(call.target[1])
        return call if called else None

    def _is_own(self, call: Call) -> bool:
        """Tell whether a call is one of the submission, or given code's with an object of it."""
        given = call.target[0] == "given" or call.of in self._given
        return not given or any(item.number_ not in self._given for item in _taken(call))

    def _was_changed(self, number: int) -> bool:
        """Tell whether a function of the submission had an object of given code, to change it."""
        own = (call for call in self._calls if call.target[0] == "function" and not call.gave)
        return any(number == item.number_ for call in own for item in _taken(call))

    def _names(self, calls: list[Call]) -> Mapping[int, str]:
        """Give each object that calls have to do with a name of its own."""
        names = {**self._found}

        def unused(name: str) -> str:
            others = {other.partition("[")[0] for other in names.values()}
            same = sum(other.rstrip("0123456789") == name for other in others)
            return f"{name}{same + 1}" if same else name

        for call in calls:
            for number in _objects_and_made(call):
                if number not in names:
                    names[number] = unused(self._name_of(number))
            if call.items and call.items[0] not in names:
                several = unused(str(call.target[-1]))
                names |= {each: f"{several}[{i}]" for i, each in enumerate(call.items)}
        return names

    def _name_of(self, number: int) -> str:
        """Return a name for an object: of its kind, or what it was made as: a step."""
        kind, maker = self._kinds.get(number, "object"), self._makers.get(number)
        if kind == "function" and maker is not None and "_" in str(maker.target[-1]).strip("_"):
            kind = str(maker.target[-1]).rpartition("_")[2]
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).strip("_")
        name = words.lower() if words.isidentifier() else "object"
        return f"{name}_" if keyword.iskeyword(name) else name


def public_names(header: dict[str, Any]) -> tuple[str, ...]:
    """Return the public name of the submission that a request is about, if it is about one."""
    match header:
        case {"target": ["object" | "given", *_]}:
            return ()
        case {"target": [_, str(name)]} | {"op": "race", "function": str(name)}:
            return (name,)
        case _:
            return ()


def _taken(call: Call) -> Iterator[Any]:
    """Give the objects of the submission among the arguments of a call."""
    for item in (*call.args, *call.kwargs.values()):
        for value in cast(list[Any], item) if isinstance(item, list | tuple) else [item]:
            if _is_object(value):
                yield value


def _is_object(value: Any) -> bool:
    return type(getattr(value, "number_", None)) is int


def _objects(call: Call) -> Iterator[int]:
    """Give the numbers of the objects that a call takes."""
    if call.of is not None:
        yield call.of
    yield from (item.number_ for item in _taken(call))


def _about(call: Call) -> Iterator[int]:
    """Give the numbers of the objects that a call takes or makes."""
    yield from _objects_and_made(call)
    yield from call.items


def _objects_and_made(call: Call) -> Iterator[int]:
    yield from _objects(call)
    if call.made is not None:
        yield call.made


def _line(call: Call, names: Mapping[int, str]) -> str:
    kind, name = call.target[0], _name(call, names)
    if kind in EACH:
        cases = [_arguments(case[0] if EACH[kind] else case, {}, names) for case in call.args]
        text = f"{name} of {' and of '.join(f'({case})' for case in cases)}{EACH[kind]}"
    else:
        args = call.args[0] if kind == "gradients" else call.args
        made = f"{names[call.made]} = " if call.made is not None and call.made in names else ""
        if call.items and call.items[0] in names:
            made = f"{names[call.items[0]].partition('[')[0]} = "
        given = _arguments(args, call.kwargs, names)
        text = f"{made}{name}({given}){MORE.get(kind, '')}"
    return text if len(text) <= MOST_LINE else f"{text[:MOST_LINE]} …"


def _arguments(args: Any, kwargs: Mapping[str, Any], names: Mapping[int, str]) -> str:
    given = [argument(value, names) for value in args]
    return ", ".join([*given, *(f"{key}={argument(v, names)}" for key, v in kwargs.items())])


def _name(call: Call, names: Mapping[int, str]) -> str:
    if call.of is None:
        return str(call.target[-1])
    name, method = names.get(call.of, "object"), call.target[-1]
    return name if method == "__call__" else f"{name}.{method}"
