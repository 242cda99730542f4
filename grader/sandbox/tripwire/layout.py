"""How CPython lays its objects out, found by looking at some of this process's own.

A worker runs the same interpreter. Of each kind of object: the ranges that honest running leaves
alone. Instructions are specialised in place as they run, so they are compared by what they were
compiled to, without their caches; that is known for CPython 3.11 and 3.12, elsewhere instructions
are left out. Where an object is not laid out as it should be, nothing is known at all.
"""

import ctypes
import gc
import opcode
import struct
import sys
from functools import cache, lru_cache
from types import CodeType, FunctionType
from typing import Any

WORD = 8
USED = 16  # of a dictionary: where HEADER begins
HEADER = struct.Struct("=QQQ")  # used, version, keys
TABLE = struct.Struct("=8xBBBxI8xQ")  # of keys: log2 of size, of bytes of indices, kind, entries
GENERAL, UNICODE = 0, 1  # kinds: entries with a hash, and without
SIZE_OF_TUPLE, ITEMS = 16, 24
IN_CELL = 16
VECTORCALL_OFFSET = 56  # of a type: where its instances have theirs
# Of a type: the slots that Python code can change, without that of __getattr__ (144), which the
# interpreter itself replaces when it first looks for one.
SLOTS = ((48, 96), (152, 16))
WARM = ((3, 11), (3, 12))  # versions whose instructions are known
INSTRUMENTED = "INSTRUMENTED_"


def _example() -> Any:
    held = [0]

    def inner(first: Any, second: Any = (1, 2), *, third: Any = 3) -> Any:
        return held, first, second, third, len

    return inner


def words(thing: Any, count: int) -> list[int]:
    """Return the first words of an object of this process."""
    return list((ctypes.c_size_t * count).from_address(id(thing)))


def _offset(thing: Any, part: Any, count: int) -> int:
    """Return where an object refers to another; raises ValueError if it does not."""
    return words(thing, count).index(id(part)) * WORD


class Layout:
    """Offsets in objects of this interpreter; raises ValueError where they are not as expected."""

    def __init__(self) -> None:
        function: Any = _example()
        code: CodeType = function.__code__
        size = FunctionType.__basicsize__ // WORD
        parts = (
            *(FunctionType, function.__globals__, code, function.__defaults__),
            *(function.__kwdefaults__, function.__closure__, function.__builtins__),
        )
        places = [_offset(function, part, size) for part in parts]
        self.code_of_function = places[2]
        call = ctypes.c_ssize_t.from_address(id(FunctionType) + VECTORCALL_OFFSET).value
        first, last = min(places), max(places) + WORD
        self.function = ((first, last - first), (call, WORD))
        self.version = (call + WORD, 4)  # what specialised calls know a function by
        self.instructions = CodeType.__basicsize__
        fields = [
            _offset(code, part, self.instructions // WORD)
            for part in (code.co_consts, code.co_names, code.co_exceptiontable)
        ]
        self.code = tuple((place, WORD) for place in sorted(fields))
        self.type = (*SLOTS, *((place, WORD) for place in _of_type()))
        _check_dictionary()
        kept: tuple[Any, ...] = (function, code)
        if words(kept, 5)[2:] != [2, id(function), id(code)]:
            raise ValueError("a tuple")


def _of_type() -> list[int]:
    sample = type("Sample", (), {"method": len})
    space = next(item for item in gc.get_referents(sample.__dict__) if isinstance(item, dict))
    return [_offset(sample, part, 50) for part in (space, sample.__bases__, sample.__mro__)]


def _check_dictionary() -> None:
    """Raise ValueError if a dictionary is not laid out as we read it."""
    for sample in ({"a": [1], "b": [2]}, {1: [1], "b": [2]}):
        used, _, keys = struct.unpack_from("=QQQ", ctypes.string_at(id(sample) + USED, 24))
        found = entries(ctypes.string_at(keys, TABLE.size + 256), keys, ctypes.string_at)
        expected = {id(key): id(value) for key, value in sample.items()}
        if used != 2 or {key: value for key, (value, _) in found.items()} != expected:
            raise ValueError("a dictionary")


def entries(head: bytes, keys: int, read: Any) -> dict[int, tuple[int, int]]:
    """Return the values of a dictionary, and where it has them, by the addresses of its keys.

    ``head`` is what lies at ``keys``; ``read`` returns bytes at an address.
    """
    start, size, count = table(head, keys)
    data = struct.unpack(f"={size * count // WORD}Q", read(start, size * count))
    each = size // WORD
    rows = range(0, len(data), each)
    at = each - 2  # a hash may come first
    return {
        data[row + at]: (data[row + at + 1], start + (row + at + 1) * WORD)
        for row in rows
        if data[row + at + 1]
    }


def table(head: bytes, keys: int) -> tuple[int, int, int]:
    """Return where the entries of a dictionary begin, the bytes of one, and how many there are."""
    _, indices, kind, _, count = TABLE.unpack_from(head)
    if kind not in (GENERAL, UNICODE) or indices > 24 or count > 1 << 20:
        raise ValueError("a dictionary")
    return keys + TABLE.size + (1 << indices), (3 - kind) * WORD, count


@cache
def layout() -> Layout | None:
    """Return the layout, or None if it is not known here."""
    known = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info[:2] <= (3, 13)
    try:
        return Layout() if known and sys.maxsize > 1 << 32 else None
    except (ValueError, IndexError, StopIteration):
        return None


@cache
def _compiled() -> tuple[bytes, bytes, frozenset[int]] | None:
    """Return what each instruction was compiled as, how many caches follow that, and wildcards."""
    if sys.version_info[:2] not in WARM:
        return None
    known = {number: name for name, number in opcode.opmap.items() if number < 256}
    bases = bytearray(range(256))
    example: CodeType = _example().__code__
    for number in range(1, 256):
        if number not in known:  # specialised, or nothing at all: the interpreter knows of what
            code = bytes((number, 0)) + bytes((opcode.opmap["NOP"], 0)) * 20
            bases[number] = example.replace(co_code=code).co_code[0]
    for number, name in known.items():
        plain = opcode.opmap.get(name.removeprefix(INSTRUMENTED))
        if name.startswith(INSTRUMENTED) and plain is not None:
            bases[number] = plain
    wild = {
        number
        for number, name in known.items()
        if name in ("INSTRUMENTED_LINE", "INSTRUMENTED_INSTRUCTION")
    }
    caches: Any = opcode._inline_cache_entries  # pyright: ignore
    return bytes(bases), bytes(caches[number] for number in range(256)), frozenset(wild)


@lru_cache(maxsize=2048)
def instructions(raw: bytes) -> tuple[int, ...] | None:
    """Return instructions as they were compiled; None where that is not known.

    An instruction that is observed is -1, and what follows it 0: it could be any. Each look reads
    what the last one left and what other workers came to as well, so answers are kept.
    """
    found = _compiled()
    if found is None:
        return None
    bases, caches, wild = found
    plain = [0] * len(raw)
    at = 0
    while at < len(raw):
        number = raw[at]
        if number in wild:
            plain[at] = -1
        else:
            plain[at], plain[at + 1] = bases[number], raw[at + 1]
        at += 2 + 2 * caches[bases[number]]
    return tuple(plain)


def same(before: bytes, now: bytes) -> bool:
    """Tell whether two states of a function's instructions were compiled from the same code."""
    first, second = instructions(before), instructions(now)
    if first == second or first is None or second is None:
        return True
    return len(first) == len(second) and all(
        x == y or -1 in (x, y) for x, y in zip(first, second, strict=True)
    )
