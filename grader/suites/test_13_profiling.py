"""Hidden suite of lab 13. Counts are exact; traces are drawn together with their truth, in whole
quarters of a microsecond, so that right sums are exact too, in any order; the device that is
measured is ours, and notes what is called.
"""

import gzip
import json
import math
import random
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.suite import assert_equal, assert_unmodified, check, expect, task
from reference import profiling as oracle
from reference.scripted.queued import Device
from reference.scripted.traced import Trace, drawn, long

FIELDS = {
    "vocab_size": 97, "hidden_size": 40, "intermediate_size": 108, "num_layers": 3,
    "num_heads": 6, "num_kv_heads": 2, "head_dim": 14, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
    "rope_scaling": None, "max_position_embeddings": 512, "tie_word_embeddings": False,
    "bos_token_id": None, "eos_token_ids": (2,),
}  # fmt: skip


def config_of(student: Any, **sizes: Any) -> Any:
    return student.record("LlamaConfig", **(FIELDS | sizes))


def drawn_config(student: Any, draw: Any, **sizes: Any) -> Any:
    """A config of odd sizes, whose heads together are not as wide as the model."""
    keys, groups, width = draw.integer(1, 5), draw.integer(2, 6), draw.integer(3, 20)
    hidden = keys * groups * width + draw.integer(1, 40)
    names = {
        "vocab_size": draw.integer(50, 999), "hidden_size": hidden,
        "intermediate_size": 2 * hidden + draw.integer(1, 60), "num_layers": draw.integer(2, 6),
        "num_heads": keys * groups, "num_kv_heads": keys, "head_dim": width,
        "tie_word_embeddings": draw.integer(0, 2) == 1,
    }  # fmt: skip
    return config_of(student, **(names | sizes))


STEPS = {"prefill": (3, 17, 17), "chunk": (2, 5, 23), "decode": (7, 1, 31), "one": (1, 1, 1)}
each_step = pytest.mark.parametrize("step", STEPS)
HUGE = {
    "vocab_size": 128_257, "hidden_size": 16_383, "intermediate_size": 53_249, "num_layers": 127,
    "num_heads": 129, "num_kv_heads": 3, "head_dim": 127,
}  # fmt: skip


def number(value: Any, what: str) -> float:
    return expect(value, int | float, what)


def assert_counts(got: Any, want: dict[str, int], *names: str) -> None:
    """All names of ``want`` are there, and those named are right."""
    got = expect(got, dict, "the result")
    check({*got} == {*want}, f"the result has the names {sorted(got)}, expected {sorted(want)}")
    for name in names:
        assert_equal(got[name], want[name], name)


# --- flops -----------------------------------------------------------------------------------


@task("flops", contract=1, gate=True)
@each_step
def test_projections_and_mlp(student, draw, step):
    """qkv, output and mlp are the products with the matrices of all layers, two for each term."""
    for _ in range(3):
        config = drawn_config(student, draw)
        got = student.step_flops(config, *STEPS[step])
        assert_counts(got, oracle.step_flops(config, *STEPS[step]), "qkv", "output", "mlp")


@task("flops", contract=1)
def test_one_key_head_and_as_many_as_queries(student, draw):
    """qkv has G heads for keys and for values: one, or as many as for queries."""
    for heads, keys in ((6, 1), (6, 6), (1, 1)):
        config = drawn_config(student, draw, num_heads=heads, num_kv_heads=keys)
        got = student.step_flops(config, 2, 3, 9)
        assert_counts(got, oracle.step_flops(config, 2, 3, 9), "qkv", "output")


@task("flops", contract=2)
@each_step
def test_scores_and_values(student, draw, step):
    """scores and values are T times S products of width D for each head, masked ones too."""
    for _ in range(3):
        config = drawn_config(student, draw)
        got = student.step_flops(config, *STEPS[step])
        assert_counts(got, oracle.step_flops(config, *STEPS[step]), "scores", "values")


@task("flops", contract=3)
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_head_of_every_token(student, draw, tied):
    """The head makes logits of every token, whosever weights it has."""
    for step in STEPS.values():
        config = drawn_config(student, draw, tie_word_embeddings=tied)
        got = student.step_flops(config, *step)
        assert_counts(got, oracle.step_flops(config, *step), "head")


@task("flops", contract=4)
def test_pairs_of_a_causal_mask(student, draw):
    """causal_pairs counts the True of a causal mask whose last query sees the last key."""
    for new, context in ((1, 1), (1, 9), (5, 5), (4, 5), (2, 2), (draw.integer(5, 30), 31)):
        got = student.causal_pairs(new, context)
        assert_equal(got, oracle.causal_pairs(new, context), f"the pairs of {new} and {context}")


@task("flops", contract=4)
def test_pairs_of_long_texts(student, draw):
    """Counts above 2 ** 53 are exact."""
    new, context = 200_000_000 + draw.integer(1, 99), 300_000_001
    want = new * context - sum((new * (new - 1),)) // 2
    assert_equal(student.causal_pairs(new, context), want, "the pairs")


BAD_STEPS = [
    ("batch", (0, 1, 1)), ("batch", (-3, 1, 8)), ("new", (1, 0, 4)), ("new", (2, -1, 4)),
    ("context", (1, 4, 3)), ("context", (1, 1, 0)), ("context", (3, 7, -7)),
]  # fmt: skip


@task("flops", contract=5)
@pytest.mark.parametrize("name", ["batch", "new", "context"])
def test_steps_that_are_none(student, name):
    """A batch or new tokens below 1, or a context that lacks new tokens: ValueError."""
    for wrong, step in BAD_STEPS:
        if wrong == name:
            with student.raises(ValueError, naming=name):
                student.step_flops(config_of(student), *step)
            if name != "batch":
                with student.raises(ValueError, naming=name):
                    student.causal_pairs(*step[1:])


@task("flops", contract=5)
def test_counts_of_a_huge_model(student):
    """Counts are ints, exact where floats of 53 bits would round."""
    config = config_of(student, **HUGE)
    want = oracle.step_flops(config, 63, 1001, 131_071)
    assert_counts(student.step_flops(config, 63, 1001, 131_071), want, *want)


# --- bytes -----------------------------------------------------------------------------------


@task("bytes", contract=6, gate=True)
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_weights_once(student, draw, tied):
    """Matrices, norms and head are read once a step, and of the table a row for each token."""
    for step in STEPS.values():
        config = drawn_config(student, draw, tie_word_embeddings=tied)
        got = student.step_bytes(config, *step)
        assert_counts(got, oracle.step_bytes(config, *step), "weights")


@task("bytes", contract=6)
def test_more_tokens_than_rows_of_the_table(student, draw):
    """Each token reads its row, even if the table has fewer rows than there are tokens."""
    config = drawn_config(student, draw, vocab_size=11, num_kv_heads=1)
    got = student.step_bytes(config, 5, 40, 40)
    assert_counts(got, oracle.step_bytes(config, 5, 40, 40), "weights")


@task("bytes", contract=7)
@each_step
def test_cache_read_and_written(student, draw, step):
    """Keys and values of G heads: all positions are read, the new ones written."""
    for sizes in ({}, {"num_kv_heads": 1, "num_heads": 4}, {"num_kv_heads": 5, "num_heads": 5}):
        config = drawn_config(student, draw, **sizes)
        got = student.step_bytes(config, *STEPS[step])
        assert_counts(got, oracle.step_bytes(config, *STEPS[step]), "cache_read", "cache_write")


@task("bytes", contract=8)
@pytest.mark.parametrize(
    ("weight_bytes", "cache_bytes"), [(0.5, 1.0), (4.0, 0.5), (0.5625, 2.0), (1.0, 0.28125)]
)
def test_widths(student, draw, weight_bytes, cache_bytes):
    """Weights and cache have widths of their own, of parts of a byte too, and are rounded up."""
    for _ in range(3):
        # An odd number of elements: three layers and heads of odd width, an odd vocabulary.
        odd = {"hidden_size": 41, "head_dim": 7, "num_kv_heads": 1, "vocab_size": 98}
        config = drawn_config(student, draw, num_layers=3, **odd)
        step = (draw.choice([1, 3]), 1, draw.choice([9, 11, 13]))
        want = oracle.step_bytes(config, *step, weight_bytes, cache_bytes)
        got = student.step_bytes(config, *step, weight_bytes, cache_bytes)
        assert_counts(got, want, *want)


@task("bytes", contract=8)
def test_each_width_alone(student, draw):
    """Widths may be named, and the one that is not is 2."""
    config = drawn_config(student, draw)
    for named in ({"weight_bytes": 1.0}, {"cache_bytes": 1.0}, {}):
        want = oracle.step_bytes(config, 2, 3, 7, **named)
        assert_counts(student.step_bytes(config, 2, 3, 7, **named), want, *want)


@task("bytes", contract=9)
@pytest.mark.parametrize("name", ["batch", "new", "context"])
def test_bytes_of_steps_that_are_none(student, name):
    """What is no step is refused here too."""
    for wrong, step in BAD_STEPS:
        if wrong == name:
            with student.raises(ValueError, naming=name):
                student.step_bytes(config_of(student), *step)


# --- roofline --------------------------------------------------------------------------------

PEAK, BANDWIDTH = 2.0**49, 2.0**42  # 128 FLOPs a byte, exact in any order


def roof(student: Any, *args: float) -> dict[str, Any]:
    got = expect(student.roofline(*args), dict, "the result")
    names = {"intensity", "attainable", "seconds", "bound"}
    check({*got} == names, f"the result has the names {sorted(got)}, expected {sorted(names)}")
    return got


def assert_near(got: Any, want: float, what: str) -> None:
    value = number(got, what)
    near = value == want or abs(value - want) <= 1e-12 * abs(want)
    check(near, f"{what} is {value!r}, expected {want!r}")


CASES = [(3e12, 7e9), (5e15, 2e12), (1e9, 8e11), (4e15, 1.0), (2.0**30, 2.0**23), (1.0, 3.0)]


@task("roofline", contract=10, gate=True)
def test_intensity_and_roof(student, draw):
    """Below the ridge the roof is intensity times bandwidth, above it the peak."""
    for flops, nbytes in CASES:
        peak, bandwidth = draw.integer(2, 99) * 1e13, draw.integer(2, 99) * 1e11
        got = roof(student, flops, nbytes, peak, bandwidth)
        assert_near(got["intensity"], flops / nbytes, "intensity")
        assert_near(got["attainable"], min(peak, flops / nbytes * bandwidth), "attainable")


@task("roofline", contract=10)
def test_no_bytes_and_no_operations(student):
    """Without bytes the intensity is inf and the peak attained, without operations both are 0."""
    for flops in (0, 5, 5e12):
        got = roof(student, flops, 0, PEAK, BANDWIDTH)
        assert_near(got["intensity"], math.inf, "intensity")
        assert_near(got["attainable"], PEAK, "attainable")
    got = roof(student, 0, 10**9, PEAK, BANDWIDTH)
    assert_near(got["intensity"], 0.0, "intensity")
    assert_near(got["attainable"], 0.0, "attainable")


@task("roofline", contract=11)
def test_time_is_that_of_the_slower(student, draw):
    """seconds is the larger of the times to compute and to move, and bound says which it is."""
    for flops, nbytes in CASES:
        peak, bandwidth = draw.integer(2, 99) * 1e13, draw.integer(2, 99) * 1e11
        got = roof(student, flops, nbytes, peak, bandwidth)
        assert_near(got["seconds"], max(flops / peak, nbytes / bandwidth), "seconds")
        if not math.isclose(flops / peak, nbytes / bandwidth, rel_tol=1e-9):
            want = "compute" if flops / peak > nbytes / bandwidth else "memory"
            assert_equal(got["bound"], want, "bound")


@task("roofline", contract=11)
@pytest.mark.parametrize("power", [0, 17, 40])
def test_tie_is_compute(student, power):
    """Where both take the same time the bound is compute; a hair less is memory."""
    got = roof(student, 2.0 ** (power + 7), 2.0**power, PEAK, BANDWIDTH)
    assert_equal(got["bound"], "compute", "bound")
    assert_equal(got["seconds"], 2.0 ** (power - 42), "seconds")
    got = roof(student, 2.0 ** (power + 7) * (1 - 2.0**-30), 2.0**power, PEAK, BANDWIDTH)
    assert_equal(got["bound"], "memory", "bound")
    assert_equal(roof(student, 0, 0, PEAK, BANDWIDTH)["bound"], "compute", "bound")


# Written out: whatever is drawn, a count that is wrong by little shows here or does not.
BATCHES = [
    ({}, 1, 24.0), ({"num_kv_heads": 6}, 5, 11.0), ({"num_kv_heads": 1}, 60, 14.5),
    ({"num_layers": 2, "vocab_size": 900}, 3, 33.0), ({"hidden_size": 301}, 9, 90.0),
]  # fmt: skip


@task("roofline", contract=12)
@pytest.mark.parametrize(("sizes", "context", "ratio"), BATCHES, ids=range(len(BATCHES)))
def test_smallest_batch_bound_by_compute(student, sizes, context, ratio):
    """Weights are shared by the batch, keys and values are not."""
    config = config_of(student, **sizes)
    want = oracle.compute_bound_batch(config, context, 1e12 * ratio, 1e12, 4096)
    got = student.compute_bound_batch(config, context, 1e12 * ratio, 1e12)
    assert_equal(got, want, "the batch")


@task("roofline", contract=12)
def test_limit_of_the_batch(student, draw):
    """The limit itself is looked at, what is above it is not; it is 4096 unless said."""
    config = config_of(student, num_layers=2)
    peak = 2.0**40
    for ratio in (20.0, 60.0):
        want = oracle.compute_bound_batch(config, 3, peak, peak / ratio, 4096)
        assert want is not None
        for limit in (want, want + 1):
            got = student.compute_bound_batch(config, 3, peak, peak / ratio, limit)
            assert_equal(got, want, f"the batch with limit {limit}")
        for limit in (want - 1, 0):
            got = student.compute_bound_batch(config, 3, peak, peak / ratio, limit)
            assert_equal(got, None, f"the batch with limit {limit}")
        assert_equal(student.compute_bound_batch(config, 3, peak, peak / ratio), want, "the batch")


@task("roofline", contract=12)
def test_no_batch_and_the_first(student):
    """Long contexts have less to compute per byte than any batch needs; slow devices any batch."""
    config = config_of(student)
    assert_equal(student.compute_bound_batch(config, 100_000, 1e12, 1e10), None, "the batch")
    assert_equal(student.compute_bound_batch(config, 4, 1e3, 1e12), 1, "the batch")


@task("roofline", contract=12)
def test_batch_in_a_tie(student):
    """The batch at which both times are equal is bound by compute."""
    config, context, batch = config_of(student), 5, 9
    flops = float(sum(oracle.step_flops(config, batch, 1, context).values()))
    nbytes = float(sum(oracle.step_bytes(config, batch, 1, context).values()))
    # In one unit of time exactly: nothing of it is rounded.
    assert_equal(student.compute_bound_batch(config, context, flops, nbytes), batch, "the batch")


@task("roofline", contract=13)
@pytest.mark.parametrize("value", [0, 0.0, -1e12])
def test_devices_that_are_none(student, value):
    """A peak or a bandwidth of 0 or less is a ValueError, and so is a context below 1."""
    config = config_of(student)
    for name, device in (("peak", (value, 1e12)), ("bandwidth", (1e12, value))):
        with student.raises(ValueError, naming=name):
            student.roofline(5.0, 7.0, *device)
        with student.raises(ValueError, naming=name):
            student.compute_bound_batch(config, 3, *device)
    with student.raises(ValueError, naming="context"):
        student.compute_bound_batch(config, int(min(value, 0)), 1e12, 1e12)


# --- trace: reading --------------------------------------------------------------------------


def written(student: Any, name: str, content: bytes) -> str:
    """Return the path at which the submission finds a file of this name."""
    folder = student.new_folder()
    (Path(folder.host) / name).write_bytes(content)
    return f"{folder.path}/{name}"


def read(student: Any, trace: Any, name: str = "trace.json", zipped: bool = False) -> list[Any]:
    text = json.dumps(trace).encode()
    path = written(student, name, gzip.compress(text, 1) if zipped else text)
    return expect(student.read_trace(path), list[dict], "the events")


def assert_events(got: list[Any], want: list[dict[str, Any]]) -> None:
    """Slices are as they should be, key by key; of an instant dur does not matter."""
    names = [str(event.get("name")) for event in got]
    wanted = [str(event["name"]) for event in want]
    say = f"the events are {clipped(names)}, expected {clipped(wanted)}"
    check(names == wanted, say)
    for one, other in zip(got, want, strict=True):
        if other["ph"] == "i":
            one, other = ({**each, "dur": 0.0} for each in (one, other))
        for key in ("ts", "dur"):
            expect(one.get(key), float, f"{key} of {other['name']}")
        check(one == other, f"the event {other['name']} is {one}, expected {other}")


def clipped(names: list[str]) -> str:
    return f"{', '.join(names[:9])}{', …' if len(names) > 9 else ''} ({len(names)})"


def one(name: str, ts: Any, dur: Any = 1.0, cat: str = "cpu_op", **more: Any) -> dict[str, Any]:
    place = {"pid": 1, "tid": 1} | more
    return {"ph": "X", "name": name, "cat": cat, "ts": ts, "dur": dur} | place


def in_order(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(events, key=lambda event: event["ts"])


@task("trace", contract=14, gate=True)
@pytest.mark.parametrize("form", ["list", "object"])
@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "gzip"])
def test_list_or_object_zipped_or_not(student, draw, form, zipped):
    """A list of events, or an object that has it; gzip is known by its first bytes alone."""
    events = drawn(random.Random(draw.seed).randrange).events[:60]
    trace = {"schemaVersion": 1, "traceEvents": events} if form == "object" else events
    for name in ("trace.json", "trace.json.gz", "rank0.pt.trace"):
        assert_events(read(student, trace, name, zipped), in_order(events))


@task("trace", contract=14)
def test_no_events(student):
    """A trace may be empty."""
    for trace in ([], {"traceEvents": []}, {"traceEvents": [{"ph": "M", "name": "process_name"}]}):
        assert_equal(read(student, trace), [], "the events")


@task("trace", contract=15)
def test_any_order_in_the_file(student, draw):
    """Events come by ts, whatever their order in the file, and equal ones in that order."""
    events = [one(f"op {i}", float(draw.integer(0, 9))) for i in range(60)]
    assert_events(read(student, {"traceEvents": events}), in_order(events))
    events = [one(f"op {i}", 7.0, float(draw.integer(0, 30))) for i in range(20)]
    assert_events(read(student, events), events)


OTHERS = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}},
    {"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 1, "ts": "soon", "args": {}},
    {"ph": "s", "id": 5, "pid": 1, "tid": 1, "ts": 3.0, "cat": "ac2g", "name": "ac2g"},
    {"ph": "f", "id": 5, "pid": 0, "tid": 7, "ts": 9.0, "cat": "ac2g", "name": "ac2g", "bp": "e"},
    {"ph": "C", "name": "power", "pid": 0, "ts": 1.0, "args": {"W": 300}},
    {"ph": "B", "name": "begin", "pid": 1, "tid": 1, "ts": 1.0},
    {"ph": "E", "pid": 1, "tid": 1, "ts": 2.0},
    {"ph": "?", "name": "of tomorrow"},
    {"name": "without"},
    {},
]  # fmt: skip


@task("trace", contract=15)
def test_slices_and_instants_alone(student, draw):
    """Slices and instants stay, with every key; metadata, flows and counters do not."""
    instant = {"ph": "i", "name": "[memory]", "s": "t", "pid": 1, "tid": 1, "ts": 2.5}
    instant["args"] = {"Bytes": -512, "Device Type": 0, "Device Id": -1, "Addr": 2**47}
    deep = {"args": {"Input Dims": [[4, 5], []], "correlation": 7}, "id": 3}
    # No cat, an empty name, a track that is a string.
    bare = {"ph": "X", "name": "", "pid": "Spans", "tid": "", "ts": 2.5, "dur": 0.25}
    kept = [one("mm", 1.5, **deep), instant, bare]
    assert_events(read(student, draw.shuffled([*OTHERS, kept[0]]) + kept[1:]), kept)


@task("trace", contract=16)
def test_times_as_strings_and_whole_numbers(student, draw):
    """Times may be strings or ints, and a slice may have no dur; they come as floats."""
    events = [
        one("a", "12.25", "3"), one("b", 7, 2), one("c", "9", 0.5), one("d", 100, "1e1"),
        one("e", -3.5, 4), one("f", 0, 0),
    ]  # fmt: skip
    bare = {key: value for key, value in one("g", "8.5").items() if key != "dur"}
    events = draw.shuffled([*events, bare])
    want = [e | {"ts": float(e["ts"]), "dur": float(e.get("dur", 0))} for e in events]
    assert_events(read(student, events), in_order(want))


@task("trace", contract=16)
@pytest.mark.parametrize("unit", ["ms", "ns"])
def test_unit_and_base_stay(student, draw, unit):
    """Times are microseconds whatever the file wants shown, and are neither shifted nor rounded."""
    start = 1.7e15 + 0.25 * draw.integer(0, 1 << 20)
    events = [one(f"op {i}", start + 0.25 * i, 0.25 * i) for i in range(9)]
    trace = {"displayTimeUnit": unit, "baseTimeNanoseconds": 17 * 10**17, "traceEvents": events}
    assert_events(read(student, trace), events)


BROKEN = {
    "empty": b"", "cut off": b'[{"ph": "X", "ts": 1', "text": b"no trace", "bytes": b"\xff\x00\xfe",
    "two": b"[] []", "head of gzip": b"\x1f\x8b", "gzip cut off": gzip.compress(b"[" * 999)[:-9],
    "gzip damaged": b"\x1f\x8b\x08\x00" + bytes(range(60)), "gzip of text": gzip.compress(b"no"),
}  # fmt: skip


@task("trace", contract=17)
@pytest.mark.parametrize("case", BROKEN)
def test_no_json(student, case):
    """A file that holds no JSON, whole, zipped or not, is a ValueError that says so."""
    path = written(student, "trace.json", BROKEN[case])
    with student.raises(ValueError, naming="JSON"):
        student.read_trace(path)


@task("trace", contract=17)
@pytest.mark.parametrize("trace", [3, "text", None, {}, {"traceEvents": None}], ids=repr)
def test_no_list_of_events(student, trace):
    """JSON without a list of events is a ValueError that names traceEvents."""
    for odd in (trace, {"events": [], "traceEvents": {"ph": "X"}}):
        path = written(student, "trace.json", json.dumps(odd).encode())
        with student.raises(ValueError, naming="traceEvents"):
            student.read_trace(path)


@task("trace", contract=17)
@pytest.mark.parametrize("key", ["ts", "dur"])
def test_times_that_are_none(student, key):
    """A time that is no number is a ValueError that names it; only dur may be missing."""
    for value in ("soon", "", None, [1.0], {}):
        for ph in ("X", "i") if key == "ts" else ("X",):
            odd = one("odd", 5.0) | {"ph": ph, key: value}
            path = written(student, "trace.json", json.dumps([one("a", 1.0), odd]).encode())
            with student.raises(ValueError, naming=key):
                student.read_trace(path)
    bare = [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "dur": 1.0}]
    path = written(student, "trace.json", json.dumps(bare).encode())
    with student.raises(ValueError, naming="ts"):
        student.read_trace(path)


# --- trace: adding up ------------------------------------------------------------------------


def assert_us(got: Any, want: float, what: str) -> None:
    value = number(got, what)
    check(abs(value - want) <= 1e-6 * max(1.0, want), f"{what} is {value} us, expected {want} us")


def assert_times(got: Any, want: Mapping[str, float], what: str) -> None:
    """Each name has its time; one that has none may be missing."""
    got = expect(got, dict, f"what {what} returns")
    for name in [*want, *(name for name in got if name not in want)]:
        assert_us(got.get(name, 0.0), want.get(name, 0.0), f"the time of {name!r}")


def kernel(ts: float, dur: float, stream: int = 7, device: int = 0, **more: Any) -> dict[str, Any]:
    named = {"cat": "kernel", "pid": device, "tid": stream} | more
    return one("gemm", ts, dur, **named)


def assert_all(student: Any, trace: Trace, *names: str) -> None:
    """What the functions make of a drawn trace is its truth."""
    events = trace.listed()
    wanted = {"self_times": trace.own, "attribute": trace.owned}
    for name in names:
        got = getattr(student, name)(events)
        if name == "device_busy":
            assert_us(got, trace.busy, "the busy time")
        else:
            assert_times(got, trace.times(wanted[name]), name)


def trace_of(draw: Any, place: int, base: float = 0.0) -> Trace:
    return drawn(random.Random(draw.seed + place).randrange, base)


@task("trace", contract=18, gate=True)
def test_busy_of_streams_and_devices(student):
    """What runs on several streams at a time counts once, and devices are added up."""
    both = [kernel(0.0, 10.0), kernel(4.0, 10.0, 8), kernel(20.0, 5.0, 8), kernel(21.0, 2.0)]
    assert_us(student.device_busy(both), 19.0, "the busy time of two streams")
    other = [kernel(2.0, 10.0, 7, 1), kernel(12.0, 1.0, 7, 1)]
    assert_us(student.device_busy(in_order(both + other)), 30.0, "the busy time of two devices")
    assert_us(student.device_busy([]), 0.0, "the busy time of nothing")


@task("trace", contract=18)
def test_busy_below_a_long_kernel(student, draw):
    """A long kernel covers all that begins and ends below it, however much that is."""
    short = [kernel(10.0 + 3 * i, draw.integer(1, 4) / 2, 8 + i % 3) for i in range(20)]
    events = [kernel(5.0, 100.0), *short, kernel(103.0, 4.0, 9), kernel(107.0, 1.0, 7)]
    assert_us(student.device_busy(events), 103.0, "the busy time")


@task("trace", contract=18)
@pytest.mark.parametrize("base", [0.0, 1.7e15], ids=["relative", "absolute"])
def test_busy_of_drawn_traces(student, draw, base):
    """The union of the work on each of two devices, added up."""
    for place in range(3):
        assert_all(student, trace_of(draw, place, base), "device_busy")


@task("trace", contract=19)
def test_what_is_work_of_a_device(student):
    """Kernels, copies and fills are work; annotations on the device and calls are not."""
    for cat in ("kernel", "gpu_memcpy", "gpu_memset"):
        assert_us(student.device_busy([kernel(3.0, 4.0, cat=cat)]), 4.0, f"the busy time of {cat}")
    others = ("gpu_user_annotation", "cuda_runtime", "cuda_driver", "cpu_op", "overhead", "Kernel")
    for cat in (*others, "user_annotation", "kernel_launch", "gpu_memory", ""):
        got = student.device_busy([kernel(3.0, 4.0, cat=cat), kernel(3.5, 1.0)])
        assert_us(got, 1.0, f"the busy time of a kernel below {cat!r}")
    bare = {k: v for k, v in kernel(0.0, 9.0).items() if k != "cat"}
    instant = {"ph": "i", "name": "[memory]", "pid": 0, "tid": 7, "ts": 1.0, "dur": 0.0}
    assert_us(student.device_busy([bare, instant]), 0.0, "the busy time of no work")


@task("trace", contract=19)
def test_work_at_zero_and_of_no_time(student):
    """A kernel at ts 0 counts, one without a duration adds nothing, and moves no border."""
    nothing = [kernel(0.0, 0.0), kernel(0.0, 0.0, 8), kernel(50.0, 0.0)]
    assert_us(student.device_busy(nothing), 0.0, "the busy time")
    assert_us(student.device_busy([*nothing[:2], kernel(0.0, 2.0), nothing[2]]), 2.0, "the time")
    early = [kernel(-8.0, 3.0), kernel(-6.0, 0.0, 8), kernel(-4.0, 1.0)]
    assert_us(student.device_busy(early), 4.0, "the busy time before 0")


def op(name: str, start: float, stop: float, **more: Any) -> dict[str, Any]:
    return one(name, float(start), float(stop - start), **more)


@task("trace", contract=20, gate=True)
def test_direct_children_are_subtracted(student):
    """A slice keeps what none of its children has; grandchildren are the children's matter."""
    events = [op("step", 0, 100), op("layer", 10, 60), op("mm", 20, 50), op("copy", 25, 30)]
    events += [op("mm", 70, 80), op("mm", 200, 203)]
    want = {"step": 40.0, "layer": 20.0, "mm": 38.0, "copy": 5.0}
    assert_times(student.self_times(events), want, "self_times")
    events[0]["cat"] = "user_annotation"
    assert_times(student.self_times(events), want, "self_times")
    assert_times(student.self_times([]), {}, "self_times")


@task("trace", contract=20)
def test_tracks_are_apart(student):
    """Slices of another thread, or of another process with the same thread, are no children."""
    places = [{"tid": 2}, {"pid": 2}, {"pid": "1"}, {"tid": "1"}]
    events = [op("step", 0, 50), *(op("mm", 10, 20, **place) for place in places)]
    got = student.self_times(events)
    assert_times(got, {"step": 50.0, "mm": 40.0}, "self_times")


@task("trace", contract=20)
def test_other_kinds_take_no_time(student):
    """Calls of the runtime, kernels and frames of Python neither count nor take from a parent."""
    cats = ("cuda_runtime", "cuda_driver", "python_function", "kernel", "gpu_user_annotation", "")
    events = [op("step", 0, 50), *(op(f"a {cat}", 5, 15, cat=cat) for cat in cats), op("mm", 8, 10)]
    events.append({"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 9.0, "dur": 0.0})
    bare = {k: v for k, v in op("bare", 20, 30).items() if k != "cat"}
    want = {"step": 48.0, "mm": 2.0}
    assert_times(student.self_times(in_order([*events, bare])), want, "self_times")


@task("trace", contract=20)
@pytest.mark.parametrize("base", [0.0, 1.7e15], ids=["relative", "absolute"])
def test_self_times_of_drawn_traces(student, draw, base):
    """Annotations and operators in one another, on two threads."""
    for place in range(3):
        assert_all(student, trace_of(draw, place, base), "self_times")


@task("trace", contract=20)
def test_deep_nesting(student):
    """Two hundred slices in one another keep one microsecond on each side."""
    events = [op(f"depth {i % 7}", i, 420 - i) for i in range(200)]
    want = {f"depth {i}": 2.0 * len(range(i, 199, 7)) for i in range(7)}
    want["depth 3"] += 420 - 2 * 199  # the innermost
    assert_times(student.self_times(events), want, "self_times")


@task("trace", contract=21)
def test_borders_coincide(student):
    """Children may begin or end with their parent, and one may begin where another ends."""
    events = [op("step", 0, 30), op("a", 0, 10), op("b", 10, 20), op("c", 20, 30), op("d", 20, 30)]
    want = {"step": 0.0, "a": 10.0, "b": 10.0, "c": 0.0, "d": 10.0}
    assert_times(student.self_times(events), want, "self_times")


@task("trace", contract=21)
def test_child_ahead_of_its_parent(student):
    """Of slices that begin together the longer is the parent, wherever it stands in the list."""
    events = [op("mm", 0, 5), op("step", 0, 30), op("layer", 0, 12), op("mm", 12, 13)]
    want = {"mm": 6.0, "layer": 7.0, "step": 17.0}
    assert_times(student.self_times(events), want, "self_times")


@task("trace", contract=21)
def test_equal_slices(student):
    """Of equal slices the first of the list is the parent: the last has all the time."""
    names = ["step", "layer", "mm"]
    for turned in (names, names[::-1], ["mm", "step", "layer"]):
        events = [op(name, 4, 16) for name in turned] + [op("copy", 5, 7)]
        want = dict.fromkeys(names, 0.0) | {turned[-1]: 10.0, "copy": 2.0}
        assert_times(student.self_times(events), want, "self_times")


@task("trace", contract=21)
def test_slices_without_duration(student):
    """What takes no time takes none from others, at a border or inside."""
    dots = [op("dot", at, at) for at in (0, 10, 10, 15, 30)]
    events = in_order([op("step", 0, 30), op("mm", 10, 20), *dots])
    want = {"step": 20.0, "mm": 10.0, "dot": 0.0}
    assert_times(student.self_times(events), want, "self_times")


OVERLAPS = {
    "two": ([("a", 0, 10), ("b", 5, 15)], {"a": 5, "b": 10}),
    "in a parent": ([("p", 0, 20), ("a", 2, 10), ("b", 6, 14)], {"p": 8, "a": 4, "b": 8}),
    "out of a parent": ([("p", 0, 10), ("a", 2, 6), ("b", 4, 14)], {"p": 2, "a": 2, "b": 10}),
    "chain": ([("a", 0, 10), ("b", 4, 14), ("c", 8, 18)], {"a": 4, "b": 4, "c": 10}),
    "below": ([("a", 0, 10), ("b", 2, 20), ("c", 12, 16)], {"a": 2, "b": 14, "c": 4}),
    "back": ([("a", 0, 30), ("b", 5, 12), ("c", 10, 20)], {"a": 15, "b": 5, "c": 10}),
    "many": (
        [("p", 0, 10), *((f"x{i}", i, i + 9) for i in range(1, 9))],
        {"p": 1} | {f"x{i}": 1 for i in range(1, 8)} | {"x8": 9},
    ),
}  # fmt: skip


@task("trace", contract=22)
@pytest.mark.parametrize("case", OVERLAPS)
def test_overlaps_without_nesting(student, case):
    """Where two are open the one that began last has the time, its parent or not."""
    slices, want = OVERLAPS[case]
    events = [op(*each) for each in slices]
    got = student.self_times(events)
    assert_times(got, {name: float(time) for name, time in want.items()}, "self_times")


@task("trace", contract=22)
def test_drawn_overlaps(student, draw):
    """Slices at any places, each moment of which has one owner."""
    randrange = random.Random(draw.seed).randrange
    for _ in range(6):
        places = [(randrange(40), randrange(1, 25)) for _ in range(9)]
        events = [op(f"x{i}", at, at + size) for i, (at, size) in enumerate(places)]
        events = in_order(events)
        assert_times(student.self_times(events), oracle.self_times(events), "self_times")


def span(name: str, start: float, stop: float, **more: Any) -> dict[str, Any]:
    return op(name, start, stop, cat="user_annotation", **more)


def launch(number: int, start: float, stop: float, **more: Any) -> dict[str, Any]:
    named = {"cat": "cuda_runtime", "args": {"correlation": number, "External id": 0}} | more
    return op("cudaLaunchKernel", start, stop, **named)


def work(number: int, start: float, dur: float, **more: Any) -> dict[str, Any]:
    named = {"args": {"correlation": number, "External id": 0}} | more
    return kernel(float(start), float(dur), **named)


@task("trace", contract=23, gate=True)
def test_device_time_belongs_to_the_launch(student):
    """A kernel belongs to what was around its launch, whatever was around when it ran."""
    events = [span("prefill", 0, 10), launch(1, 2, 3), launch(2, 6, 7), span("decode", 20, 60)]
    events += [launch(3, 25, 26), work(1, 22, 5), work(2, 30, 7), work(3, 70, 11)]
    got = student.attribute(in_order(events))
    assert_times(got, {"prefill": 12.0, "decode": 11.0}, "attribute")
    assert_times(student.attribute([]), {}, "attribute")


@task("trace", contract=23)
def test_innermost_annotation(student):
    """Of annotations in one another the innermost has it, operators in between do not count."""
    events = [span("step", 0, 50), span("prefill", 5, 30), op("mm", 6, 20), span("norm", 8, 15)]
    events += [launch(1, 9, 10), launch(2, 16, 17), launch(3, 25, 26), launch(4, 40, 41)]
    events += [work(n, 60 + 10 * n, 2**n) for n in range(1, 5)]
    want = {"norm": 2.0, "prefill": 12.0, "step": 16.0}
    assert_times(student.attribute(in_order(events)), want, "attribute")


@task("trace", contract=23)
def test_annotation_around_all_of_the_launch(student):
    """Borders may coincide; an annotation that ends inside the launch is not around it."""
    events = [span("step", 0, 50), span("a", 5, 10), launch(1, 5, 10), span("b", 20, 25)]
    events += [launch(2, 22, 26), span("c", 30, 35), launch(3, 29, 31), span("d", 40, 44)]
    events += [launch(4, 40, 40), span("same", 45, 48), span("again", 45, 48), launch(5, 45, 48)]
    events += [work(n, 60 + 10 * n, 2**n) for n in range(1, 6)]
    want = {"a": 2.0, "step": 4.0 + 8.0, "d": 16.0, "again": 32.0}
    assert_times(student.attribute(in_order(events)), want, "attribute")


@task("trace", contract=23)
def test_launches_ahead_of_their_annotations(student):
    """Of events at one ts any may be first in the list."""
    events = [launch(1, 5, 6), span("short", 5, 8), span("long", 5, 20), launch(2, 9, 10)]
    events += [work(1, 30, 2), work(2, 40, 4)]
    assert_times(student.attribute(events), {"short": 2.0, "long": 4.0}, "attribute")


@task("trace", contract=23)
def test_annotations_of_other_tracks(student):
    """An annotation of another thread, process or kind is not around a launch."""
    events = [span("other thread", 0, 50, tid=2), span("other process", 0, 50, pid=2)]
    events += [span("step", 0, 50), op("mm", 5, 20), launch(1, 10, 11), launch(2, 10, 11, tid=3)]
    events += [
        op("on the device", 9, 12, cat="gpu_user_annotation"),
        work(1, 12, 3),
        work(2, 16, 5),
    ]
    assert_times(student.attribute(in_order(events)), {"step": 3.0, "": 5.0}, "attribute")


@task("trace", contract=23)
def test_launches_of_the_driver(student):
    """Triton launches by the driver, whose calls have the cat cuda_driver."""
    driver = {"cat": "cuda_driver", "name": "cuLaunchKernelEx"}
    events = [span("step", 0, 50), launch(1, 10, 11) | driver, span("copy", 20, 30)]
    events += [launch(2, 22, 24) | {"name": "cudaMemcpyAsync"}, work(1, 60, 3)]
    events += [work(2, 70, 5, cat="gpu_memcpy"), work(2, 80, 1, cat="gpu_memset")]
    assert_times(student.attribute(events), {"step": 3.0, "copy": 6.0}, "attribute")


@task("trace", contract=23)
@pytest.mark.parametrize("base", [0.0, 1.7e15], ids=["relative", "absolute"])
def test_attribution_of_drawn_traces(student, draw, base):
    """Nested annotations on two threads, kernels on two devices, graphs, work of nobody."""
    for place in range(3):
        assert_all(student, trace_of(draw, place, base), "attribute")


@task("trace", contract=24)
def test_one_launch_many_kernels(student):
    """A graph is one launch: all its kernels have its correlation."""
    events = [span("decode", 0, 10), launch(7, 2, 4) | {"name": "cudaGraphLaunch"}]
    events += [work(7, 20 + 5 * i, 1 + i % 3, tid=7 + i % 4) for i in range(30)]
    events += [work(7, 300, 4, cat="gpu_memcpy")]
    assert_times(student.attribute(events), {"decode": 64.0}, "attribute")


@task("trace", contract=24)
def test_the_two_ids(student):
    """External ids belong to operators, and correlations to launches; both count from 1."""

    def numbered(correlation: int, external: int) -> dict[str, Any]:
        return {"args": {"correlation": correlation, "External id": external}}

    events = [span("a", 0, 10, args={"External id": 1}), span("b", 20, 30, args={"External id": 2})]
    events += [op("mm", 1, 9, args={"External id": 3}), op("mm", 21, 29, args={"External id": 4})]
    events += [launch(0, 2, 3) | numbered(4, 3), launch(0, 22, 23) | numbered(3, 4)]
    events += [launch(0, 5, 6) | numbered(1, 5), launch(0, 25, 26) | numbered(2, 5)]
    events += [work(0, 40, 1) | numbered(4, 3), work(0, 50, 2) | numbered(3, 4)]
    events += [work(0, 60, 4) | numbered(1, 5), work(0, 70, 8) | numbered(2, 5)]
    want = {"a": 5.0, "b": 10.0}
    assert_times(student.attribute(in_order(events)), want, "attribute")


@task("trace", contract=25)
def test_work_of_nobody(student):
    """No annotation, no launch, no correlation, no args: the time has no name, and is not lost."""
    events = [span("step", 0, 10), launch(1, 2, 3), launch(2, 15, 16), work(1, 40, 1)]
    events += [work(2, 50, 2), work(99, 60, 4), work(0, 70, 8, args={"External id": 1})]
    bare = {key: value for key, value in kernel(80.0, 16.0).items() if key != "args"}
    call = {key: value for key, value in launch(0, 4, 5).items() if key != "args"}
    events += [bare, call, launch(0, 6, 7, args={"External id": 1}), kernel(0.0, 0.0)]
    assert_times(student.attribute(in_order(events)), {"step": 1.0, "": 30.0}, "attribute")


@task("trace", contract=26)
@pytest.mark.parametrize("name", ["device_busy", "self_times", "attribute"])
def test_a_hundred_thousand_events(student, draw, name):
    """A long trace is read and added up in seconds, which looking at all pairs would not be."""
    events, truth = long(20_000, random.Random(draw.seed).randrange)
    text = json.dumps({"traceEvents": events}, separators=(",", ":")).encode()
    path = written(student, "trace.json", text)
    read_trace, use = student.handle("read_trace"), student.handle(name)

    got = student.given("traces").through(read_trace, use, path)

    if name == "device_busy":
        assert_us(got, truth[name], "the busy time")
    else:
        assert_times(got, truth[name], name)


@task("trace", contract=27)
@pytest.mark.parametrize("name", ["device_busy", "self_times", "attribute"])
def test_events_stay_as_they_were(student, draw, name):
    """Neither the list nor an event of it is another afterwards."""
    events = student.watch(trace_of(draw, 0).listed())

    getattr(student, name)(events)

    assert_unmodified(events, "events")


# --- memory ----------------------------------------------------------------------------------


def own(student: Any, name: str) -> Any:
    """A function of the submission's whose name is that of an instrument, too."""
    return student.handle(name)


def assert_largest(got: Any, name: str, elements: int) -> None:
    got = expect(got, list, "the result")
    check(len(got) == 2, f"the result is {got}, expected a name and a number")
    assert_equal(got, [name, elements], "the largest tensor")


LARGEST = {
    "scores": ({"num_heads": 8, "head_dim": 5}, (3, 50, 90)),
    "mlp": ({"intermediate_size": 999}, (2, 7, 9)),
    "hidden": ({"hidden_size": 800, "intermediate_size": 799}, (2, 7, 9)),
    "keys": ({"num_kv_heads": 3, "num_heads": 6, "head_dim": 33}, (5, 1, 400)),
}


@task("memory", contract=28, gate=True)
@pytest.mark.parametrize("name", LARGEST)
def test_each_tensor_can_be_the_largest(student, name):
    """Scores grow with T times S, keys with S, the others with T."""
    sizes, step = LARGEST[name]
    config = config_of(student, **sizes)
    want = oracle.tensors(config, *step)
    assert_largest(own(student, "largest_tensor")(config, *step), name, want[name])


@task("memory", contract=28)
def test_largest_of_drawn_steps(student, draw):
    """The largest of the four, whatever the config."""
    for step in STEPS.values():
        for _ in range(3):
            config = drawn_config(student, draw)
            want = oracle.tensors(config, *step)
            name = max(want, key=lambda each: want[each])
            assert_largest(own(student, "largest_tensor")(config, *step), name, want[name])


@task("memory", contract=28)
@pytest.mark.parametrize("first", ["scores", "mlp", "hidden"])
def test_first_of_equal_tensors(student, first):
    """Of equal ones the first of scores, mlp, hidden, keys is named."""
    names = list(LARGEST)
    width = {name: 60 if names.index(name) >= names.index(first) else 6 for name in names}
    sizes = {"intermediate_size": width["mlp"], "hidden_size": width["hidden"]}
    sizes |= {"num_heads": width["scores"] // 3, "num_kv_heads": 2, "head_dim": width["keys"] // 6}
    config = config_of(student, **sizes)
    want = oracle.tensors(config, 4, 3, 3)
    assert_largest(own(student, "largest_tensor")(config, 4, 3, 3), first, want[first])


@task("memory", contract=29)
@pytest.mark.parametrize("name", ["batch", "new", "context"])
def test_largest_of_steps_that_are_none(student, name):
    """What is no step is refused here too."""
    for wrong, step in BAD_STEPS:
        if wrong == name:
            with student.raises(ValueError, naming=name):
                own(student, "largest_tensor")(config_of(student), *step)


def memory(ts: float, nbytes: int, kind: int = 1, number: int = 0, **more: Any) -> dict[str, Any]:
    args = {"Bytes": nbytes, "Device Type": kind, "Device Id": number, "Addr": 64} | more
    place = {"cat": "cpu_instant_event", "pid": 1, "tid": 1, "s": "t"}
    return {"ph": "i", "name": "[memory]", "ts": ts, "dur": 0.0, "args": args} | place


def assert_peak(student: Any, events: list[dict[str, Any]], nbytes: int, ts: float) -> None:
    got = expect(own(student, "peak_memory")(events), list, "the result")
    check(len(got) == 2, f"the result is {got}, expected bytes and ts")
    assert_equal(got[0], nbytes, "the bytes of the peak")
    at = number(got[1], "the ts of the peak")
    check(at == ts, f"the ts of the peak is {at}, expected {ts}")


@task("memory", contract=30, gate=True)
def test_peak_of_one_device(student):
    """What is allocated adds to the sum, what is freed is taken from it; the first peak counts."""
    events = [memory(1.0, 100), memory(2.0, 300), memory(3.0, -100), memory(4.0, 50)]
    events += [memory(5.0, 50), memory(6.0, -400), memory(7.0, 399)]
    assert_peak(student, events, 400, 2.0)
    assert_peak(student, [*events, memory(8.0, 2)], 401, 8.0)


@task("memory", contract=30)
def test_devices_have_sums_of_their_own(student):
    """The sums of CPU and GPUs are not added up; the earlier of equal peaks counts."""
    events = [memory(1.0, 500, 0, -1), memory(2.0, 400), memory(3.0, 450, 1, 1), memory(4.0, 200)]
    assert_peak(student, events, 600, 4.0)
    assert_peak(student, [*events, memory(5.0, 150, 1, 1), memory(6.0, 100, 0, -1)], 600, 4.0)
    assert_peak(student, [*events, memory(5.0, 300, 0, 0), memory(6.0, 300, 1, -1)], 600, 4.0)


@task("memory", contract=30)
def test_peak_of_drawn_events(student, draw):
    """Allocations and frees of three devices, several of them at one ts."""
    randrange = random.Random(draw.seed).randrange
    for _ in range(4):
        alive: list[tuple[int, tuple[int, int]]] = []
        events: list[dict[str, Any]] = []
        for i in range(80):
            device = ((0, -1), (1, 0), (1, 1))[randrange(3)]
            if alive and randrange(2):
                nbytes, device = alive.pop(randrange(len(alive)))
                events.append(memory(float(i // 3), -nbytes, *device))
            else:
                alive.append((randrange(1, 1 << 33), device))
                events.append(memory(float(i // 3), alive[-1][0], *device))
        assert_peak(student, events, *oracle.peak_memory(events))


@task("memory", contract=30)
def test_sums_in_the_order_of_the_list(student):
    """Of events at one ts the first of the list comes first."""
    assert_peak(student, [memory(1.0, 9), memory(2.0, -9), memory(2.0, 9)], 9, 1.0)
    assert_peak(student, [memory(1.0, 9), memory(2.0, 5), memory(2.0, -9)], 14, 2.0)


@task("memory", contract=30)
def test_no_peak(student):
    """Without memory events, or where more is freed than allocated, there is no peak."""
    assert_peak(student, [], 0, 0.0)
    assert_peak(student, [kernel(1.0, 5.0), op("[memory] use", 2, 3)], 0, 0.0)
    assert_peak(student, [memory(4.0, -500), memory(5.0, 500)], 0, 0.0)
    assert_peak(student, [memory(4.0, -500), memory(5.0, 501)], 1, 5.0)


@task("memory", contract=30)
def test_bytes_alone_count(student):
    """Totals of the allocator say what was held before the trace too, and are not asked."""
    totals = {"Total Allocated": 10**9, "Total Reserved": 1 << 31}
    other = {"ph": "i", "name": "[OOM]", "ts": 1.5, "dur": 0.0, "args": {"Bytes": 10**6}}
    events = [memory(1.0, 70, **totals), other | {"pid": 1, "tid": 1}, memory(2.0, 7, **totals)]
    assert_peak(student, events, 77, 2.0)


def planned(student: Any, tensors: list[list[int]]) -> list[int]:
    got = expect(student.plan_memory(tensors), list[int], "the offsets")
    check(len(got) == len(tensors), f"{len(got)} offsets came for {len(tensors)} tensors")
    return got


def assert_apart(student: Any, tensors: list[list[int]]) -> None:
    got = planned(student, tensors)
    clash = next(iter(oracle.clashes(tensors, got)), None)
    if clash:
        said = [f"{tensors[i]} at {got[i]}" for i in clash]
        check(False, f"[size, first, last] {' and '.join(said)} share bytes, expected none")


def assert_small(student: Any, tensors: list[list[int]]) -> None:
    got, alive = planned(student, tensors), oracle.most_alive(tensors)
    end = oracle.end(tensors, got)
    say = f"the plan ends at {end}, {end / alive:.2f} times the {alive} bytes that live at once"
    check(end <= 1.6 * alive, f"{say}, expected 1.6 times at most")


def some_tensors(draw: Any, place: int, kind: str) -> list[list[int]]:
    """Tensors that honest planners place with room to spare."""
    randrange = random.Random(f"{draw.seed} {place} {kind}").randrange
    while True:
        tensors: list[list[int]] = []
        for step in range(24 if kind == "layers" else 40):
            size = {
                "any": randrange(1, 5000),
                "powers": (1 << randrange(4, 14)) + randrange(-3, 4),
                "layers": (1024, 4096, 2816, 200)[randrange(4)],
            }[kind]
            first = step if kind == "layers" else randrange(30)
            tensors.append([size, first, first + randrange(3 if kind == "layers" else 8)])
        ends = [oracle.end(tensors, each) for each in oracle.honest_plans(tensors)]
        if max(ends) <= 1.5 * oracle.most_alive(tensors):
            return tensors


KINDS = pytest.mark.parametrize("kind", ["any", "powers", "layers"])


@task("memory", contract=31, gate=True)
@KINDS
def test_living_tensors_share_no_byte(student, draw, kind):
    """What lives at the same step lies apart."""
    for place in range(4):
        assert_apart(student, some_tensors(draw, place, kind))


@task("memory", contract=31)
def test_last_step_is_lived_too(student):
    """A tensor that is used for the last time in a step may not lie where one is born in it."""
    for tensors in ([[64, 0, 3], [64, 3, 5]], [[64, 3, 5], [64, 0, 3]], [[100, 2, 2], [90, 2, 2]]):
        assert_apart(student, tensors)
    assert_apart(student, [[700, i, i + 1] for i in range(12)])
    assert_apart(student, [[128, 0, 9], [256, 4, 4], [64, 2, 6], [192, 9, 9], [64, 0, 0]])


@task("memory", contract=31)
def test_first_and_last_of_a_long_life(student):
    """A tensor is in the way at every step between its first and its last."""
    assert_apart(student, [[512, 0, 20], *([512, i, i] for i in range(21))])
    assert_apart(student, [*([300, 5 * i, 5 * i + 1] for i in range(5)), [300, 2, 24], [300, 1, 3]])


@task("memory", contract=32)
def test_offsets_are_aligned(student, draw):
    """Each offset is a multiple of 64 and not negative, whatever the sizes."""
    for place in range(3):
        for kind in ("any", "powers"):
            tensors = some_tensors(draw, place, kind)
            for offset, tensor in zip(planned(student, tensors), tensors, strict=True):
                say = f"the offset of {tensor} is {offset}, expected a multiple of 64 from 0 on"
                check(offset >= 0 and offset % 64 == 0, say)


@task("memory", contract=32)
def test_plans_of_few_tensors(student, draw):
    """None, one, and many equal ones; the argument stays as it was."""
    assert_equal(student.plan_memory([]), [], "the offsets of nothing")
    tensors = student.watch(some_tensors(draw, 0, "any"))

    expect(student.plan_memory(tensors), list[int], "the offsets")

    assert_unmodified(tensors, "tensors")


@task("memory", contract=33)
@KINDS
def test_plans_end_low(student, draw, kind):
    """The end is at most 1.6 times what lives at once."""
    for place in range(4):
        assert_small(student, some_tensors(draw, place, kind))


@task("memory", contract=33)
def test_dead_tensors_make_room(student):
    """A chain of layers needs room for two, however long it is, in any order."""
    for size in (64, 1000, 4096):
        chain = [[size, i, i + 1] for i in range(40)]
        assert_small(student, chain)
        assert_small(student, chain[::-1])
    assert_small(student, [[64 + 64 * (i % 5), i, i] for i in range(30)])


@task("memory", contract=33)
def test_room_of_the_dead_is_shared_by_several(student):
    """Where a large tensor lay, several small ones fit, and the other way round."""
    small = [[1024, 1, 1] for _ in range(8)]
    assert_small(student, [[8192, 0, 0], *small, [8192, 2, 2]])
    assert_small(student, [[8192, 2, 2], *small, [8192, 0, 0], [4096, 3, 3], [4096, 3, 3]])


# --- measure ---------------------------------------------------------------------------------


def measured(student: Any, device: Device, warmup: int, repeats: int) -> dict[str, Any]:
    lent = [student.lend(each) for each in (device.fn, device.clock, device.synchronize)]
    got = expect(student.measure(*lent, warmup, repeats), dict, "the result")
    names = {"times", "median", "minimum"}
    check({*got} == names, f"the result has the names {sorted(got)}, expected {sorted(names)}")
    return got


def device_of(draw: Any, warmup: int, repeats: int) -> tuple[Device, list[float]]:
    """A device and the times that it takes, launches included; warming up is slow."""
    launch = 0.25 * draw.integer(1, 9)
    # Each time is another, and the last ones are long: a mean is no median.
    work = [8.0 * draw.integer(1, 40) + i for i in range(repeats)]
    work[repeats // 2 + 1 :] = [1000.0 + each for each in work[repeats // 2 + 1 :]]
    work = draw.shuffled(work)
    slow = [4000.0 + 16 * i for i in range(warmup)]
    device = Device([*slow, *work], launch, pending=77.0, now=1024.0 * draw.integer(0, 99))
    return device, [launch + each for each in work]


@task("measure", contract=34, gate=True)
@pytest.mark.parametrize(("warmup", "repeats"), [(0, 1), (2, 3), (1, 1), (5, 2), (0, 4)])
def test_calls_in_order(student, draw, warmup, repeats):
    """warmup calls, and for each repeat synchronize, clock, fn, synchronize, clock."""
    device, _ = device_of(draw, warmup, repeats)

    measured(student, device, warmup, repeats)

    once = ["synchronize", "clock", "fn", "synchronize", "clock"]
    want = ["fn"] * warmup + once * repeats
    say = f"the calls were {', '.join(device.calls[:24])}"
    check(device.calls == want, f"{say}, expected {', '.join(want[:24])}")


@task("measure", contract=35)
@pytest.mark.parametrize(("warmup", "repeats"), [(0, 1), (3, 5), (1, 8)])
def test_times_of_the_device(student, draw, warmup, repeats):
    """Each time is that of launch and work, without what was queued before, in the clock's unit."""
    device, want = device_of(draw, warmup, repeats)

    got = measured(student, device, warmup, repeats)

    assert_equal(got["times"], want, "times")


@task("measure", contract=36)
@pytest.mark.parametrize("repeats", [1, 2, 3, 4, 7, 10])
def test_median_and_minimum(student, draw, repeats):
    """The middle of the times by size, or the mean of the middle two, and the least."""
    device, want = device_of(draw, 1, repeats)

    got = measured(student, device, 1, repeats)

    assert_near(got["median"], statistics.median(want), "the median")
    assert_near(got["minimum"], min(want), "the minimum")


@task("measure", contract=37)
@pytest.mark.parametrize(
    ("name", "warmup", "repeats"),
    [("repeats", 2, 0), ("repeats", 0, -1), ("warmup", -1, 3), ("warmup", -4, 1)],
)
def test_counts_that_are_none(student, draw, name, warmup, repeats):
    """No repeats, or less than no warm-up: ValueError, and nothing is called."""
    device, _ = device_of(draw, 3, 3)
    lent = [student.lend(each) for each in (device.fn, device.clock, device.synchronize)]
    with student.raises(ValueError, naming=name):
        student.measure(*lent, warmup, repeats)
    check(not device.calls, f"{len(device.calls)} calls were made, expected none")
