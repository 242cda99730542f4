"""The oracles of lab 13 against torch's counter and profiler, the given model, and brute force."""

import gzip
import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils.flop_counter import FlopCounterMode

from labs.common import LlamaConfig
from labs.llama import Llama
from labs.record import Cache, record
from labs.traces import RECORDED, RECORDED_ON_A_GPU, through
from reference import profiling as oracle
from reference.scripted.queued import Device
from reference.scripted.traced import drawn, long

CONFIG = LlamaConfig(
    vocab_size=97, hidden_size=40, intermediate_size=108, num_layers=3, num_heads=6,
    num_kv_heads=2, head_dim=14, rms_norm_eps=1e-5, rope_theta=1e4, rope_scaling=None,
    max_position_embeddings=512, tie_word_embeddings=False, bos_token_id=None, eos_token_ids=(2,),
)  # fmt: skip


def weights_of(config: LlamaConfig) -> dict[str, torch.Tensor]:
    """Random weights by their Hugging Face names."""
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config.vocab_size, config.hidden_size),
        "model.norm.weight": (config.hidden_size,),
        "lm_head.weight": (config.vocab_size, config.hidden_size),
    }
    queries, keys = (n * config.head_dim for n in (config.num_heads, config.num_kv_heads))
    for layer in range(config.num_layers):
        at, model, wide = (
            f"model.layers.{layer}.", config.hidden_size, config.intermediate_size,
        )  # fmt: skip
        shapes |= {
            f"{at}self_attn.q_proj.weight": (queries, model),
            f"{at}self_attn.k_proj.weight": (keys, model),
            f"{at}self_attn.v_proj.weight": (keys, model),
            f"{at}self_attn.o_proj.weight": (model, queries),
            f"{at}mlp.gate_proj.weight": (wide, model),
            f"{at}mlp.up_proj.weight": (wide, model),
            f"{at}mlp.down_proj.weight": (model, wide),
            f"{at}input_layernorm.weight": (model,),
            f"{at}post_attention_layernorm.weight": (model,),
        }
    return {name: torch.randn(shape) / 8 for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("batch", "before", "new"),
    [(2, 0, 7), (3, 6, 4), (5, 9, 1)],
    ids=["prefill", "chunk", "decode"],
)
def test_operations_are_those_of_the_counter_of_torch(batch: int, before: int, new: int) -> None:
    model, caches = Llama(CONFIG, weights_of(CONFIG)), [Cache() for _ in range(3)]
    tokens = torch.zeros(batch, before + new, dtype=torch.int64)
    positions = torch.arange(before + new).expand(batch, -1)
    if before:
        model(tokens[:, :before], positions[:, :before], caches=caches)
    with FlopCounterMode(display=False) as counter:
        model(tokens[:, before:], positions[:, before:], caches=caches)

    counts = oracle.step_flops(CONFIG, batch, new, before + new)

    assert sum(counts.values()) == counter.get_total_flops()


def test_weights_are_the_parameters_of_the_given_model() -> None:
    model = Llama(CONFIG, weights_of(CONFIG))
    table = CONFIG.vocab_size * CONFIG.hidden_size
    parameters = sum(parameter.numel() for parameter in model.parameters())

    read = oracle.step_bytes(CONFIG, 2, 5, 5, weight_bytes=1.0)["weights"]

    assert read == parameters - table + 10 * CONFIG.hidden_size


def test_cache_is_what_the_given_model_keeps() -> None:
    model, caches = Llama(CONFIG, weights_of(CONFIG)), [Cache() for _ in range(3)]
    model(torch.zeros(2, 5, dtype=torch.int64), torch.arange(5).expand(2, -1), caches=caches)
    nothing = torch.zeros(2, CONFIG.num_kv_heads, 0, CONFIG.head_dim)
    held = [part for cache in caches for part in cache.update(nothing, nothing)]

    counts = oracle.step_bytes(CONFIG, 2, 5, 5, cache_bytes=4.0)

    assert counts["cache_read"] == counts["cache_write"] == sum(part.nbytes for part in held)


@pytest.mark.parametrize(("new", "context"), [(1, 1), (1, 6), (4, 9), (9, 9)])
def test_pairs_are_those_of_a_mask(new: int, context: int) -> None:
    mask = torch.ones(new, context, dtype=torch.bool).tril(context - new)

    assert oracle.causal_pairs(new, context) == int(mask.sum())


def test_batch_is_where_both_times_cross() -> None:
    peak, bandwidth = 4e12, 1e11
    batch = oracle.compute_bound_batch(CONFIG, 3, peak, bandwidth, 4096)
    assert batch is not None
    flops, nbytes = (
        [sum(count(CONFIG, rows, 1, 3).values()) for rows in (batch - 1, batch)]
        for count in (oracle.step_flops, oracle.step_bytes)
    )

    assert flops[0] / peak < nbytes[0] / bandwidth
    assert flops[1] / peak >= nbytes[1] / bandwidth


def nonzero(times: dict[str, float]) -> dict[str, float]:
    return {name: time for name, time in times.items() if time}


@pytest.mark.parametrize("seed", range(20))
def test_drawn_truth_is_what_brute_force_finds(seed: int) -> None:
    trace = drawn(random.Random(seed).randrange, 1.7e15 * (seed % 2))
    events = trace.listed()

    assert oracle.device_busy(events) == trace.busy
    assert nonzero(oracle.self_times(events)) == nonzero(trace.times(trace.own))
    assert nonzero(oracle.attribute(events)) == nonzero(trace.times(trace.owned))


def test_truth_of_a_long_trace_is_that_of_a_short_one() -> None:
    for seed in range(4):
        events, truth = long(30, random.Random(seed).randrange)
        for name, want in truth.items():
            got = getattr(oracle, name)(sorted(events, key=lambda event: event["ts"]))
            assert got == want


def traced(profiler: Any, path: Path) -> list[dict[str, Any]]:
    """Return slices and instants of what a profiler writes, by ts."""
    profiler.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    kept = [{"dur": 0.0} | event for event in events if event.get("ph") in ("X", "i")]
    return sorted(kept, key=lambda event: event["ts"])


def test_self_times_are_those_of_key_averages(tmp_path: Path) -> None:
    x = torch.randn(64, 64)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            with record_function("step"):
                torch.nn.functional.linear(x, x).softmax(-1).add_(1).clone()
    told = {row.key: row.self_cpu_time_total for row in profiler.key_averages()}

    times = oracle.self_times(traced(profiler, tmp_path / "trace.json"))

    # The profiler rounds borders to nanoseconds, and slices a nanosecond apart may overlap.
    assert {*times} <= {*told}
    for name, time in told.items():
        assert times.get(name, 0.0) == pytest.approx(time, abs=0.5)


def test_peak_is_that_of_the_profilers_totals(tmp_path: Path) -> None:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        first = torch.ones(1000)
        second = first + 1
        del first
        second = second * 2
        del second
    events = traced(profiler, tmp_path / "trace.json")
    rows = [event["args"] for event in events if event["name"] == "[memory]"]
    before = rows[0]["Total Allocated"] - rows[0]["Bytes"]

    peak, at = oracle.peak_memory(events)

    assert peak == max(row["Total Allocated"] for row in rows) - before
    first_at = min(
        e["ts"] for e in events if e.get("args", {}).get("Total Allocated") == peak + before
    )
    assert at == first_at


@pytest.mark.parametrize("recorded", [RECORDED, RECORDED_ON_A_GPU], ids=["cpu", "gpu"])
def test_recorded_trace_is_whole(recorded: Path) -> None:
    with gzip.open(recorded, "rt") as file:
        trace = json.load(file)
    events = [event for event in trace["traceEvents"] if event.get("ph") in ("X", "i")]
    events = sorted(({"dur": 0.0} | event for event in events), key=lambda event: event["ts"])
    spans = {e["name"]: e["dur"] for e in events if e.get("cat") == "user_annotation"}

    # A few slices outlast their parent by a nanosecond.
    assert spans.keys() == {"prefill", "decode"}
    assert sum(oracle.self_times(events).values()) == pytest.approx(sum(spans.values()), rel=1e-3)
    assert oracle.peak_memory(events)[0] > 0
    assert "aten::mm" in oracle.self_times(events)
    assert not {"traceName", "host_name"} & trace.keys()
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert bool(kernels) == (recorded == RECORDED_ON_A_GPU)
    busy = sum(e["dur"] for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"))
    assert oracle.device_busy(events) == pytest.approx(busy, rel=1e-3)  # it has one stream
    assert sum(oracle.attribute(events).values()) == pytest.approx(busy, rel=1e-3)


def test_recording_writes_what_was_recorded() -> None:
    trace = record(RECORDED.parent / "draft", 1, "cpu")

    names = [
        event["name"] for event in trace["traceEvents"] if event.get("cat") == "user_annotation"
    ]
    assert names == ["prefill", "decode"]


def test_events_go_through() -> None:
    assert through(lambda path: [{"name": path}], len, "here") == 1


def test_plans_of_honest_planners_hold() -> None:
    for seed in range(50):
        randrange = random.Random(seed).randrange
        plan = [[randrange(1, 900), a := randrange(9), a + randrange(5)] for _ in range(12)]
        for offsets in oracle.honest_plans(plan):
            assert oracle.clashes(plan, offsets) == []
            assert all(at % 64 == 0 and at >= 0 for at in offsets)
            assert oracle.end(plan, offsets) > oracle.most_alive(plan) - 64


def test_clashes_are_bytes_that_two_hold() -> None:
    for seed in range(200):
        randrange = random.Random(seed).randrange
        plan = [[randrange(4), a := randrange(3), a + randrange(3)] for _ in range(4)]
        offsets = [randrange(6) for _ in plan]
        held = [
            {(s, b) for s in range(first, last + 1) for b in range(at, at + size)}
            for at, (size, first, last) in zip(offsets, plan, strict=True)
        ]
        want = [(i, j) for i, j in itertools.combinations(range(4), 2) if held[i] & held[j]]

        assert sorted(oracle.clashes(plan, offsets)) == want


def test_most_alive_is_the_fullest_step() -> None:
    assert oracle.most_alive([]) == 0
    assert oracle.most_alive([[1, 0, 2], [65, 2, 4], [64, 3, 3]]) == 192


def test_device_works_on_after_a_call() -> None:
    device = Device([8.0, 4.0], launch=0.5, pending=3.0, now=100.0)

    device.fn()

    assert device.clock() == 100.5
    device.synchronize()
    assert device.clock() == 100 + 3 + 8
    assert device.calls == ["fn", "clock", "synchronize", "clock"]


def test_tensors_are_those_of_a_layer() -> None:
    counts = oracle.tensors(CONFIG, 2, 3, 5)

    q, k = torch.empty(2, 6, 3, 14), torch.empty(2, 6, 5, 14)
    assert counts["scores"] == (q @ k.mT).numel()
    assert counts["keys"] == torch.empty(2, 2, 5, 14).numel()
    assert (counts["mlp"], counts["hidden"]) == (math.prod((2, 3, 108)), math.prod((2, 3, 40)))
