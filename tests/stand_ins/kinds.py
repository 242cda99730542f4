"""Values changed in kind: what is almost what a suite expects, and what it may walk over.

Trees are those of the wire (``wire/codec``). ``changed`` returns another for one place of a tree.
"""

import copy
import random
from typing import Any

import torch

from grader.wire.codec import DTYPES

NO_ID = (-1, 257, 4096, 50_000, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63))  # of no vocabulary
FLOATS: tuple[Any, ...] = ({"f": "nan"}, {"f": "inf"}, {"f": "-inf"}, -0.5, -1e300, 1e-300, 0, True)
# What is no plain value stays in the worker; of bytes and sets the judge has the methods.
OBJECTS: tuple[Any, ...] = (
    {"h": [1, "bytes", ["__call__", "decode", "hex", "count", "index"]]},
    {"h": [1, "set", ["add", "pop", "copy"]]},
    {"h": [1 << 40, "generator", ["send", "close"]]},
    {"h": [-1, "", []]},
)
Buffers = list[torch.Tensor]


def changed(draw: random.Random, tree: Any, buffers: Buffers) -> Any:
    """Return another value of a kind near that of the tree; what it adds goes to ``buffers``."""
    if draw.random() < 0.15:
        return stranger(draw, tree)
    match tree:
        case bool():
            return draw.choice([int(tree), float(tree), str(tree), None, not tree])
        case int():
            near = [tree - 1, tree + 1, -tree, float(tree), str(tree), bool(tree), [tree]]
            return draw.choice([*near, *near, *NO_ID])
        case float():
            return draw.choice([*FLOATS, -tree, int(tree), str(tree), [tree]])
        case str():
            return draw.choice([tree[1:], tree * 2, [*tree], OBJECTS[0], 0, None, f"{tree} "])
        case list():
            return items(draw, tree, buffers)
        case {"t": body}:
            return draw.choice([{"t": items(draw, body, buffers)}] * 3 + [body])
        case {"d": pairs}:
            return {"d": entries(draw, pairs)}
        case {"r": [name, pairs]}:
            return draw.choice(
                [{"r": [name, entries(draw, pairs)]}, {"d": pairs}, {"r": ["", pairs]}]
            )
        case {"x": body}:
            return tensor(draw, body, buffers)
        case _:
            return stranger(draw, tree)


def stranger(draw: random.Random, tree: Any) -> Any:
    """Return something of another kind altogether."""
    others = [None, True, 0, -1, 1.5, "", "1", [], {"t": []}, {"d": []}, {"f": "nan"}, [[]]]
    return draw.choice([*others, *OBJECTS, [tree], {"t": [tree]}, {"d": [["0", tree]]}])


def items(draw: random.Random, found: list[Any], buffers: Buffers) -> list[Any]:
    """Return a list with an item dropped, doubled, moved, nested or of another kind."""
    if not found:
        return draw.choice([[0], [None], [[]], [{"t": []}], [-1, -1]])
    place = draw.randrange(len(found))
    item = found[place]
    before, after = found[:place], found[place + 1 :]
    again = doubled(item, buffers)
    ways = [[*before, *after]] * 3 + [[*before, item, again, *after]] * 3
    ways += [[*before, [item], *after], [*before, {"t": [item]}, *after]]
    ways += [[*before, stranger(draw, None), *after]] * 2
    ways += [before, [item], found[::-1], [*after, item, *before], [*found, again], [*found, None]]
    # Further down, most of the time: what is wrong deep inside is seen last.
    if draw.random() < 0.5:
        return [*before, changed(draw, item, buffers), *after]
    return draw.choice(ways)


def doubled(tree: Any, buffers: Buffers) -> Any:
    """Return a value once more: a buffer makes one tensor only."""
    match tree:
        case {"x": [index, *rest]}:
            buffers.append(buffers[index].clone())
            return {"x": [len(buffers) - 1, *rest]}
        case list():
            return [doubled(item, buffers) for item in tree]
        case {"t": body}:
            return {"t": [doubled(item, buffers) for item in body]}
        case _:
            return copy.deepcopy(tree)


def entries(draw: random.Random, pairs: list[Any]) -> list[Any]:
    """Return the entries of a dict with one dropped, renamed, or of another kind."""
    if not pairs:
        return [["x", 0]]
    place = draw.randrange(len(pairs))
    (key, value), before, after = pairs[place], pairs[:place], pairs[place + 1 :]
    other = changed(draw, value, []) if not isinstance(value, dict) else None
    changes = [[], [[f"{key}_", value]], [[key, stranger(draw, None)]], [[key, other]]]
    return [*before, *draw.choice(changes), *after]


def tensor(draw: random.Random, body: list[Any], buffers: Buffers) -> Any:
    """Return a tensor of sizes off by one, other numbers, or its content as lists."""
    index, dtype, shape, layout, device = body
    value = buffers[index].clone().view(DTYPES[dtype])
    if layout is not None or value.numel() != torch.Size(shape).numel():
        return stranger(draw, None)
    value = value.reshape(shape)
    match draw.choice(
        ["short", "long", "number", "number", "dtype", "list", "item", "dims", "turn"]
    ):
        case "short" if shape:
            axis = draw.randrange(len(shape))
            value = value.narrow(axis, 0, max(0, shape[axis] - 1))
        case "long" if shape and value.numel():
            axis = draw.randrange(len(shape))
            value = torch.cat((value, value.narrow(axis, 0, 1)), axis)
        case "number" if value.numel():
            odd: list[Any] = [*NO_ID[:5]] if dtype.startswith("int") else [float("nan"), -1.0, 1e30]
            if dtype in ("int64", "int32", "float32", "float64", "float16", "bfloat16"):
                number = draw.choice(odd)
                value.reshape(-1)[draw.randrange(value.numel())] = min(number, (1 << 31) - 1)
        case "dtype":
            name = draw.choice(["float64", "float32", "int64", "int32", "bool", "uint8"])
            value, dtype = value.to(DTYPES[name]), name
        case "list" if value.numel() < 500 and dtype in ("int64", "float32", "bool", "float64"):
            return plain(value.tolist())
        case "item" if value.numel():
            value = value.reshape(-1)[:1].reshape(draw.choice([(), (1,), (1, 1)]))
        case "turn" if len(shape) > 1:
            value = value.transpose(-1, -2)
        case _:
            value = value[None]
    buffers[index] = value.contiguous().reshape(-1).view(torch.uint8)
    return {"x": [index, dtype, [*value.shape], None, device]}


def plain(value: Any) -> Any:
    """Return numbers as a tree has them."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    finite = not isinstance(value, float) or abs(value) < float("inf")
    return value if finite else {"f": repr(value)}
