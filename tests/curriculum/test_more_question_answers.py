"""Right answers to the questions of labs 08 to 15 against torch and the oracles."""

from collections.abc import Callable
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from stand_ins.model_answers import solution
from stand_ins.question_keys import answer, drawn, key

from reference import collectives, profiling, quantization, speculative, tp_linear
from reference.paged import Ledger, Steps

BLOCK = 16


def test_a_layer_sends_two_all_reduces_of_the_oracle() -> None:
    for at in drawn(8, "layer_bytes"):
        elements = at["tokens"] * at["width"]
        once = tp_linear.communication_bytes("all_reduce", elements, 2, at["ranks"])
        assert answer(8, "layer_bytes")(**at) == 2 * once


def test_heads_of_a_rank_are_those_that_its_queries_read() -> None:
    for at in drawn(8, "kv_head"):
        assert [answer(8, "kv_head")(**at)] == tp_linear.kv_heads(at["rank"], 16, at["heads"], 8)
    for at in drawn(8, "cache_everywhere"):
        heads, ranks = at["kv_heads"], at["ranks"]
        held = sum(len(tp_linear.kv_heads(r, ranks, 32, heads)) for r in range(ranks))
        assert answer(8, "cache_everywhere")(**at) == held * at["head_dim"] * 2 * 2


def test_codes_are_those_of_quantized_rows() -> None:
    for at in drawn(9, "codes_left"):
        others = torch.linspace(-1, 1, 20_001)
        codes, _ = quantization.quantize_int8(
            torch.cat([others, torch.tensor([at["ratio"]])])[None]
        )
        assert answer(9, "codes_left")(**at) == len(codes[0, :-1].unique())
    for at in drawn(9, "codes_of_one_sign"):
        weights = torch.linspace(at["low"], at["high"], 20_001, dtype=torch.float64)[None]
        codes, _, _ = quantization.quantize_int4(weights, weights.shape[1])
        assert answer(9, "codes_of_one_sign")(**at) == len(codes.unique())
    for at in drawn(15, "odd_group"):
        packed = torch.tensor([[0, at["byte"], 0]], dtype=torch.uint8)
        scale, zero = torch.tensor([[3.0, 2.0]]), torch.tensor([[1, 4]], dtype=torch.uint8)
        weights = quantization.dequantize_int4(packed, scale, zero, 3)
        assert answer(15, "odd_group")(**at) == weights[0, 3]


def test_chances_of_guesses_are_the_oracle_s() -> None:
    for at in drawn(10, "stays"):
        p, q = [at["a"], at["b"], 1 - at["a"] - at["b"]], [0.6, 0.3, 0.1]
        stays = [speculative.acceptance(p, q, token) for token in range(3)]
        kept = sum(chance * stay for chance, stay in zip(q, stays, strict=True))
        assert answer(10, "stays")(**at) == pytest.approx(kept)
        assert answer(10, "replaced_by")(**at) == pytest.approx(speculative.residual(p, q)[1])
        first = q[0] * stays[0] + (1 - kept) * p[0]
        assert answer(10, "wrong_law")(**at) == pytest.approx(first)


def test_speed_of_guessing_is_the_oracle_s() -> None:
    for at in drawn(10, "ms_a_token"):
        gain = speculative.speedup(at["acceptance"], at["k"], at["draft"] / at["target"])
        assert answer(10, "ms_a_token")(**at) == pytest.approx(at["target"] / gain)
    for at in drawn(10, "best_k"):
        gains = [speculative.speedup(at["acceptance"], k, at["cost"]) for k in range(30)]
        assert answer(10, "best_k")(**at) == gains.index(max(gains))


def test_torch_gives_up_where_the_answer_says() -> None:
    calls = 0

    def backend(graph: Any, _examples: Any) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            nonlocal calls
            calls += 1
            return graph.forward(*given)

        return call

    def step(x: torch.Tensor, position: int) -> torch.Tensor:
        return x[position] + position

    compiled = torch.compile(step, backend=backend, dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=8):  # others may have set it in this process
        for position in range(20):
            compiled(torch.zeros(20), position)
    assert answer(11, "eager_steps")(20) == 20 - calls


def test_blocks_in_use_are_the_ledger_s() -> None:
    for at in drawn(12, "next_block"):
        ledger = Ledger(100, at["block"])
        ledger.admit(0, range(at["tokens"]))
        used = len(ledger.used)
        calls = next(n for n in count(1) if ledger.append(0, n) is None or len(ledger.used) > used)
        assert answer(12, "next_block")(**at) == calls
    for at in drawn(12, "twins"):
        ledger = Ledger(1000, BLOCK)
        ledger.admit(0, range(at["tokens"]))
        for child in range(1, at["children"] + 1):
            ledger.fork(0, child)
        for seq in range(at["children"], -1, -1):
            ledger.append(seq, seq)
        assert answer(12, "twins")(**at) == len(ledger.used)
    for at in drawn(12, "system_prompt"):
        ledger = Ledger(1000, BLOCK, share=True)
        for seq in range(at["requests"]):
            ledger.admit(seq, [7] * at["system"] + [1000 + seq] * at["question"])
        assert answer(12, "system_prompt")(**at) == len(ledger.used)


def test_steps_of_a_batch_are_those_of_the_scheduler() -> None:
    for lengths, rows in key(12).cases["steps_needed"]:
        steps = Steps(1000, BLOCK, rows, 1000, share=False)
        for request, length in enumerate(lengths):
            steps.add(request, [1], length, [])
        taken = 0
        while steps.waiting or steps.running:
            steps.commit([2] * len(steps.plan().rows))
            taken += 1
        assert answer(12, "steps_needed")(lengths, rows) == taken


def test_bytes_and_pairs_of_a_step_are_the_oracle_s() -> None:
    sizes = SimpleNamespace(
        **{"vocab_size": 11, "hidden_size": 6, "intermediate_size": 10},
        **{"num_layers": 3, "num_heads": 4, "num_kv_heads": 2, "head_dim": 5},
    )
    read = profiling.step_bytes(sizes, 7, 1, 13)
    weights = read["weights"] // 2
    both = answer(13, "decode_bytes")(weights, 7, 3, 2, 5, 13)
    assert both == read["weights"] + read["cache_read"]
    for at in drawn(13, "masked_away"):
        kept = profiling.causal_pairs(at["new"], at["context"]) / (at["new"] * at["context"])
        assert answer(13, "masked_away")(**at) == pytest.approx(100 * (1 - kept))


def test_messages_of_a_ring_are_the_oracle_s() -> None:
    xs = torch.arange(1, 9)[:, None].repeat(1, 16)
    for at in drawn(14, "partial_sum"):
        message = collectives.reduce_scatter(xs, at["rank"]).sent[at["step"]]
        assert message.tolist() == [answer(14, "partial_sum")(**at)] * 2
    for n, world, rank in key(14).cases["elements_sent"]:
        sent = collectives.all_reduce(torch.ones(world, n), rank).sent
        assert answer(14, "elements_sent")(n, world, rank) == sum(map(len, sent))


def test_ring_and_tree_take_as_long_at_the_answer() -> None:
    for at in drawn(14, "ring_beats_tree"):
        n = answer(14, "ring_beats_tree")(**at) * 1e6
        speed = at["alpha"] * 1e-6, at["beta"] * 1e9
        ring = collectives.ring_seconds("all_reduce", n, at["ranks"], *speed)
        assert ring == pytest.approx(collectives.tree_seconds(n, at["ranks"], *speed))


def test_schedules_idle_and_keep_what_the_answers_say() -> None:
    schedules = solution(14)
    for at in drawn(14, "interleaved_bubble"):
        order = schedules.interleaved(at["stages"], at["microbatches"], at["chunks"])
        played = collectives.play(order, Fraction(1), Fraction(2))
        assert played is not None
        assert answer(14, "interleaved_bubble")(**at) == pytest.approx(100 * float(played.bubble))
    for at in drawn(14, "saved_memory"):
        stages, microbatches, stage = at["stages"], at["microbatches"], at["stage"]
        gpipe = collectives.most_held(schedules.gpipe(stages, microbatches)[stage], "B")
        less = collectives.most_held(schedules.one_f_one_b(stages, microbatches)[stage], "B")
        assert answer(14, "saved_memory")(**at) == (gpipe - less) * at["gib"]


def test_places_in_memory_are_torch_s() -> None:
    for at in drawn(15, "byte_offset"):
        whole = torch.zeros(8, at["columns"], dtype=torch.bfloat16)
        view = whole.T[::2]
        behind = view[at["i"], at["j"]].data_ptr() - view.data_ptr()
        assert answer(15, "byte_offset")(**at) == behind
    for at in drawn(15, "fake_strides"):
        gate = torch.zeros(at["rows"], at["width"]).T
        assert answer(15, "fake_strides")(**at) == gate.contiguous().stride()
    for sizes, strides in key(15).cases["span"]:
        storage = torch.empty_strided(sizes, strides, dtype=torch.uint8).untyped_storage()
        assert answer(15, "span")(sizes, strides) == storage.nbytes()


def test_sums_in_bfloat16_are_torch_s() -> None:
    for at in drawn(15, "kept_residual"):
        residual, x = (torch.tensor(float(at[name])).bfloat16() for name in ("residual", "x"))
        assert answer(15, "kept_residual")(**at) == (residual + x).item()
