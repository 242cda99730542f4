"""Public tests of lab 13: the examples of the handout and more, one or several for each contract.

Traces are small and written out; the device that is measured belongs to the test, so each call is
seen. The recorded trace beside the checkpoints is read too.
"""

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

from grader.suite import assert_equal, assert_unmodified, check, expect, task

RECORDED = Path(__file__).parents[1] / "checkpoints" / "decode_trace.json.gz"
RECORDED_ON_A_GPU = RECORDED.with_name("gpu_decode_trace.json.gz")

# --- Task 1: flops ---------------------------------------------------------------------------

EXAMPLE = {
    "vocab_size": 100, "hidden_size": 10, "intermediate_size": 30, "num_layers": 2,
    "num_heads": 4, "num_kv_heads": 2, "head_dim": 3, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
    "rope_scaling": None, "max_position_embeddings": 64, "tie_word_embeddings": False,
    "bos_token_id": None, "eos_token_ids": (2,),
}  # fmt: skip


def config_of(student: Any, **sizes: Any) -> Any:
    return student.record("LlamaConfig", **(EXAMPLE | sizes))


def assert_counts(got: Any, names: str, **want: int) -> None:
    got = expect(got, dict, "the result")
    wanted = sorted(names.split())
    check(sorted(got) == wanted, f"the result has the names {sorted(got)}, expected {wanted}")
    for name, count in want.items():
        assert_equal(got[name], count, name)


FLOPS = "qkv scores values output mlp head"


def assert_flops(student: Any, step: tuple[int, int, int], sizes: Any = None, **want: int) -> None:
    assert_counts(student.step_flops(config_of(student, **(sizes or {})), *step), FLOPS, **want)


@task("flops", contract=1, gate=True)
def test_products_of_the_handout(student):
    """Decode (T = 1, S = 6) of two sequences, and a prompt of 5 tokens."""
    assert_flops(student, (2, 1, 6), qkv=1920, output=960, mlp=7200)
    assert_flops(student, (1, 5, 5), qkv=4800, output=2400, mlp=18_000)


@task("flops", contract=1)
def test_one_key_head(student):
    """With one key head qkv has 4 + 2 heads; with four it has 12."""
    assert_flops(student, (1, 1, 1), {"num_kv_heads": 1}, qkv=720, output=480)
    assert_flops(student, (1, 1, 1), {"num_kv_heads": 4}, qkv=1440, output=480)


@task("flops", contract=2)
@pytest.mark.parametrize(
    ("step", "want"), [((2, 1, 6), 576), ((1, 5, 5), 1200), ((3, 2, 7), 2016), ((1, 1, 1), 48)]
)
def test_pairs_of_all_queries_and_keys(student, step, want):
    """Two for each of the B L H T S D products of a query's number and a key's."""
    assert_flops(student, step, scores=want, values=want)


@task("flops", contract=3)
@pytest.mark.parametrize("tied", [False, True])
def test_logits_of_all_tokens(student, tied):
    """A head is a product, tied or not, for every token."""
    sizes = {"tie_word_embeddings": tied}
    assert_flops(student, (2, 1, 6), sizes, head=4000)
    assert_flops(student, (2, 5, 6), sizes, head=20_000)


@task("flops", contract=4)
@pytest.mark.parametrize(
    ("new", "context", "want"),
    [(1, 1, 1), (1, 6, 6), (3, 3, 6), (2, 5, 9), (4, 9, 30), (2**28 + 1, 2**28 + 1, 0)],
)
def test_pairs_that_a_mask_leaves(student, new, context, want):
    """Two new tokens in a context of five see 4 + 5 keys."""
    want = want or (2**28 + 1) * (2**27 + 1)
    assert_equal(student.causal_pairs(new, context), want, "the pairs")


NO_STEPS = [("batch", 0, 1, 1), ("new", 2, 0, 4), ("context", 1, 4, 3), ("batch", -1, 2, 9)]
each_no_step = pytest.mark.parametrize(("name", "batch", "new", "context"), NO_STEPS)


@task("flops", contract=5)
@each_no_step
def test_no_step_has_no_operations(student, name, batch, new, context):
    """ValueError, with the name of the argument."""
    with student.raises(ValueError, naming=name):
        student.step_flops(config_of(student), batch, new, context)
    if name != "batch":
        with student.raises(ValueError, naming=name):
            student.causal_pairs(new, context)


@task("flops", contract=5)
def test_counts_are_ints(student):
    """A float has 53 bits, and loses the last ones of this."""
    sizes = {"hidden_size": 65_537, "intermediate_size": 98_303, "vocab_size": 131_071}
    want = {"mlp": 6 * 3 * 1001 * 2 * 65_537 * 98_303, "head": 2 * 3 * 1001 * 65_537 * 131_071}
    assert_flops(student, (3, 1001, 4000), sizes, **want)
    assert_flops(
        student,
        (2**21 + 1, 2**11 + 1, 2**13 + 1),
        scores=48 * (2**21 + 1) * (2**11 + 1) * (2**13 + 1),
    )


# --- Task 2: bytes ---------------------------------------------------------------------------


def assert_bytes(
    student: Any, step: tuple[int, int, int], sizes: Any = None, widths: Any = (), **want: int
) -> None:
    got = student.step_bytes(config_of(student, **(sizes or {})), *step, *widths)
    assert_counts(got, "weights cache_read cache_write", **want)


@task("bytes", contract=6, gate=True)
@pytest.mark.parametrize("tied", [False, True])
def test_weights_of_the_handout(student, tied):
    """2 layers of 1280 numbers, 1010 of head and last norm, and a row of 10 for each token."""
    sizes = {"tie_word_embeddings": tied}
    assert_bytes(student, (2, 1, 6), sizes, weights=7180)
    assert_bytes(student, (2, 5, 6), sizes, weights=7340)
    assert_bytes(student, (2, 1, 6), sizes | {"num_kv_heads": 1}, weights=6940)
    assert_bytes(student, (30, 5, 6), sizes, weights=2 * (2560 + 1010 + 1500))


@task("bytes", contract=7)
def test_cache_of_the_handout(student):
    """Two key heads of 3 numbers, keys and values, two layers, two bytes each."""
    assert_bytes(student, (2, 1, 6), cache_read=576, cache_write=96)
    assert_bytes(student, (1, 5, 5), cache_read=240, cache_write=240)
    assert_bytes(student, (3, 2, 7), cache_read=1008, cache_write=288)
    assert_bytes(student, (1, 1, 4), {"num_kv_heads": 1}, cache_read=96, cache_write=24)


@task("bytes", contract=8)
def test_widths_of_the_handout(student):
    """Four bits a weight, and eight a number of the cache; sizes of odd numbers are rounded up."""
    assert_bytes(student, (2, 1, 6), None, (0.5, 1.0), weights=1795, cache_read=288, cache_write=48)
    odd = {"num_layers": 1, "hidden_size": 5, "vocab_size": 7, "intermediate_size": 3}
    odd |= {"num_heads": 1, "num_kv_heads": 1, "head_dim": 1}
    want = {"weights": 60, "cache_read": 2, "cache_write": 1}  # of 120 and 6 and 2 numbers
    assert_bytes(student, (1, 1, 3), odd, (0.5, 0.25), **want)
    assert_bytes(student, (1, 1, 3), odd, (0.40625, 0.4375), weights=49, cache_read=3)
    assert_bytes(student, (1, 1, 3), odd, (0.5625,), weights=68, cache_read=12, cache_write=4)


@task("bytes", contract=8)
def test_one_width_by_its_name(student):
    """What is not said is two bytes."""
    got = student.step_bytes(config_of(student), 2, 1, 6, cache_bytes=1.0)
    assert_counts(got, "weights cache_read cache_write", weights=7180, cache_read=288)
    got = student.step_bytes(config_of(student), 2, 1, 6, weight_bytes=1.0)
    assert_counts(got, "weights cache_read cache_write", weights=3590, cache_read=576)


@task("bytes", contract=9)
@each_no_step
def test_no_step_has_no_bytes(student, name, batch, new, context):
    """ValueError, with the name of the argument."""
    with student.raises(ValueError, naming=name):
        student.step_bytes(config_of(student), batch, new, context)


# --- Task 3: roofline ------------------------------------------------------------------------


def roof(student: Any, *args: float) -> dict[str, Any]:
    got = expect(student.roofline(*args), dict, "the result")
    names = ["attainable", "bound", "intensity", "seconds"]
    check(sorted(got) == names, f"the result has the names {sorted(got)}, expected {names}")
    return got


def assert_near(got: Any, want: float, what: str) -> None:
    value = expect(got, int | float, what)
    near = value == want or abs(value - want) <= 1e-9 * abs(want)
    check(near, f"{what} is {value}, expected {want}")


@task("roofline", contract=10, gate=True)
@pytest.mark.parametrize(
    ("flops", "nbytes", "intensity", "attainable"),
    [(1000, 100, 10.0, 200.0), (6000, 100, 60.0, 800.0), (10, 100, 0.1, 2.0), (0, 8, 0.0, 0.0)],
)
def test_roof_of_the_handout(student, flops, nbytes, intensity, attainable):
    """A peak of 800 FLOP/s and 20 bytes/s."""
    got = roof(student, flops, nbytes, 800.0, 20.0)
    assert_near(got["intensity"], intensity, "intensity")
    assert_near(got["attainable"], attainable, "attainable")


@task("roofline", contract=10)
def test_roof_without_bytes(student):
    """The intensity is inf, and nothing holds the peak."""
    got = roof(student, 1000, 0, 800.0, 20.0)
    assert_near(got["intensity"], math.inf, "intensity")
    assert_near(got["attainable"], 800.0, "attainable")


@task("roofline", contract=11)
@pytest.mark.parametrize(
    ("flops", "nbytes", "seconds", "bound"),
    [(1000, 100, 5.0, "memory"), (6000, 100, 7.5, "compute"), (4000, 100, 5.0, "compute"),
     (3999, 100, 5.0, "memory"), (800, 0, 1.0, "compute"), (0, 20, 1.0, "memory")],
)  # fmt: skip
def test_time_of_the_handout(student, flops, nbytes, seconds, bound):
    """4000 operations and 100 bytes are a tie."""
    got = roof(student, flops, nbytes, 800.0, 20.0)
    assert_near(got["seconds"], seconds, "seconds")
    assert_equal(got["bound"], bound, "bound")


@task("roofline", contract=11)
def test_ridge_between_whole_numbers(student):
    """With 810 FLOP/s and 20 bytes/s the ridge is 40.5."""
    assert_equal(roof(student, 4040, 100, 810.0, 20.0)["bound"], "memory", "bound")
    assert_equal(roof(student, 4060, 100, 810.0, 20.0)["bound"], "compute", "bound")


@task("roofline", contract=12)
def test_batch_of_the_handout(student):
    """Ratios of 1 to 20 FLOPs a byte, and one that no batch reaches."""
    config = config_of(student)
    for ratio, want in ((1, 1), (2, 3), (4, 5), (8, 12), (12, 26), (20, 288), (1000, None)):
        got = student.compute_bound_batch(config, 6, 1000.0 * ratio, 1000.0)
        assert_equal(got, want, f"the batch at {ratio} FLOPs a byte")


@task("roofline", contract=12)
def test_limit_is_looked_at(student):
    """At 16 FLOPs a byte the batch is 60: within a limit of 60, beyond one of 59."""
    config = config_of(student)
    for limit, want in ((60, 60), (100, 60), (59, None), (0, None)):
        got = student.compute_bound_batch(config, 6, 16_000.0, 1000.0, limit)
        assert_equal(got, want, f"the batch with limit {limit}")


@task("roofline", contract=13)
@pytest.mark.parametrize("value", [0, -5.0])
def test_no_device(student, value):
    """ValueError, with the name of the argument."""
    for name, device in (("peak", (value, 20.0)), ("bandwidth", (800.0, value))):
        with student.raises(ValueError, naming=name):
            student.roofline(1000, 100, *device)
        with student.raises(ValueError, naming=name):
            student.compute_bound_batch(config_of(student), 6, *device)
    with student.raises(ValueError, naming="context"):
        student.compute_bound_batch(config_of(student), int(value), 800.0, 20.0)


# --- Task 4: trace ---------------------------------------------------------------------------


def written(student: Any, name: str, content: bytes) -> str:
    folder = student.new_folder()
    (Path(folder.host) / name).write_bytes(content)
    return f"{folder.path}/{name}"


def slice_(name: str, ts: Any, dur: Any = 1.0, cat: str = "cpu_op", **more: Any) -> dict[str, Any]:
    place = {"pid": 1, "tid": 1} | more
    return {"ph": "X", "name": name, "cat": cat, "ts": ts, "dur": dur} | place


def assert_read(student: Any, trace: Any, want: list[dict[str, Any]], zipped=False, name="t.json"):
    text = json.dumps(trace).encode()
    path = written(student, name, gzip.compress(text) if zipped else text)
    got = expect(student.read_trace(path), list[dict], "the events")
    names, wanted = [e.get("name") for e in got], [e["name"] for e in want]
    check(names == wanted, f"the events are {names}, expected {wanted}")
    for event, other in zip(got, want, strict=True):
        ours = {"dur": event.get("dur", 0.0)} | other  # an instant may have a dur
        expect(event.get("ts"), float, f"the time of {other['name']}")
        check(event in (other, ours), f"the event {other['name']} is {event}, expected {other}")
        if other["ph"] == "X":
            expect(event.get("dur"), float, f"dur of {other['name']}")


A, B = slice_("a", 2.5, 4.0), slice_("b", 1.0, 0.5)


@task("trace", contract=14, gate=True)
@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_forms_of_a_trace(student, zipped, name):
    """A list and an object, zipped or not under either name."""
    assert_read(student, [A, B], [B, A], zipped, name)
    assert_read(student, {"traceEvents": [A, B], "schemaVersion": 1}, [B, A], zipped, name)
    assert_read(student, [], [], zipped, name)


@task("trace", contract=15)
def test_order_and_kinds(student):
    """Slices and instants by ts, equal ones as in the file, with every key; nothing else."""
    instant = {"ph": "i", "name": "[memory]", "s": "t", "ts": 2.5, "args": {"Bytes": 8}}
    others = [{"ph": ph, "name": ph, "ts": 1.0, "pid": 1} for ph in "MsftCBEbe"]
    late = slice_("0", 2.5, 9.0, id=4, args={"External id": 3, "Input Dims": [[2], []]})
    text = slice_("text", 10.0)
    bare = {"ph": "X", "name": "bare", "pid": "Spans", "tid": "", "ts": 3.0, "dur": 1.0}
    file = [text, *others, A, {}, instant, {"ph": "M", "ts": "never"}, late, {"name": "x"}, bare, B]
    assert_read(student, file, [B, A, instant, late, bare, text])


@task("trace", contract=16)
def test_kinds_of_times(student):
    """Strings, ints and a missing dur; the base of today is kept to a quarter."""
    bare = {key: value for key, value in slice_("bare", 3).items() if key != "dur"}
    file = [slice_("text", "10.5", "2"), slice_("int", 7, 3), bare, slice_("day", 1.7e15 + 0.25)]
    want = [bare | {"ts": 3.0, "dur": 0.0}, slice_("int", 7.0, 3.0), slice_("text", 10.5, 2.0)]
    trace = {"displayTimeUnit": "ms", "baseTimeNanoseconds": 10**18, "traceEvents": file}
    assert_read(student, trace, [*want, file[-1]])


@task("trace", contract=17)
@pytest.mark.parametrize(
    ("naming", "content"),
    [
        ("JSON", b""), ("JSON", b'[{"ph": "X"'), ("JSON", gzip.compress(b"[]" * 40, mtime=0)[:-9]),
        ("JSON", b"\x1f\x8b\x08\x00" + bytes(range(50))), ("JSON", b"\xff\x00"),
        ("traceEvents", b"{}"), ("traceEvents", b"7"), ("traceEvents", b'{"traceEvents": null}'),
        ("traceEvents", b'{"traceEvents": {}}'), ("ts", b'[{"ph": "X", "dur": 1}]'),
        ("ts", b'[{"ph": "i", "ts": null}]'), ("ts", b'[{"ph": "X", "ts": "now", "dur": 1}]'),
        ("dur", b'[{"ph": "X", "ts": 1, "dur": "long"}]'),
        ("dur", b'[{"ph": "X", "ts": 1, "dur": [1]}]'),
        ("dur", b'[{"ph": "X", "ts": 1, "dur": null}]'),
    ],
)  # fmt: skip
def test_files_that_are_no_traces(student, naming, content):
    """ValueError, which names what is wrong."""
    path = written(student, "trace.json", content)
    with student.raises(ValueError, naming=naming):
        student.read_trace(path)


def assert_us(got: Any, want: float, what: str) -> None:
    value = expect(got, int | float, what)
    check(abs(value - want) <= 1e-6 * max(1, want), f"{what} is {value} us, expected {want} us")


def assert_times(got: Any, **want: float) -> None:
    """Each name has its time; one without may be missing. ``nobody`` stands for no letters."""
    got = expect(got, dict, "the result")
    wanted = {"" if name == "nobody" else name: time for name, time in want.items()}
    for name in [*wanted, *(name for name in got if name not in wanted)]:
        assert_us(got.get(name, 0.0), wanted.get(name, 0.0), f"the time of {name!r}")


def kernel(ts: float, dur: float, stream: int = 7, device: int = 0, **more: Any) -> dict[str, Any]:
    return slice_("gemm", ts, dur, **({"cat": "kernel", "pid": device, "tid": stream} | more))


@task("trace", contract=18, gate=True)
def test_busy_of_the_handout(student):
    """Two streams that overlap, a gap, and another device."""
    both = [kernel(0.0, 10.0), kernel(4.0, 2.0, 8), kernel(8.0, 4.0, 8), kernel(20.0, 5.0)]
    assert_us(student.device_busy(both), 17.0, "the busy time")
    more = [kernel(0.0, 30.0, 7, 1), *both]
    assert_us(student.device_busy(more), 47.0, "the busy time of two devices")
    assert_us(student.device_busy([]), 0.0, "the busy time of nothing")


@task("trace", contract=19)
def test_work_and_what_is_none(student):
    """Copies and fills are work, annotations of the device are not; ts may be 0, or below."""
    work = [kernel(0.0, 2.0, cat="gpu_memcpy"), kernel(5.0, 1.0, cat="gpu_memset")]
    work += [kernel(0.0, 0.0), kernel(8.0, 3.0, cat="gpu_user_annotation"), kernel(11.0, 0.0)]
    work += [slice_("cudaLaunchKernel", 30.0, cat="cuda_runtime"), kernel(40.0, 2.0, cat="Kernel")]
    work += [{"ph": "i", "name": "[memory]", "pid": 0, "tid": 7, "ts": 50.0, "dur": 0.0}]
    assert_us(student.device_busy(work), 3.0, "the busy time")
    assert_us(student.device_busy([kernel(-4.0, 2.0), kernel(0.0, 1.5)]), 3.5, "the busy time")


def op(name: str, start: float, stop: float, **more: Any) -> dict[str, Any]:
    return slice_(name, float(start), float(stop - start), **more)


@task("trace", contract=20, gate=True)
def test_self_times_of_the_handout(student):
    """A step with two layers, one with a product in it; another thread is another line."""
    events = [op("step", 0, 30, cat="user_annotation"), op("layer", 2, 12), op("mm", 4, 9)]
    events += [op("call", 5, 8, cat="cuda_runtime"), op("layer", 12, 20), op("mm", 40, 41)]
    assert_times(student.self_times(events), step=12.0, layer=13.0, mm=6.0)
    others = [op("mm", 3, 5, tid=2), op("mm", 3, 6, pid=2), op("mm", 3, 4, tid="1")]
    others += [op("x", 3, 9, cat="python_function")]
    want = {"step": 12.0, "layer": 13.0, "mm": 12.0}
    got = student.self_times(sorted([*events, *others], key=lambda event: event["ts"]))
    assert_times(got, **want)


@task("trace", contract=21)
def test_borders_of_slices(student):
    """Who begins together, and who is equal."""
    events = [op("mm", 0, 5), op("step", 0, 20), op("last", 15, 20), op("dot", 20, 20)]
    assert_times(student.self_times(events), step=10.0, mm=5.0, last=5.0)
    equal = [op("z", 0, 9), op("b", 0, 9), op("m", 0, 9)]
    assert_times(student.self_times(equal), m=9.0)
    assert_times(student.self_times(equal[::-1]), z=9.0)


@task("trace", contract=22)
def test_slices_that_overlap(student):
    """The one that began last has the time of both, and what it outlasts has no more."""
    assert_times(student.self_times([op("a", 0, 10), op("b", 5, 15)]), a=5.0, b=10.0)
    events = [op("p", 0, 20), op("a", 2, 10), op("b", 6, 14), op("c", 16, 24)]
    assert_times(student.self_times(events), p=4.0, a=4.0, b=8.0, c=8.0)
    events = [op("a", 0, 30), op("b", 5, 12), op("c", 10, 20)]
    assert_times(student.self_times(events), a=15.0, b=5.0, c=10.0)
    events = [op("a", 0, 4), *(op("b", i, i + 9) for i in range(1, 4))]
    assert_times(student.self_times(events), a=1.0, b=11.0)


def span(name: str, start: float, stop: float, **more: Any) -> dict[str, Any]:
    return op(name, start, stop, cat="user_annotation", **more)


def ids(number: int, external: int = 0) -> dict[str, Any]:
    return {"args": {"correlation": number, "External id": external}}


def launch(number: int, start: float, stop: float, **more: Any) -> dict[str, Any]:
    return op("cudaLaunchKernel", start, stop, **({"cat": "cuda_runtime"} | ids(number) | more))


def work(number: int, start: float, dur: float, **more: Any) -> dict[str, Any]:
    return kernel(float(start), float(dur), **(ids(number) | more))


STEPS = [
    span("prefill", 0, 10), launch(1, 2, 3), span("norm", 4, 8), launch(2, 5, 6),
    span("decode", 20, 30), launch(3, 21, 22),
]  # fmt: skip


@task("trace", contract=23, gate=True)
def test_attribution_of_the_handout(student):
    """The innermost annotation around the launch, wherever the kernel ran."""
    events = [*STEPS, work(1, 22, 4), work(2, 26, 2), work(3, 40, 8)]
    assert_times(student.attribute(events), prefill=4.0, norm=2.0, decode=8.0)
    copied = [*STEPS, work(1, 22, 4, cat="gpu_memcpy"), work(3, 26, 2, cat="gpu_memset")]
    assert_times(student.attribute(copied), prefill=4.0, decode=2.0)


@task("trace", contract=23)
def test_what_is_around_a_launch(student):
    """All of it, borders included, on its own track; a driver's call launches too."""
    events = [launch(1, 0, 4), span("step", 0, 10), span("other", 0, 50, tid=2), op("mm", 3, 8)]
    events += [span("short", 5, 6), launch(2, 5, 7), span("at", 9, 10), launch(3, 9, 10)]
    events += [launch(4, 20, 21), op("x", 24, 27, cat="gpu_user_annotation"), launch(5, 25, 26)]
    events += [span("triton", 30, 34), launch(6, 31, 32, cat="cuda_driver")]
    events += [work(n, 40 + 64 * n, 2**n) for n in range(1, 7)]
    got = student.attribute(events)
    assert_times(got, step=6.0, at=8.0, nobody=48.0, triton=64.0)


@task("trace", contract=24)
def test_graphs_and_ids(student):
    """Three kernels of one launch; External ids that look like other launches' numbers."""
    events = [*STEPS[:-1], launch(3, 21, 22) | {"name": "cudaGraphLaunch"}]
    events[1], events[3] = launch(1, 2, 3, **ids(1, 2)), launch(2, 5, 6, **ids(2, 1))
    events += [work(1, 40, 1) | ids(1, 3), work(2, 50, 2) | ids(2, 3), work(3, 60, 4) | ids(3, 1)]
    events += [work(3, 70, 8) | ids(3, 2), work(3, 80, 16, cat="gpu_memset")]
    assert_times(student.attribute(events), prefill=1.0, norm=2.0, decode=28.0)


@task("trace", contract=25)
def test_work_that_is_nobodys(student):
    """Without a launch, an annotation, a number or args."""
    bare = {key: value for key, value in launch(0, 7, 8).items() if key != "args"}
    calls = [*STEPS[:4], bare, launch(0, 8, 9, args={}), launch(9, 15, 16)]
    alone = {key: value for key, value in kernel(90.0, 16.0).items() if key != "args"}
    events = [
        *calls,
        work(1, 40, 1),
        work(9, 50, 2),
        work(77, 60, 4),
        work(0, 70, 8, args={}),
        alone,
    ]
    assert_times(student.attribute(events), prefill=1.0, nobody=30.0)


@task("trace", contract=26)
@pytest.mark.parametrize("name", ["device_busy", "self_times", "attribute"])
def test_long_trace(student, name):
    """20,000 steps of five events under one annotation, read and added up in seconds."""
    events = [span("run", 0, 400_000)]
    for i in range(20_000):
        at = 20 * i
        events += [span("step", at, at + 10), op("mm", at + 2, at + 8), launch(i, at + 3, at + 4)]
        events += [work(i, at + 500, 6), work(i, at + 503, 5, tid=8)]
    path = written(student, "trace.json", json.dumps(events).encode())

    got = student.given("traces").through(student.handle("read_trace"), student.handle(name), path)

    if name == "device_busy":
        assert_us(got, 160_000.0, "the busy time")
    elif name == "self_times":
        assert_times(got, run=200_000.0, step=80_000.0, mm=120_000.0)
    else:
        assert_times(got, step=220_000.0)


@task("trace", contract=20)
@pytest.mark.parametrize("recorded", [RECORDED, RECORDED_ON_A_GPU], ids=["cpu", "gpu"])
def test_recorded_trace(student, recorded):
    """The given Llama: the self times are those of two annotations, and a GPU idles for most."""
    path = written(student, recorded.name, recorded.read_bytes())
    read, through = student.handle("read_trace"), student.given("traces").through

    times = expect(through(read, student.handle("self_times"), path), dict, "the self times")

    with gzip.open(recorded) as file:
        events = json.load(file)["traceEvents"]
    spans = [event for event in events if event.get("cat") == "user_annotation"]
    work = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    want = sum(event["dur"] for event in spans)
    total = sum(expect(time, int | float, f"the time of {name}") for name, time in times.items())
    say = f"the self times add up to {total:.1f} us, expected {want:.1f} us"
    check(abs(total - want) < 1e-3 * want, say)
    # One stream has one thing at a time. Moments have 16 digits, of which a float keeps 15.
    want = sum(event["dur"] for event in work)
    busy = expect(
        through(read, student.handle("device_busy"), path), int | float, "the busy time of a GPU"
    )
    check(
        abs(busy - want) <= 1e-3 * want,
        f"the GPU is busy for {busy:.1f} us, expected {want:.1f} us",
    )


@task("trace", contract=27)
@pytest.mark.parametrize("name", ["device_busy", "self_times", "attribute"])
def test_events_are_left_alone(student, name):
    """Neither the list nor an event is another afterwards."""
    events = [op("b", 0, 1), launch(1, 0, 1), span("a", 0, 9), work(1, 20, 1), op("z", 30, 31)]
    watched = student.watch(events)

    getattr(student, name)(watched)

    assert_unmodified(watched, "events")


# --- Task 5: memory --------------------------------------------------------------------------


def largest(student: Any, step: tuple[int, int, int], **sizes: int) -> Any:
    return student.handle("largest_tensor")(config_of(student, **sizes), *step)


@task("memory", contract=28, gate=True)
def test_largest_of_the_handout(student):
    """A prompt of 5, one of 50, a step of decoding, and one with a wide model."""
    assert_equal(largest(student, (2, 5, 5)), ["mlp", 300], "the largest tensor")
    assert_equal(largest(student, (2, 50, 50)), ["scores", 20_000], "the largest tensor")
    assert_equal(largest(student, (2, 1, 60)), ["keys", 720], "the largest tensor")
    assert_equal(largest(student, (3, 1, 1), hidden_size=64), ["hidden", 192], "the largest tensor")


@task("memory", contract=28)
def test_largest_in_a_tie(student):
    """scores, mlp, hidden, keys: the first."""
    for sizes, step, want in (
        ({"intermediate_size": 20}, (1, 3, 5), "scores"),
        ({"intermediate_size": 40, "hidden_size": 40}, (1, 3, 5), "mlp"),
        ({"intermediate_size": 9, "hidden_size": 36}, (1, 1, 6), "hidden"),
    ):
        got = expect(largest(student, step, **sizes), list, "the result")
        assert_equal(got[:1], [want], "the name")


@task("memory", contract=29)
@each_no_step
def test_no_step_has_no_tensors(student, name, batch, new, context):
    """ValueError, with the name of the argument."""
    with student.raises(ValueError, naming=name):
        largest(student, (batch, new, context))


def memory(ts: float, nbytes: int, kind: int = 1, number: int = 0, **more: Any) -> dict[str, Any]:
    args = {"Bytes": nbytes, "Device Type": kind, "Device Id": number, **more}
    named = {"ph": "i", "name": "[memory]", "ts": ts, "dur": 0.0, "pid": 1, "tid": 1}
    return named | {"args": args}


def assert_peak(student: Any, events: list[dict[str, Any]], nbytes: int, ts: float) -> None:
    got = expect(student.handle("peak_memory")(events), list, "the result")
    check(got == [nbytes, ts], f"the peak is {got}, expected {[nbytes, ts]}")


PEAKS = [memory(1.0, 100), memory(2.0, 300), memory(3.0, -100), memory(4.0, 100)]


@task("memory", contract=30, gate=True)
def test_peak_of_the_handout(student):
    """400 bytes at 2.0, and again at 4.0; other devices have sums of their own."""
    assert_peak(student, [*PEAKS, memory(5.0, -400)], 400, 2.0)
    others = [memory(1.5, 350, 0, -1), memory(2.5, 390, 1, 1), memory(3.5, 60, 0, 0)]
    events = sorted([*PEAKS, *others], key=lambda event: event["ts"])
    assert_peak(student, events, 400, 2.0)
    assert_peak(student, [*events, memory(6.0, 51, 0, -1)], 401, 6.0)


@task("memory", contract=30)
def test_odd_peaks(student):
    """None; more freed than allocated; equal times; what has another name; the totals."""
    assert_peak(student, [], 0, 0.0)
    assert_peak(student, [memory(1.0, -9), memory(2.0, 9)], 0, 0.0)
    assert_peak(student, [memory(1.0, -9), memory(2.0, 12)], 3, 2.0)
    assert_peak(student, [memory(1.0, 5), memory(1.0, 7), memory(1.0, -7)], 12, 1.0)
    odd = [memory(1.0, 90) | {"name": "[OOM]"}, memory(2.0, 8, **{"Total Allocated": 10**6})]
    assert_peak(student, [*odd, op("[memory] of", 3, 4)], 8, 2.0)


def planned(student: Any, tensors: list[list[int]]) -> list[int]:
    got = expect(student.plan_memory(tensors), list[int], "the offsets")
    check(len(got) == len(tensors), f"{len(got)} offsets came for {len(tensors)} tensors")
    return got


PLANS = {
    "handout": [[100, 0, 1], [200, 1, 2], [60, 2, 3]],
    "chain": [[1000, i, i + 1] for i in range(12)],
    "backwards": [[1000, i, i + 1] for i in range(12)][::-1],
    "long life": [[512, 0, 9], *([512, i, i] for i in range(10))],
    "inside": [[300, 0, 9], [200, 3, 4], [250, 2, 6]],
    "small ones": [[8192, 0, 0], *([1024, 1, 1] for _ in range(8)), [8192, 2, 2]],
    "sizes": [[37 * (i % 7) + 1, i, i + i % 4] for i in range(30)],
    "growing": [[100 * i + 1, i, i + 2] for i in range(20)],
    "one step": [[65, 4, 4], [1, 4, 4], [64, 4, 4]],
}
each_plan = pytest.mark.parametrize("case", PLANS)


@task("memory", contract=31, gate=True)
@each_plan
def test_plan_keeps_the_living_apart(student, case):
    """No byte has two tensors at a step."""
    tensors = PLANS[case]
    offsets = planned(student, tensors)
    for i, (size, first, last) in enumerate(tensors):
        for j, (other, begin, stop) in enumerate(tensors[:i]):
            apart = offsets[i] + size <= offsets[j] or offsets[j] + other <= offsets[i]
            say = f"{tensors[j]} lies at {offsets[j]} and {tensors[i]} at {offsets[i]}"
            check(apart or last < begin or stop < first, f"{say}, expected no byte in common")


@task("memory", contract=32)
@each_plan
def test_plan_is_aligned(student, case):
    """Offsets are multiples of 64, from 0 on."""
    for offset in planned(student, PLANS[case]):
        say = f"an offset is {offset}, expected a multiple of 64 from 0 on"
        check(offset % 64 == 0 and offset >= 0, say)


@task("memory", contract=33)
@each_plan
def test_plan_ends_low(student, case):
    """The end is at most 1.6 times what lives at once."""
    tensors = PLANS[case]
    end = max(
        at + size for at, (size, _, _) in zip(planned(student, tensors), tensors, strict=True)
    )
    steps = {step for _, first, last in tensors for step in (first, last)}
    alive = max(sum(-(-s // 64) * 64 for s, a, b in tensors if a <= at <= b) for at in steps)
    check(end <= 1.6 * alive, f"the plan ends at {end}, expected {1.6 * alive:.0f} at most")


@task("memory", contract=32)
def test_plan_changes_nothing(student):
    """The list of tensors is as before the call; it may be empty."""
    assert_equal(student.plan_memory([]), [], "the offsets of nothing")
    tensors = student.watch([[60, 2, 3], [100, 0, 1], [200, 1, 2]])

    expect(student.plan_memory(tensors), list[int], "the offsets")

    assert_unmodified(tensors, "tensors")


# --- Task 6: measure -------------------------------------------------------------------------


class Device:
    """Work is queued by fn, which takes half a second for that, and 7 seconds are queued before."""

    def __init__(self, *seconds: float) -> None:
        self.heard: list[str] = []
        self.seconds = [*seconds]
        self.now, self.done = 100.0, 107.0

    def fn(self) -> None:
        self.heard.append("fn")
        self.now += 0.5
        self.done = max(self.now, self.done) + (self.seconds.pop(0) if self.seconds else 1.0)

    def clock(self) -> float:
        self.heard.append("clock")
        return self.now

    def synchronize(self) -> None:
        self.heard.append("synchronize")
        self.now = max(self.now, self.done)


def measured(student: Any, device: Device, warmup: int, repeats: int) -> dict[str, Any]:
    lent = [student.lend(each) for each in (device.fn, device.clock, device.synchronize)]
    got = expect(student.measure(*lent, warmup, repeats), dict, "the result")
    names = ["median", "minimum", "times"]
    check(sorted(got) == names, f"the result has the names {sorted(got)}, expected {names}")
    return got


@task("measure", contract=34, gate=True)
@pytest.mark.parametrize(("warmup", "repeats"), [(1, 2), (0, 1), (3, 3)])
def test_calls_of_the_handout(student, warmup, repeats):
    """Warm-up, and then five calls for each repeat."""
    device = Device()
    measured(student, device, warmup, repeats)
    once = ["synchronize", "clock", "fn", "synchronize", "clock"]
    want = ["fn"] * warmup + once * repeats
    check(device.heard == want, f"the calls were {device.heard}, expected {want}")


@task("measure", contract=35)
def test_times_of_the_handout(student):
    """Warm-up of 50 seconds, then 3, 9 and 4 and half a second each for the launch."""
    got = measured(student, Device(50.0, 3.0, 9.0, 4.0), 1, 3)
    assert_equal(got["times"], [3.5, 9.5, 4.5], "times")
    assert_equal(measured(student, Device(6.0), 0, 1)["times"], [6.5], "times")


@task("measure", contract=36)
@pytest.mark.parametrize(
    ("seconds", "median", "minimum"),
    [((3.0, 9.0, 4.0), 4.5, 3.5), ((9.0, 1.0, 4.0, 30.0), 7.0, 1.5), ((2.0,), 2.5, 2.5)],
)
def test_median_and_least(student, seconds, median, minimum):
    """The middle one, or the mean of the middle two."""
    got = measured(student, Device(*seconds), 0, len(seconds))
    assert_near(got["median"], median, "the median")
    assert_near(got["minimum"], minimum, "the minimum")


@task("measure", contract=37)
@pytest.mark.parametrize(("name", "warmup", "repeats"), [("repeats", 1, 0), ("warmup", -1, 2)])
def test_no_repeats(student, name, warmup, repeats):
    """ValueError, with the name of the argument, before any call."""
    device = Device()
    lent = [student.lend(each) for each in (device.fn, device.clock, device.synchronize)]
    with student.raises(ValueError, naming=name):
        student.measure(*lent, warmup, repeats)
    check(device.heard == [], f"the calls were {device.heard}, expected none")
