"""No message of a worker may crash, hang, exhaust or confuse the judge: the worst is a verdict.

The judge's part of each example is ``hostile.converse``; it fails on any exception that is no
``SubmissionFault``, on a value that the wire must not bring, and on an object used out of turn.
"""

import json
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st
from stand_ins.fuzzing import fuzz
from stand_ins.hostile import ARENA, WHOLE, play, record

from grader.wire.channel import INLINE, PREFIX
from grader.wire.codec import DTYPES

FRAMES = record()
NUM_STEPS = sum(WHOLE.values())


def tell(seen: Any) -> None:
    for how in seen:
        event(how)
    assert sum(seen.values()) == NUM_STEPS


# -- a recorded conversation, changed ----------------------------------------------------------


def test_recorded_conversation_can_be_played_again() -> None:
    seen = play(FRAMES)

    assert seen == WHOLE


@st.composite
def spoilt(draw: st.DrawFn) -> list[bytes]:
    """The recorded frames after some accidents."""
    frames = [bytearray(frame) for frame in FRAMES]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(frames) - 1)) if frames else 0
        if not frames:
            break
        frame = frames[at]
        match draw(st.sampled_from("flip cut drop twice swap splice jump".split())):
            case "flip":
                for _ in range(draw(st.integers(1, 8))):
                    if frame:
                        bit = draw(st.integers(0, len(frame) * 8 - 1))
                        frame[bit // 8] ^= 1 << bit % 8
            case "cut":
                del frame[draw(st.integers(0, len(frame))) :]
            case "drop":
                del frames[at]
            case "twice":
                frames.insert(at, bytearray(frame))
            case "swap":
                frames.insert(draw(st.integers(0, len(frames) - 1)), frames.pop(at))
            case "splice":
                other = draw(st.sampled_from(FRAMES))
                cut = draw(st.integers(0, len(other)))
                frame[draw(st.integers(0, len(frame))) :] = other[cut:]
            case "jump":
                del frames[:at]
    return [bytes(frame) for frame in frames]


@given(spoilt(), st.integers(0, 99), st.integers(-1, 40))
@fuzz(150)
def test_spoilt_conversation(frames: list[bytes], seed: int, oob: int) -> None:
    tell(play(frames, seed, oob))


@given(st.data())
@fuzz(150)
def test_header_with_one_place_changed(data: st.DataObject) -> None:
    """Framing, length and turn are right: what is wrong is inside."""
    at = data.draw(st.integers(0, len(FRAMES) - 1), label="frame")
    length, inline = PREFIX.unpack_from(FRAMES[at])
    header = json.loads(FRAMES[at][PREFIX.size : PREFIX.size + length])
    holder, key = data.draw(st.sampled_from(places(header)), label="place")
    holder[key] = data.draw(trees, label="new")
    text = json.dumps(header).encode()
    rest = FRAMES[at][PREFIX.size + length :]
    frame = PREFIX.pack(len(text), inline) + text + rest

    tell(play([*FRAMES[:at], frame, *FRAMES[at + 1 :]]))


def places(tree: Any) -> list[tuple[Any, Any]]:
    """List every place in a JSON tree as (holder, key)."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    here = [(tree, key) for key in keys]
    return here + [place for holder, key in here for place in places(holder[key])]


# -- messages made up ------------------------------------------------------------------------

odd_numbers = st.sampled_from([-1, 0, 1, 2, 3, 1 << 31, (1 << 63) - 1, 1 << 63, -(1 << 63), 10**40])
numbers = odd_numbers | st.integers(0, 40)
texts = st.sampled_from(["", "a", "get", "value", "__class__", "\ud800", "\0\x1b[2J", "é" * 500])
dtypes = st.sampled_from([*DTYPES, "quint8", "float31", "", "complex32"])
plain = st.none() | st.booleans() | numbers | st.floats() | texts
shapes = st.lists(numbers, max_size=5) | st.just([1] * 17) | st.just([100_001, 0])


@st.composite
def tensor_trees(draw: st.DrawFn) -> Any:
    layout = draw(st.none() | st.tuples(shapes, numbers).map(list))
    device = draw(st.sampled_from(["cpu", "cuda:0", "meta", "", "x" * 99]) | plain)
    return {"x": [draw(numbers), draw(dtypes), draw(shapes), layout, device]}


def tagged(inner: Any) -> Any:
    items = st.lists(inner, max_size=4)
    pairs = st.lists(st.tuples(texts | inner, inner).map(list), max_size=4)
    handle = st.tuples(numbers, texts | inner, st.lists(texts | inner, max_size=4)).map(list)
    tags = st.sampled_from([*"ftdyvrxwhgc", "?", ""])
    return st.one_of(
        items,
        items.map(lambda body: {"t": body}),
        pairs.map(lambda body: {"d": body}),
        st.tuples(texts, pairs).map(lambda body: {"r": list(body)}),
        handle.map(lambda body: {"h": body}),
        st.dictionaries(tags, inner, max_size=2),
    )


leaves = plain | tensor_trees() | dtypes.map(lambda name: {"y": name})
trees = st.recursive(leaves, tagged, max_leaves=12)
arguments = st.tuples(st.lists(trees, max_size=2), st.lists(st.tuples(texts, trees), max_size=2))
asked = arguments.map(lambda a: {"t": [{"t": a[0]}, {"d": [list(pair) for pair in a[1]]}]})


@st.composite
def headers(draw: st.DrawFn, number: int) -> dict[str, Any]:
    """A header for the request of that number, mostly plausible."""
    op = draw(st.sampled_from(["value"] * 4 + ["error"] * 2 + ["ask"] * 3 + ["answer", "load", ""]))
    header: dict[str, Any] = {"op": op, "id": draw(st.just(number) | st.just(number) | numbers)}
    match op:
        case "error":
            frame = st.tuples(numbers, texts).map(list) | trees
            header |= {"kind": draw(texts | plain), "message": draw(texts | plain)}
            header |= {"bases": draw(st.lists(texts | trees, max_size=4) | trees)}
            header |= {"frames": draw(st.lists(frame, max_size=4) | trees)}
        case "ask":
            header |= {"object": draw(numbers), "value": draw(asked | trees | st.none())}
            header |= {"name": draw(st.sampled_from(["__call__", "width", "is_lent"]) | texts)}
        case _:
            header |= {"value": draw(trees)}
    return header


@st.composite
def places_of_buffers(draw: st.DrawFn) -> tuple[Any, int]:
    """A list of buffers and how many bytes come with it, mostly as they should be."""
    small = st.integers(0, 64).map(lambda n: [n, -1])
    large = st.sampled_from([INLINE + 1, 1 << 18, ARENA - 64, ARENA]).map(lambda n: [n, 0])
    wrong = st.tuples(numbers, numbers).map(list) | plain
    items = draw(st.lists(small | large | st.one_of(small, wrong), max_size=5))
    right = sum(
        item[0] for item in items if isinstance(item, list) and item[1] == -1 and item[0] < 1 << 20
    )
    inline = max(0, right) if draw(st.integers(0, 9)) else draw(st.integers(0, 1 << 20))
    return (items, inline) if draw(st.integers(0, 9)) else (draw(trees), inline)


@st.composite
def messages(draw: st.DrawFn, number: int) -> bytes:
    header = draw(headers(number))
    buffers, inline = draw(places_of_buffers())
    if draw(st.integers(0, 19)):
        header["buffers"] = buffers
    text = json.dumps(header).encode(draw(st.sampled_from(["utf-8"] * 9 + ["utf-16", "utf-32"])))
    length = len(text) if draw(st.integers(0, 19)) else draw(st.integers(0, (1 << 32) - 1))
    return PREFIX.pack(length, inline) + text + b"\x01" * min(inline, 1 << 20)


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Some frames as they were recorded, so that a later request is met; then what is made up."""
    start = draw(st.integers(0, len(FRAMES) - 1))
    count = draw(st.integers(1, 4))
    made = [draw(messages(start + 1 + index)) for index in range(count)]
    return [*FRAMES[:start], *made, *FRAMES[start + 1 :]]


@given(conversations(), st.integers(0, 9))
@fuzz(300)
def test_messages_that_no_worker_of_ours_sends(pieces: list[bytes], seed: int) -> None:
    tell(play(pieces, seed))
