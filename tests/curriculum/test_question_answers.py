"""Right answers to the labs' questions against torch, transformers and the oracles."""

from typing import Any

import pytest
import torch
from stand_ins.question_keys import answer, drawn
from torch.nn.functional import layer_norm, scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    DynamicCache,
    LlamaConfig,
    LlamaForCausalLM,
    RepetitionPenaltyLogitsProcessor,
)
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from grader import ROOT
from labs.common import load_weights
from reference.batching import causal_mask
from reference.rope import rotate

DOUBLE = torch.float64


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=DOUBLE)


def llama(**sizes: Any) -> LlamaForCausalLM:
    with torch.device("meta"):
        return LlamaForCausalLM(LlamaConfig(**sizes))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("wide", [8, 22])
def test_parameters_are_those_of_transformers(tied: bool, wide: int) -> None:
    model = llama(
        vocab_size=301,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=wide,
        tie_word_embeddings=tied,
    )

    found = answer(1, "parameters")(301, 48, 80, 3, 6, 2, wide, tied)

    assert found == model.num_parameters()


def test_parameters_are_those_of_the_target() -> None:
    weights = load_weights(ROOT / "labs" / "checkpoints" / "target")

    found = answer(1, "parameters")(2048, 256, 704, 8, 8, 2, 32, True)

    assert found == sum(weight.numel() for weight in weights.values())


@pytest.mark.parametrize(
    ("bits", "dtype"),
    [
        (3, torch.float8_e5m2),
        (4, torch.float8_e4m3fn),
        (8, torch.bfloat16),
        (11, torch.float16),
    ],
)
def test_positions_meet_where_torch_rounds_them_together(bits: int, dtype: torch.dtype) -> None:
    rounded = torch.arange(3000).float().to(dtype).float()

    first = int((rounded[1:] == rounded[:-1]).nonzero()[0]) + 1

    assert answer(1, "first_equal_position")(bits) == first


def test_a_sum_of_squares_overflows_where_torch_says_so() -> None:
    for draw in drawn(1, "overflow_at"):
        total, count = torch.zeros((), dtype=torch.float16), 0
        while total.isfinite():
            total, count = total + torch.tensor(draw["value"], dtype=torch.float16) ** 2, count + 1

        assert answer(1, "overflow_at")(**draw) == count


@pytest.mark.parametrize(("real", "columns"), [(1, 1), (3, 8), (8, 8), (5, 20)])
def test_seen_cells_are_those_of_the_oracle(real: int, columns: int) -> None:
    valid = torch.arange(columns) >= columns - real

    assert answer(2, "seen_cells")(real, columns) == int(causal_mask(valid[None]).sum())


def test_the_penalty_is_that_of_transformers() -> None:
    for draw in drawn(3, "penalty_and_offset"):
        logits = torch.full((1, 2), float(draw["logit"] + draw["offset"]))
        history: Any = torch.tensor([[0]])
        processor = RepetitionPenaltyLogitsProcessor(draw["penalty"])

        seen, other = processor(history, logits).softmax(-1)[0].tolist()

        assert answer(3, "penalty_and_offset")(**draw) == pytest.approx(other / seen, rel=1e-4)


def test_pairs_left_alone_are_those_of_transformers() -> None:
    for draw in drawn(4, "pairs_left_alone"):
        plain = {"rope_theta": float(draw["theta"]), "rope_type": "default"}
        scaling = {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": draw["context"],
        }
        config = LlamaConfig(
            head_dim=draw["width"],
            rope_parameters=plain | scaling,
            max_position_embeddings=131_072,
        )
        scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
        exponents = torch.arange(0, draw["width"], 2).float() / draw["width"]

        kept = int((scaled == 1 / plain["rope_theta"] ** exponents).sum())

        assert answer(4, "pairs_left_alone")(**draw) == kept


def _attended(shift: int = 0, late: int = 0, by: float = 1.0, *, values: bool = False) -> Any:
    """Attend 6 tokens: all positions shifted, queries late, frequencies multiplied."""
    frequencies = torch.tensor([1.0, 0.1], dtype=torch.float32) * by
    q, k, v = normal(1, 2, 6, 4), normal(1, 1, 6, 4), normal(1, 1, 6, 4) + 1
    positions = torch.arange(6)[None] + shift
    v = rotate(v, positions, frequencies) if values else v
    q, k = rotate(q, positions + late, frequencies), rotate(k, positions, frequencies)
    keys, heads = k.expand(1, 2, 6, 4), v.expand(1, 2, 6, 4)
    return scaled_dot_product_attention(q, keys, heads, is_causal=True)


def test_mistakes_are_hidden_where_attention_says_so() -> None:
    changed: dict[str, dict[str, Any]] = {
        "positions count from 1": {"shift": 1},
        "a query's position is one too large, the keys' are right": {"late": 1},
        "queries and keys are turned in the opposite direction, both": {"by": -1.0},
        "the padding to the left of the sequence is counted in all its positions": {"shift": 9},
        "values are rotated as keys are": {"values": True},
        "queries and keys are both rotated with twice the frequencies": {"by": 2.0},
    }
    right = _attended()

    hidden = {
        name
        for name, change in changed.items()
        if torch.allclose(_attended(**change), right, atol=1e-4)
    }

    assert answer(4, "hidden_mistakes")() == hidden


def test_a_token_takes_what_a_cache_of_transformers_holds() -> None:
    for draw in drawn(5, "bytes_of_a_token"):
        held: Any = DynamicCache()
        shape = 1, draw["kv_heads"], 1, draw["width"]
        for layer in range(draw["layers"]):
            k, v = (torch.zeros(shape, dtype=torch.bfloat16) for _ in range(2))
            held.update(k, v, layer)

        size = sum(x.nbytes for layer in held.layers for x in (layer.keys, layer.values))

        assert answer(5, "bytes_of_a_token")(**draw) * 1024 == size


def test_flops_are_those_that_torch_counts() -> None:
    heads, wide, tokens = 4, 8, 12
    q, k = torch.zeros(heads, 1, wide), torch.zeros(heads, tokens, wide)
    with FlopCounterMode(display=False) as counter:
        for _ in range(3):
            _ = (q @ k.mT).softmax(-1) @ k

    assert answer(5, "flops_of_attention")(3, heads, 2, wide, tokens) == counter.get_total_flops()


def test_attention_weighs_as_much_as_the_matrices_of_a_layer() -> None:
    for draw in drawn(5, "attention_like_weights"):
        layer = llama(
            hidden_size=4096,
            intermediate_size=draw["hidden"],
            num_hidden_layers=1,
            num_attention_heads=32,
            num_key_value_heads=draw["kv_heads"],
        ).model.layers[0]
        matrices = sum(2 * weight.numel() for weight in layer.parameters() if weight.ndim == 2)
        tokens = round(answer(5, "attention_like_weights")(**draw))

        assert answer(5, "flops_of_attention")(1, 32, 1, 128, tokens) == matrices


def test_is_causal_leaves_out_what_the_mask_of_torch_does() -> None:
    for draw in drawn(5, "pairs_lost_to_is_causal"):
        shape = draw["chunk"], draw["cached"] + draw["chunk"]
        wrong = torch.ones(shape, dtype=torch.bool).tril()
        right = torch.ones(shape, dtype=torch.bool).tril(draw["cached"])
        x = torch.zeros(1, shape[0], 4, dtype=DOUBLE), normal(1, shape[1], 4)
        torch.testing.assert_close(
            scaled_dot_product_attention(x[0], x[1], x[1], is_causal=True),
            scaled_dot_product_attention(x[0], x[1], x[1], attn_mask=wrong),
        )

        assert answer(5, "pairs_lost_to_is_causal")(**draw) == int((right & ~wrong).sum())


def test_a_stored_mean_is_off_by_what_torch_rounds() -> None:
    for draw in drawn(6, "error_of_a_stored_mean"):
        means = torch.linspace(0.99 * draw["mean"], 1.01 * draw["mean"], 20_001, dtype=DOUBLE)
        off = (means.to(torch.bfloat16).to(DOUBLE) - means).abs().max()

        assert answer(6, "error_of_a_stored_mean")(**draw) == pytest.approx(float(off), rel=1e-3)


def test_squares_lie_as_far_apart_as_torch_says() -> None:
    for draw in drawn(6, "step_of_squares"):
        square = torch.tensor(float(draw["mean"])) ** 2
        step = torch.nextafter(square, torch.tensor(torch.inf)) - square

        assert answer(6, "step_of_squares")(**draw) == float(step)


def test_sums_vanish_in_the_gradient_of_torch() -> None:
    x, dy = (3 * normal(5, 40) + 7).requires_grad_(), normal(40, 5).T
    layer_norm(x, (40,), eps=0.0).backward(dy)
    dx, row = x.grad, x.detach()
    n = (row - row.mean(-1, keepdim=True)) / row.std(-1, correction=0, keepdim=True)
    assert dx is not None
    terms = {
        "the sum of dx": dx,
        "the sum of dx · n": dx * n,
        "the sum of dx · x": dx * row,
        "the sum of dx · dy": dx * dy,
        "the sum of dx²": dx**2,
    }

    zero = {name for name, term in terms.items() if (term.sum(-1).abs() < 1e-9).all()}

    assert answer(6, "sums_that_vanish")() == zero


@pytest.mark.parametrize(("rows", "keys"), [(50, 50), (13, 90), (90, 13), (1, 7)])
def test_visited_tiles_are_those_of_a_whole_mask(rows: int, keys: int) -> None:
    mask = torch.ones(rows, keys, dtype=torch.bool).tril(keys - rows)

    seen = [tile.any() for row in mask.split(8) for tile in row.split(16, dim=1)]

    assert answer(7, "visited_tiles")(rows, keys, 8, 16) == sum(map(int, seen))


@pytest.mark.parametrize(("rows", "keys"), [(128, 32), (128, 64), (256, 64), (64, 64)])
def test_tiles_need_a_mask_where_a_whole_mask_is_not_full(rows: int, keys: int) -> None:
    mask = torch.ones(1024, 1024, dtype=torch.bool).tril()
    tiles = mask.view(1024 // rows, rows, 1024 // keys, keys)
    visited, full = tiles.any(3).any(1), tiles.all(3).all(1)

    share = 100 * (visited & ~full).sum() / visited.sum()

    assert answer(7, "tiles_with_a_mask")(1024, rows, keys) == pytest.approx(float(share))


def test_two_parts_are_merged_as_their_softmax_mixes_them() -> None:
    for draw in drawn(7, "merged_value"):
        lses = torch.tensor([draw["lse"], draw["lse"] + draw["gap"]], dtype=DOUBLE)
        values = torch.tensor([draw["first"], draw["second"]], dtype=DOUBLE)

        assert answer(7, "merged_value")(**draw) == pytest.approx(float(lses.softmax(0) @ values))
