"""The wire: every kind of value there and back, every cap, no message that breaks the reader."""

import enum
import itertools
import json
import math
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.sandbox.process import make_arena
from grader.wire import channel as wire
from grader.wire import codec
from grader.wire.channel import PREFIX, Channel
from grader.wire.codec import DTYPES, Packer, Record, Unpacker
from grader.wire.errors import Closed, Late, WireError
from grader.wire.storage import as_bytes

ARENA = 4 << 20


@contextmanager
def ends(apart: int = 0) -> Iterator[tuple[Channel, Channel, socket.socket]]:
    """Two ends of a conversation, and the raw socket of the second one."""
    ours, theirs = socket.socketpair()
    arenas = make_arena(ARENA), make_arena(ARENA)
    there = Channel(theirs, *arenas[::-1], apart=apart)
    with closing(Channel(ours, *arenas)) as near, closing(there) as far:
        for fd in arenas:
            os.close(fd)
        yield near, far, theirs


def send(channel: Channel, value: Any, **header: Any) -> None:
    packer = Packer(special(lambda: packer))
    tree = packer.pack(value)
    channel.send({**header, "value": tree}, packer.buffers, time.monotonic() + 5)


def special(packer: Any) -> Any:
    def pack(value: Any) -> Any:
        if isinstance(value, Tensor):
            return packer().tensor(value, whole=False)
        raise TypeError(type(value).__name__)

    return pack


def resolve(tag: str, body: Any) -> Any:
    match tag:
        case "x":
            return body[0]
        case "r":
            return Record(*body)
        case _:
            raise WireError("an unknown kind of value")


def receive(channel: Channel, *, views: bool = False) -> Any:
    header, buffers = channel.receive(time.monotonic() + 5)
    return Unpacker(buffers, resolve, views=views).unpack(header.get("value"))


def there(value: Any) -> Any:
    """Send a value and return what arrives."""
    with ends() as (near, far, _):
        thread = threading.Thread(target=send, args=(near, value))
        thread.start()
        try:
            return receive(far)
        finally:
            thread.join()


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, Tensor):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return alike and torch.equal(as_bytes(a), as_bytes(b))
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, Record):
        return a.name == b.name and same(a.fields, b.fields)
    return a == b


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    size = math.prod(shape) * dtype.itemsize
    raw = torch.tensor(list(draw(st.binary(min_size=size, max_size=size))), dtype=torch.uint8)
    flat = raw % 2 == 1 if dtype == torch.bool else raw.view(dtype)
    return flat.reshape(shape)


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(list(DTYPES.values())),
    st.sampled_from([torch.device("cpu"), torch.device("cuda", 1)]),
    tensors(),
)
values = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
        st.builds(Record, st.text(max_size=9), st.dictionaries(st.text(max_size=5), inner)),
    ),
    max_leaves=12,
)


@given(values)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_value_comes_back_as_it_went(value: Any) -> None:
    assert same(there(value), value)


@pytest.mark.parametrize("size", [wire.INLINE - 4, wire.INLINE, wire.INLINE + 4, 3 << 20])
def test_tensor_around_the_arena_threshold(size: int) -> None:
    value = [torch.randn(size // 4), torch.arange(7)]

    assert same(there(value), value)


def test_what_came_lies_apart_on_request() -> None:
    sizes = [8, 4096, wire.INLINE + 8, wire.INLINE + 16]

    with ends(apart=1024) as (near, far, _):
        send(near, [torch.zeros(size, dtype=torch.uint8) for size in sizes])
        got = sorted(receive(far), key=torch.Tensor.data_ptr)

    assert sorted(tensor.untyped_storage().nbytes() for tensor in got) == sizes
    for one, next_ in itertools.pairwise(got):
        gap = next_.data_ptr() - (one.data_ptr() + one.nbytes)
        assert gap >= min(one.nbytes, 1024)


def test_payloads_of_not_a_number_keep_their_bits() -> None:
    bits = torch.tensor([0x7FC00001, 0x7F800000, -0x800000, 0x7FA12345], dtype=torch.int32)

    assert torch.equal(there(bits.view(torch.float32)).view(torch.int32), bits)


def test_view_arrives_as_a_view_with_its_neighbours() -> None:
    base = torch.arange(60.0).reshape(5, 12)
    view = base[1:4, 2:9:3].transpose(0, 1)

    with ends() as (near, far, _):
        packer = Packer(lambda value: packer.tensor(value, whole=True))
        near.send({"value": packer.pack(view)}, packer.buffers, None)
        got = receive(far, views=True)

    assert torch.equal(got, view)
    assert (got.stride(), got.storage_offset()) == (view.stride(), view.storage_offset())
    neighbours = torch.empty(0).set_(got.untyped_storage())
    assert torch.equal(neighbours, base.flatten())


def test_only_the_judge_may_send_a_view() -> None:
    with ends() as (near, far, _):
        packer = Packer(lambda value: packer.tensor(value, whole=True))
        near.send({"value": packer.pack(torch.ones(3))}, packer.buffers, None)

        with pytest.raises(WireError, match="strides"):
            receive(far)


def test_tensor_of_bools_holds_zeros_and_ones_only() -> None:
    raw = torch.tensor([0, 7, 255, 1, 0, 128], dtype=torch.uint8)

    got = Unpacker([raw], resolve).unpack({"x": [0, "bool", [2, 3], None, "cpu"]})

    assert got.view(torch.uint8).flatten().tolist() == [0, 1, 1, 1, 0, 1]


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, Colour.RED, Text("a"), {1: 2}, {1}])
def test_what_is_not_plain_is_left_to_the_special_case(value: Any) -> None:
    asked: list[Any] = []

    Packer(asked.append).pack([value])

    assert len(asked) == 1
    assert asked[0] is value


# -- caps -----------------------------------------------------------------------------------


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_depth_is_capped_on_both_sides() -> None:
    assert same(there(nested(codec.MAX_DEPTH)), nested(codec.MAX_DEPTH))
    with pytest.raises(ValueError, match="nested too deeply"):
        Packer(repr).pack(nested(codec.MAX_DEPTH + 1))
    with pytest.raises(WireError, match="nested too deeply"):
        Unpacker([], resolve).unpack(nested(codec.MAX_DEPTH + 1))


def test_items_are_capped_on_both_sides() -> None:
    most = [0] * (codec.MAX_NODES - 1)

    assert Unpacker([], resolve).unpack(Packer(repr).pack(most)) == most
    with pytest.raises(ValueError, match="too many items"):
        Packer(repr).pack([*most, 0])
    with pytest.raises(WireError, match="too many items"):
        Unpacker([], resolve).unpack([*most, 0])


def test_header_is_capped_on_both_sides() -> None:
    with ends() as (near, _, raw):
        with pytest.raises(ValueError, match="at most 2 MiB"):
            near.send({"value": "a" * wire.MAX_HEADER}, [], None)

        raw.send(PREFIX.pack(wire.MAX_HEADER + 1, 0))
        with pytest.raises(WireError, match="oversized"):
            near.receive(time.monotonic() + 5)


def test_arena_is_capped_on_the_sending_side() -> None:
    with ends() as (near, _, _), pytest.raises(ValueError, match="at most 4 MiB"):
        near.send({}, [torch.zeros(3 << 20, dtype=torch.uint8)] * 2, None)


def test_dimensions_are_capped() -> None:
    tree = {"x": [0, "uint8", [1] * (codec.MAX_DIMS + 1), None, "cpu"]}

    with pytest.raises(WireError, match="malformed shape"):
        Unpacker([torch.zeros(1, dtype=torch.uint8)], resolve).unpack(tree)


@pytest.mark.parametrize(
    "places",
    [
        None,
        {},
        7,
        [[1, -1]] * (wire.MAX_BUFFERS + 1),
        [7],
        [[1]],
        [[1, -1, 0]],
        [[True, -1]],
        [[1.0, -1]],
        [["1", -1]],
        [[-1, -1]],
        [[wire.INLINE + 1, -1]],
        [[wire.INLINE + 1, -2]],
        [[5, 0]],  # small ones come inline
        [[wire.INLINE + 1, ARENA - wire.INLINE]],
        [[1 << 40, 0]],
        [[10**30, 0]],
        [[wire.INLINE + 1, 10**30]],
        [[ARENA, 0], [ARENA, 0]],  # more than the arena holds
        [[3, -1]],  # announced, not sent
    ],
)
def test_malformed_buffers_are_refused(places: Any) -> None:
    with ends() as (near, _, raw):
        text = json.dumps({"buffers": places}).encode()
        feed(raw, PREFIX.pack(len(text), 0) + text)

        with pytest.raises(WireError):
            near.receive(time.monotonic() + 5)


def feed(raw: socket.socket, data: bytes) -> None:
    """Send from a thread, so that data beyond the socket's buffer does not block the test."""
    raw.setblocking(True)

    def run() -> None:
        try:
            raw.sendall(data)
            raw.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    threading.Thread(target=run, daemon=True).start()


def test_later_writes_to_the_arena_change_nothing() -> None:
    value = torch.arange(1 << 18, dtype=torch.int32)
    with ends() as (near, far, _):
        send(near, value)
        got = receive(far)
        send(near, torch.zeros_like(value))  # overwrites the same place

        assert torch.equal(got, value)


def test_arena_cannot_be_resized_or_unsealed() -> None:
    fd = make_arena(1 << 16)
    try:
        for size in (0, 1 << 20):
            with pytest.raises(PermissionError):
                os.ftruncate(fd, size)
    finally:
        os.close(fd)


# -- values that no packer makes ---------------------------------------------------------------

FOUR = torch.zeros(4, dtype=torch.uint8)


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"t": [], "d": []},
        {"?": 1},
        {"t": None},
        {"t": {"t": []}},
        {"d": [1]},
        {"d": [[1, 2]]},
        {"d": [["a"]]},
        {"d": [["a", 1, 2]]},
        {"d": {"a": 1}},
        {"f": "1e5"},
        {"f": []},
        {"y": "float31"},
        {"y": []},
        {"v": "abacus"},
        {"v": "cuda:99999999999999999999"},
        {"v": None},
        {"v": ["cpu"]},
        {"r": []},
        {"r": [1, []]},
        {"r": ["a", [[1, 1]]]},
        {"w": 1},
        {"h": 1},
        {"x": None},
        {"x": []},
        {"x": [0, "uint8", [4], None]},
        {"x": [1, "uint8", [4], None, "cpu"]},
        {"x": [-1, "uint8", [4], None, "cpu"]},
        {"x": [True, "uint8", [4], None, "cpu"]},
        {"x": [10**30, "uint8", [4], None, "cpu"]},
        {"x": [0, "uint8", [5], None, "cpu"]},
        {"x": [0, "uint8", [-1], None, "cpu"]},
        {"x": [0, "uint8", [2.0, 2], None, "cpu"]},
        {"x": [0, "uint8", [True, 4], None, "cpu"]},
        {"x": [0, "uint8", [1 << 62, 1 << 62, 0], None, "cpu"]},
        {"x": [0, "uint8", [1 << 63], None, "cpu"]},
        {"x": [0, "uint8", [1 << 70, 0], None, "cpu"]},
        {"x": [0, "float64", [1], None, "cpu"]},
        {"x": [0, "quint8", [4], None, "cpu"]},
        {"x": [0, None, [4], None, "cpu"]},
        {"x": [0, "uint8", "4", None, "cpu"]},
        {"x": [0, "uint8", [4], None, 3]},
        {"x": [0, "uint8", [4], [[1], 0], "cpu"]},
        1 << 63,
        [[10**30]],
    ],
    ids=lambda tree: json.dumps(tree)[:60],
)
def test_malformed_value_is_refused(tree: Any) -> None:
    with pytest.raises(WireError):
        Unpacker([FOUR], resolve).unpack(tree)


@pytest.mark.parametrize(
    "layout",
    [[[1], 1], [[1 << 40], 0], [[2], 0], [[1], -1], [[-1], 3], [[1, 1], 0], [[1], 1 << 70], 7],
    ids=repr,
)
def test_view_outside_its_storage_is_refused(layout: Any) -> None:
    with pytest.raises(WireError):
        Unpacker([FOUR], resolve, views=True).unpack({"x": [0, "uint8", [4], layout, "cpu"]})


def test_buffer_makes_one_tensor_only() -> None:
    """A thousand tensors of bools from one buffer would each be a copy of it."""
    tree = {"x": [0, "bool", [4], None, "cpu"]}

    with pytest.raises(WireError):
        Unpacker([FOUR], resolve).unpack([tree, tree])


@pytest.mark.parametrize("number", [0.5, math.inf, -math.inf])
def test_a_float_of_numpy_is_packed_as_a_float(number: float) -> None:
    """A student's numpy.float64 is a float; the tree holds a plain one."""
    tree = Packer(repr).pack(np.float64(number))

    assert Unpacker([], resolve).unpack(json.loads(json.dumps(tree))) == number


# -- noise ---------------------------------------------------------------------------------------


def recorded() -> bytes:
    """Return the bytes of a message that holds every kind of value."""
    value = {
        "a": [1, -2.5, None, True, "text", (torch.float16, torch.device("cpu"))],
        "b": Record("Config", {"width": 3, "nan": math.nan}),
        "c": [torch.randn(2, 3), torch.tensor([True, False]), torch.randn(1 << 15)],
    }
    with ends() as (near, _, raw):
        send(near, value, op="value", id=3)
        raw.setblocking(True)
        return raw.recv(1 << 20)


MESSAGE = recorded()


def read_noise(data: bytes) -> None:
    with ends() as (near, _, raw):
        feed(raw, data)
        try:
            receive(near)
        except WireError:
            pass  # Closed is one


def test_recorded_message_is_whole() -> None:
    with ends() as (near, _, raw):
        feed(raw, MESSAGE)
        assert receive(near)["a"][:2] == [1, -2.5]


@given(st.integers(0, len(MESSAGE) - 1))
@settings(deadline=None)
def test_truncated_message_says_closed(length: int) -> None:
    with ends() as (near, _, raw):
        feed(raw, MESSAGE[:length])
        with pytest.raises(Closed):
            receive(near)


@given(st.lists(st.integers(0, len(MESSAGE) * 8 - 1), min_size=1, max_size=6))
@settings(deadline=None, max_examples=300)
def test_flipped_bits_raise_wire_error_or_nothing(bits: list[int]) -> None:
    data = bytearray(MESSAGE)
    for bit in bits:
        data[bit // 8] ^= 1 << bit % 8

    read_noise(bytes(data))


@given(st.binary(max_size=300), st.integers(0, 60), st.integers(0, 60))
@settings(deadline=None)
def test_noise_raises_wire_error(noise: bytes, length: int, inline: int) -> None:
    read_noise(PREFIX.pack(length, inline) + noise)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("ftdyvrxwhgc?"), inner, min_size=1, max_size=1)
    ),
    max_leaves=15,
)


@given(json_values)
@settings(deadline=None, max_examples=300)
def test_any_json_is_a_value_or_a_wire_error(tree: Any) -> None:
    buffers = [torch.zeros(4, dtype=torch.uint8)]
    try:
        Unpacker(buffers, resolve).unpack(tree)
    except WireError:
        pass


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"1", b'"a"', b"{", b"\xff\xfe", b'{"a":' + b"1" * 5000 + b"}", b"[" * 200_000],
    ids=["nothing", "list", "number", "text", "open", "bytes", "digits", "nesting"],
)
def test_header_that_is_no_object_is_refused(text: bytes) -> None:
    with ends() as (near, _, raw):
        feed(raw, PREFIX.pack(len(text), 0) + text)
        with pytest.raises(WireError):
            near.receive(time.monotonic() + 5)


# -- time ---------------------------------------------------------------------------------------


def test_silence_ends_at_the_deadline() -> None:
    with ends() as (near, _, raw):
        raw.send(PREFIX.pack(100, 0) + b"half")
        started = time.monotonic()

        with pytest.raises(Late):
            near.receive(started + 0.2)

        assert 0.2 <= time.monotonic() - started < 2


def test_reader_that_reads_nothing_ends_at_the_deadline() -> None:
    with ends() as (near, _, _):
        with pytest.raises(Late):
            near.send({"value": "a" * (1 << 20)}, [], time.monotonic() + 0.2)


def test_other_side_that_is_gone_is_closed() -> None:
    with ends() as (near, far, _):
        far.close()

        with pytest.raises(Closed):
            near.receive(time.monotonic() + 5)
        with pytest.raises(Closed):
            near.send({"value": "a" * (1 << 20)}, [], time.monotonic() + 5)
