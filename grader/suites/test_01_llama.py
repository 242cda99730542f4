"""Hidden suite of lab 01. No test asks in which dtype a model keeps its weights or computes.

Greedy tokens are judged one by one by the oracle's logits after the same history, so a tie that
rounding may break either way costs nothing.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer
from torch import Tensor

from grader.suite import (
    Folder,
    Mismatch,
    Proxy,
    assert_close,
    assert_unmodified,
    check,
    expect,
    task,
)
from reference import llama as oracle
from reference.limits import conditions, honest
from reference.models import checkpoint
from reference.models.checkpoint import Model, random_model

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
DTYPE_PAIRS = [(BF16, FP32), (FP16, FP32), (FP32, BF16)]
OTHER_DTYPES = pytest.mark.parametrize(("dtype", "other"), DTYPE_PAIRS, ids=str)


# A tensor in one block of memory, one whose rows are the same memory, and one with gaps.
LAYOUTS = pytest.mark.parametrize("layout", ["one block", "expanded", "gaps"])


def double(*tensors: Tensor) -> list[Tensor]:
    return [tensor.double() for tensor in tensors]


def laid_out(x: Tensor, layout: str) -> Tensor:
    match layout:
        case "expanded":
            return x[:1].expand(x.shape)
        case "gaps":
            return torch.stack((x, x), dim=-1)[..., 0]
        case _:
            return x.contiguous()


# --- norm ------------------------------------------------------------------------------------


def assert_norm(got: Any, x: Tensor, weight: Tensor, eps: float) -> None:
    want = oracle.rms_norm(*double(x, weight), eps)
    trusted, off = honest.rms_norms(x, weight, eps), conditions.rms_norm_off(x, weight, eps)
    assert_close(got, want, "elementwise", like=x, inner=x.shape[-1], trusted=trusted, off=off)


@task("norm", contract=1, gate=True)
@pytest.mark.parametrize(("rows", "width"), [(3, 5), (7, 96)])
def test_norm_is_the_definition(student, draw, rows, width):
    """rms_norm divides each row by its root mean square and multiplies by the weight."""
    x, weight = draw.normal(rows, width, shift=0.5), draw.normal(width)

    assert_norm(student.rms_norm(x, weight, 1e-5), x, weight, 1e-5)


@task("norm", contract=2)
@pytest.mark.parametrize("shape", [(6,), (4, 3, 7)], ids=str)
def test_norm_takes_any_number_of_leading_axes(student, draw, shape):
    """rms_norm works along the last axis, whatever comes before it."""
    x, weight = draw.normal(*shape), draw.normal(shape[-1])

    assert_norm(student.rms_norm(x, weight, 1e-5), x, weight, 1e-5)


@task("norm", contract=3)
@pytest.mark.parametrize("scale", [3e-3, 0.3], ids=["small", "medium"])
def test_eps_is_added_to_the_mean_square(student, draw, scale):
    """eps is added to the mean square, under the root; a row of zeros stays zero."""
    x, weight, eps = (
        draw.normal(5, 12, scale=scale),
        draw.normal(12),
        scale**2 * draw.choice((2, 3)),
    )
    x[2] = 0

    assert_norm(student.rms_norm(x, weight, eps), x, weight, eps)


@task("norm", contract=4)
@OTHER_DTYPES
def test_norm_has_the_dtype_of_its_input(student, draw, dtype, other):
    """The result has x's dtype and x's precision, whatever the weight's dtype."""
    x, weight = draw.normal(5, 33, dtype=dtype), draw.normal(33, dtype=other)

    assert_norm(student.rms_norm(x, weight, 1e-5), x, weight, 1e-5)


@task("norm", contract=5)
@pytest.mark.parametrize(("width", "scale"), [(65_536, 1.0), (65_536, 2e3), (1_031, 1e4)])
def test_half_precision_does_not_overflow(student, draw, width, scale):
    """Squares and their sum leave the range of float16; the result must not."""
    x = draw.normal(2, width, scale=scale).clamp(-6e4, 6e4).to(FP16)
    weight = draw.normal(width, dtype=FP16)

    assert_norm(student.rms_norm(x, weight, 1e-5), x, weight, 1e-5)


@task("norm", contract=5)
def test_half_precision_does_not_underflow(student, draw):
    """Squares of small float16 numbers vanish in float16; the norm must still see them."""
    x, weight = draw.normal(3, 64, scale=1e-4, dtype=FP16), draw.normal(64, dtype=FP16)

    assert_norm(student.rms_norm(x, weight, 1e-10), x, weight, 1e-10)


@task("norm", contract=6)
def test_norm_reads_views_and_leaves_its_arguments_alone(student, draw):
    """A sliced or transposed x gives the same values, and no argument is modified."""
    x, weight = draw.normal(11, 4)[1:10].T, draw.normal(20)[1::2][:9]
    seen, seen_weight = student.watch(x), student.watch(weight)

    got = student.rms_norm(seen, seen_weight, 1e-5)

    assert_norm(got, x, weight, 1e-5)
    assert_unmodified(seen, "x")
    assert_unmodified(seen_weight, "weight")


@task("norm", contract=6)
@LAYOUTS
def test_norm_leaves_every_layout_alone(student, draw, layout):
    """However x and the weight lie in memory, the result is new and they stay as they were."""
    x, weight = laid_out(draw.normal(4, 3, 8), layout), laid_out(draw.normal(8), layout)
    seen, seen_weight = student.watch(x), student.watch(weight)

    got = student.rms_norm(seen, seen_weight, 1e-5)

    assert_norm(got, x, weight, 1e-5)
    assert_unmodified(seen, "x")
    assert_unmodified(seen_weight, "weight")


@task("norm", contract=1, gate=True)
def test_norm_is_your_own(student, draw):
    """The norm is written out: torch's own rms_norm is not called."""
    x, weight = draw.normal(3, 7), draw.normal(7)

    with student.guard():
        got = student.rms_norm(x, weight, 1e-5)

    assert_norm(got, x, weight, 1e-5)


# --- rope ------------------------------------------------------------------------------------


def assert_rope(got: Any, x: Tensor, positions: Tensor, theta: float) -> None:
    want = oracle.apply_rope(x.double(), positions, theta)
    # float32 angles are allowed: their error grows with the position, so it is measured.
    trusted, off = oracle.apply_rope(x, positions, theta), conditions.rope_off(x, positions, theta)
    assert_close(got, want, "elementwise", like=x, trusted=trusted, inner=4096, off=off)


@task("rope", contract=7, gate=True)
@pytest.mark.parametrize(("heads", "tokens", "width"), [(5, 7, 6), (2, 3, 16)])
def test_rope_turns_pairs_half_a_head_apart(student, draw, heads, tokens, width):
    """Element i pairs with element i + D/2, and turns by position * theta ** (-2i / D)."""
    x = draw.normal(1, heads, tokens, width)
    positions = torch.arange(tokens)[None]

    got = student.apply_rope(x, positions, 10_000.0)

    assert_rope(got, x, positions, 10_000.0)


@task("rope", contract=8)
def test_each_row_has_its_own_positions(student, draw):
    """Positions may start anywhere, repeat, jump back, and differ from row to row."""
    x, positions = draw.normal(3, 2, 5, 8), draw.integers(0, 60, 3, 5)
    positions[1, 3] = positions[1, 0]

    assert_rope(student.apply_rope(x, positions, 10_000.0), x, positions, 10_000.0)


@task("rope", contract=9)
@pytest.mark.parametrize("theta", [1.5, 37.0, 500_000.0, 2.0**64])
def test_theta_sets_the_frequencies(student, draw, theta):
    """The frequencies follow the theta that is given."""
    x, positions = draw.normal(2, 3, 4, 10), draw.integers(1, 40, 2, 4)

    assert_rope(student.apply_rope(x, positions, theta), x, positions, theta)


@task("rope", contract=10)
@pytest.mark.parametrize("shape", [(3, 1, 1, 2), (1, 4, 1, 14)], ids=str)
def test_one_token_one_head_one_pair(student, draw, shape):
    """T = 1, H = 1 and D = 2 are shapes like any other."""
    x, positions = draw.normal(*shape), draw.integers(1, 30, shape[0], 1)

    assert_rope(student.apply_rope(x, positions, 10_000.0), x, positions, 10_000.0)


@task("rope", contract=11)
@pytest.mark.parametrize(("low", "high"), [(1_000, 9_000), (60_000, 70_000)])
def test_positions_may_be_large(student, draw, low, high):
    """Positions of many thousands are positions like any other."""
    x, positions = draw.normal(2, 3, 6, 4), draw.integers(low, high, 2, 6)

    assert_rope(student.apply_rope(x, positions, 10_000.0), x, positions, 10_000.0)


@task("rope", contract=12)
@pytest.mark.parametrize("dtype", [BF16, FP16], ids=str)
@pytest.mark.parametrize(("low", "high"), [(257, 600), (2_049, 9_000)])
def test_angles_are_more_precise_than_half(student, draw, dtype, low, high):
    """Positions and angles do not fit in 16 bits: they are float32; the result has x's dtype."""
    x, positions = draw.normal(2, 3, 6, 12, dtype=dtype), draw.integers(low, high, 2, 6)

    assert_rope(student.apply_rope(x, positions, 10_000.0), x, positions, 10_000.0)


@task("rope", contract=13)
def test_rope_reads_views_and_leaves_its_arguments_alone(student, draw):
    """A [B, T, H, D] tensor seen as [B, H, T, D] gives the same values; nothing is modified."""
    x = draw.normal(3, 5, 2, 11)[..., 1:].transpose(1, 2)
    positions = torch.arange(9, 14).expand(3, 5)
    seen, seen_positions = student.watch(x), student.watch(positions)

    got = student.apply_rope(seen, seen_positions, 10_000.0)

    assert_rope(got, x, positions, 10_000.0)
    assert_unmodified(seen, "x")
    assert_unmodified(seen_positions, "positions")


@task("rope", contract=13)
@LAYOUTS
def test_rope_leaves_every_layout_alone(student, draw, layout):
    """However x and the positions lie in memory, the result is new and they stay as they were."""
    x = laid_out(draw.normal(3, 2, 5, 8), layout)
    positions = laid_out(draw.integers(1, 60, 3, 5), layout)
    seen, seen_positions = student.watch(x), student.watch(positions)

    got = student.apply_rope(seen, seen_positions, 10_000.0)

    assert_rope(got, x, positions, 10_000.0)
    assert_unmodified(seen, "x")
    assert_unmodified(seen_positions, "positions")


# --- attention -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of one attention, pairwise distinct where the case allows."""

    heads: int
    groups: int
    new: int
    context: int
    width: int = 6
    batch: int = 3

    def draw(self, draw: Any, dtype: torch.dtype = FP32, scale: float = 1.0) -> list[Tensor]:
        q = draw.normal(self.batch, self.heads, self.new, self.width, dtype=dtype, scale=scale)
        kv = (self.batch, self.groups, self.context, self.width)
        return [q, draw.normal(*kv, dtype=dtype, scale=scale), draw.normal(*kv, dtype=dtype)]


def assert_attention(got: Any, q: Tensor, k: Tensor, v: Tensor) -> None:
    want, trusted = oracle.attention(*double(q, k, v)), [oracle.attention(q, k, v)]
    if q.dtype == FP32:
        trusted += [o for o, _ in honest.attentions(q, k, v, causal=True)]
    off, _ = conditions.attention_off(q, k, v)
    assert_close(got, want, "attention", like=q, trusted=trusted, inner=k.shape[2], off=off)


@task("attention", contract=15, gate=True)
@pytest.mark.parametrize(("heads", "tokens", "width"), [(2, 5, 6), (3, 7, 4)])
def test_attention_is_causal_and_scaled(student, draw, heads, tokens, width):
    """Query t mixes the values up to t with softmax(q k / sqrt(D)); here T = S and G = H."""
    qkv = Shape(heads, heads, tokens, tokens, width).draw(draw)

    assert_attention(student.attention(*qkv), *qkv)


@task("attention", contract=14)
@pytest.mark.parametrize(("heads", "context", "width"), [(2, 9, 6), (5, 4, 11)])
def test_weights_are_a_softmax_of_scaled_scores(student, draw, heads, context, width):
    """One query, which sees all keys, mixes their values with softmax(q k / sqrt(D))."""
    qkv = Shape(heads, heads, 1, context, width).draw(draw)

    assert_attention(student.attention(*qkv), *qkv)


@task("attention", contract=17)
@pytest.mark.parametrize(("heads", "groups"), [(4, 2), (6, 2), (5, 1)])
def test_consecutive_query_heads_share_a_key_head(student, draw, heads, groups):
    """Query head h reads key and value head h // (H / G)."""
    qkv = Shape(heads, groups, 7, 7).draw(draw)

    assert_attention(student.attention(*qkv), *qkv)


@task("attention", contract=16)
@pytest.mark.parametrize(("new", "context"), [(1, 1), (1, 9), (2, 9), (8, 9)])
def test_the_last_query_sees_the_last_key(student, draw, new, context):
    """With T < S the queries are the last T positions: query t sees the keys up to S - T + t."""
    qkv = Shape(4, 4, new, context, width=10).draw(draw)

    assert_attention(student.attention(*qkv), *qkv)


@task("attention", contract=16)
def test_a_query_sees_thousands_of_keys(student, draw):
    """No number of keys is too many: there is no window behind which they are not seen."""
    qkv = Shape(2, 1, 2, 8_200, width=2, batch=1).draw(draw)

    assert_attention(student.attention(*qkv), *qkv)


@task("attention", contract=16)
@pytest.mark.parametrize(("heads", "groups"), [(1, 1), (2, 1), (2, 2)])
def test_one_and_two_of_everything(student, draw, heads, groups):
    """One or two rows, queries and keys, and a width of 1 or 2, are sizes like any other."""
    for batch, width, (new, context) in itertools.product((1, 2), (1, 2), ((1, 1), (1, 2), (2, 2))):
        qkv = Shape(heads, groups, new, context, width, batch).draw(draw)
        assert_attention(student.attention(*qkv), *qkv)


@task("attention", contract=18)
def test_large_scores_stay_in_their_heads(student, draw):
    """A head whose scores are small is precise beside heads whose scores are hundreds and 1e4."""
    q, k, v = Shape(3, 3, 5, 8).draw(draw)
    sizes = torch.tensor([1.0, 30.0, 3_000.0]).sqrt()[:, None, None]

    got = student.attention(q * sizes, k * sizes, v)

    assert_attention(got, q * sizes, k * sizes, v)


@task("attention", contract=18)
@pytest.mark.parametrize("scale", [12.0, 70.0], ids=["hundreds", "ten thousand"])
def test_large_scores_are_no_problem(student, draw, scale):
    """Scores of hundreds or of 1e4 neither overflow the softmax nor reach past the mask."""
    qkv = Shape(3, 3, 5, 8, width=6).draw(draw, scale=scale)

    assert_attention(student.attention(*qkv), *qkv)


@task("attention", contract=19)
@pytest.mark.parametrize("dtype", [BF16, FP16], ids=str)
def test_attention_in_half_precision(student, draw, dtype):
    """16-bit inputs give a result in their dtype, with the precision of a float32 softmax."""
    qkv = Shape(4, 2, 21, 45, width=16).draw(draw, dtype)

    assert_attention(student.attention(*qkv), *qkv)


@task("attention", contract=22)
def test_attention_reads_views_and_leaves_its_arguments_alone(student, draw):
    """Tensors seen through a transpose give the same values, and nothing is modified."""
    q = draw.normal(2, 5, 6, 9)[..., :8].transpose(1, 2)
    k, v = (draw.normal(2, 7, 3, 9)[..., 1:].transpose(1, 2) for _ in range(2))
    watched = [student.watch(tensor) for tensor in (q, k, v)]

    got = student.attention(*watched)

    assert_attention(got, q, k, v)
    for tensor, name in zip(watched, "qkv", strict=True):
        assert_unmodified(tensor, name)


@task("attention", contract=22)
@LAYOUTS
def test_attention_leaves_every_layout_alone(student, draw, layout):
    """However q, k and v lie in memory, the result is new and they stay as they were."""
    qkv = [laid_out(x, layout) for x in Shape(4, 4, 3, 5, width=8).draw(draw)]
    watched = [student.watch(tensor) for tensor in qkv]

    got = student.attention(*watched)

    assert_attention(got, *qkv)
    for tensor, name in zip(watched, "qkv", strict=True):
        assert_unmodified(tensor, name)


@task("attention", contract=20)
@pytest.mark.parametrize(("new", "context"), [(5, 3), (2, 1)])
def test_more_queries_than_keys_are_refused(student, draw, new, context):
    """T > S raises ValueError: the first queries would see no key at all."""
    qkv = Shape(2, 2, new, context).draw(draw)

    with student.raises(ValueError):
        student.attention(*qkv)


@task("attention", contract=21)
@pytest.mark.parametrize(("heads", "groups"), [(5, 2), (2, 4)])
def test_heads_that_do_not_divide_are_refused(student, draw, heads, groups):
    """H not a multiple of G raises ValueError."""
    qkv = Shape(heads, groups, 3, 3).draw(draw)

    with student.raises(ValueError):
        student.attention(*qkv)


@task("attention", contract=14, gate=True)
def test_attention_is_your_own(student, draw):
    """Attention is written out: no attention of torch is called."""
    qkv = Shape(4, 2, 5, 7).draw(draw)

    with student.guard():
        got = student.attention(*qkv)

    assert_attention(got, *qkv)


# --- mlp -------------------------------------------------------------------------------------


def mlp_weights(draw: Any, width: int, inner: int, dtype: torch.dtype = FP32) -> list[Tensor]:
    up = [draw.normal(inner, width, dtype=dtype, scale=width**-0.5) for _ in range(2)]
    return [*up, draw.normal(width, inner, dtype=dtype, scale=inner**-0.5)]


def assert_mlp(got: Any, x: Tensor, weights: list[Tensor]) -> None:
    want = oracle.swiglu(*double(x, *weights))
    trusted, off = oracle.swiglu(x, *weights), conditions.swiglu_off(x, *weights)
    assert_close(got, want, "matmul", like=x, trusted=trusted, off=off)


@task("mlp", contract=23, gate=True)
@pytest.mark.parametrize(("shape", "inner"), [((3, 5), 8), ((2, 3, 14), 9)], ids=str)
def test_mlp_is_swiglu(student, draw, shape, inner):
    """swiglu is w_down (silu(w_gate x) * (w_up x))."""
    x, weights = draw.normal(*shape), mlp_weights(draw, shape[-1], inner)

    assert_mlp(student.swiglu(x, *weights), x, weights)


@task("mlp", contract=24)
def test_mlp_takes_a_single_vector(student, draw):
    """x may have no leading axis at all."""
    x, weights = draw.normal(6), mlp_weights(draw, 6, 11)

    assert_mlp(student.swiglu(x, *weights), x, weights)


@task("mlp", contract=25)
@OTHER_DTYPES
def test_mlp_works_in_the_dtype_of_its_input(student, draw, dtype, other):
    """The result has x's dtype and precision, also when the weights have another dtype."""
    x, weights = draw.normal(4, 13, dtype=dtype), mlp_weights(draw, 13, 21, other)

    assert_mlp(student.swiglu(x, *weights), x, weights)


@task("mlp", contract=26)
def test_mlp_survives_large_numbers(student, draw):
    """Gates near plus and minus 1e4 give a finite result."""
    x, weights = draw.normal(3, 7, scale=1e4), mlp_weights(draw, 7, 10)

    assert_mlp(student.swiglu(x, *weights), x, weights)


@task("mlp", contract=27)
def test_mlp_reads_views_and_leaves_its_arguments_alone(student, draw):
    """Transposed weights and a sliced x give the same values, and nothing is modified."""
    x = draw.normal(4, 3, 12)[:, 1:, 2:9]
    weights = [weight.T.contiguous().T for weight in mlp_weights(draw, 7, 10)]
    watched = [student.watch(tensor) for tensor in (x, *weights)]

    got = student.swiglu(*watched)

    assert_mlp(got, x, weights)
    for tensor, name in zip(watched, ("x", "w_gate", "w_up", "w_down"), strict=True):
        assert_unmodified(tensor, name)


@task("mlp", contract=27)
@LAYOUTS
def test_mlp_leaves_every_layout_alone(student, draw, layout):
    """However x and the weights lie in memory, the result is new and they stay as they were."""
    x = laid_out(draw.normal(4, 3, 7), layout)
    weights = [laid_out(weight, layout) for weight in mlp_weights(draw, 7, 10)]
    watched = [student.watch(tensor) for tensor in (x, *weights)]

    got = student.swiglu(*watched)

    assert_mlp(got, x, weights)
    for tensor, name in zip(watched, ("x", "w_gate", "w_up", "w_down"), strict=True):
        assert_unmodified(tensor, name)


# --- model -----------------------------------------------------------------------------------


def build(student: Any, model: Model) -> Proxy:
    config = student.record("LlamaConfig", **model.fields)
    return expect(student.Llama(config, model.weights), Proxy, "Llama(...)")


def assert_logits(got: Any, model: Model, tokens: Tensor, dtype: torch.dtype = FP32) -> None:
    want = oracle.logits(*model.exact, tokens)
    rounded = model.in_dtype(dtype).rounded
    norms = oracle.rms_norm, honest.norm_rounded_twice
    attends = oracle.attention, honest.attention_of_rounded_scores
    ways = itertools.product(norms, attends)
    trusted = [oracle.logits(*rounded, tokens, *way) for way in ways]
    assert_close(got, want, "matmul", dtype=dtype, trusted=trusted, what="the logits")


@task("model", contract=28, gate=True)
def test_logits_of_a_small_model(student, draw):
    """Llama gives the logits of the architecture: embed, layers with residuals, norm, head."""
    model, tokens = random_model(draw.normal), draw.integers(0, 53, 1, 9)

    got = build(student, model)(tokens)

    assert_logits(got, model, tokens)


@task("model", contract=29)
@pytest.mark.parametrize("layers", [0, 1, 4])
def test_layers_run_in_order(student, draw, layers):
    """The layers run from number 0 on, config.num_layers of them, also none."""
    model, tokens = random_model(draw.normal, num_layers=layers), draw.integers(0, 53, 2, 5)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=30)
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_the_last_norm_and_the_output_matrix_come_at_the_end(student, draw, tied):
    """Without layers, logits are the output matrix times the normed embedding of each token."""
    model = random_model(draw.normal, num_layers=0, tie_word_embeddings=tied)
    tokens = draw.integers(0, 53, 3, 4)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=31)
@pytest.mark.parametrize("theta", [7.0, 10_000.0])
def test_queries_and_keys_are_rotated_and_values_are_not(student, draw, theta):
    """Over some dozens of positions q and k turn by their position, and v does not."""
    model = random_model(draw.normal, num_layers=1, rope_theta=theta)
    tokens = draw.integers(0, 53, 1, 60)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=32)
@pytest.mark.parametrize(("heads", "groups"), [(5, 1), (3, 3), (8, 4)])
def test_logits_for_any_number_of_key_heads(student, draw, heads, groups):
    """One key/value head for all, one for each query head, and what lies between."""
    model = random_model(draw.normal, num_heads=heads, num_kv_heads=groups)
    tokens = draw.integers(0, 53, 2, 7)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=33)
def test_tied_embeddings_serve_as_the_head(student, draw):
    """With tie_word_embeddings there is no lm_head.weight: the embedding is the output matrix."""
    model, tokens = random_model(draw.normal, tie_word_embeddings=True), draw.integers(0, 53, 2, 5)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=34)
@pytest.mark.parametrize(("batch", "length"), [(4, 3), (3, 11), (5, 1)])
def test_rows_and_positions_are_independent_of_shape(student, draw, batch, length):
    """Any number of rows and tokens; each row gets the logits that it would get alone."""
    model, tokens = random_model(draw.normal), draw.integers(0, 53, batch, length)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=35)
@pytest.mark.parametrize("change", [{"rms_norm_eps": 0.4}, {"rope_theta": 23.0}], ids=str)
def test_eps_and_theta_come_from_the_configuration(student, draw, change):
    """Every norm uses config.rms_norm_eps, every rotation config.rope_theta."""
    model, tokens = random_model(draw.normal, **change), draw.integers(0, 53, 2, 8)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=36)
def test_weights_may_be_bfloat16(student, draw):
    """Weights in bfloat16, as checkpoints hold them, give logits in bfloat16 or float32."""
    model, tokens = random_model(draw.normal).in_dtype(BF16), draw.integers(0, 53, 2, 6)

    got = expect(build(student, model)(tokens), Tensor, "the logits")

    message = f"the logits have dtype {got.dtype}, expected torch.bfloat16 or torch.float32"
    check(got.dtype in (BF16, FP32), message)
    assert_logits(got.to(BF16), model, tokens, BF16)


@task("model", contract=36)
def test_float32_weights_keep_their_precision(student, draw):
    """Weights in float32 give logits in float32, as precise as float32 allows."""
    model, tokens = random_model(draw.normal, num_layers=3), draw.integers(0, 53, 2, 6)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=37)
def test_model_leaves_its_arguments_alone(student, draw):
    """The configuration, the dictionary, every tensor in it and the tokens are not modified."""
    model, tokens = random_model(draw.normal), draw.integers(0, 53, 1, 4)
    config = student.watch(student.record("LlamaConfig", **model.fields))
    weights, seen = student.watch(dict(model.weights)), student.watch(tokens)

    llama = expect(student.Llama(config, weights), Proxy, "Llama(...)")
    got = llama(seen)

    assert_unmodified(config, "config")
    assert_unmodified(weights, "weights")
    assert_unmodified(seen, "tokens")
    assert_logits(got, model, tokens)


@task("model", contract=38)
def test_calls_do_not_depend_on_each_other(student, draw):
    """forward keeps nothing from one call to the next."""
    model = random_model(draw.normal)
    calls = [draw.integers(0, 53, *shape) for shape in ((3, 6), (3, 6), (1, 9), (3, 6))]
    llama = build(student, model)

    for tokens in calls:
        assert_logits(llama(tokens), model, tokens)


@task("model", contract=39)
def test_logits_of_the_target_checkpoint(student, draw):
    """The weights of the target checkpoint, in float32, give the logits of that model."""
    model = checkpoint.read(student.checkpoint("target").host).in_dtype(FP32)
    tokens = draw.integers(2, model.fields["vocab_size"], 2, 19)

    assert_logits(build(student, model)(tokens), model, tokens)


@task("model", contract=28, gate=True)
def test_the_model_is_your_own(student, draw):
    """The model computes by itself: no attention or norm of torch, no model of transformers."""
    model, tokens = random_model(draw.normal, num_layers=1), draw.integers(0, 53, 1, 4)

    with student.guard():
        got = build(student, model)(tokens)

    assert_logits(got, model, tokens)


# --- engine ----------------------------------------------------------------------------------

CLEAR = 0.2  # a lead of the best logit that 16-bit rounding (0.03 rms here) does not turn
LETTERS = "abcde"
WORDS = "def class return self import os for in range print( not None x = 1\n : [0] raise".split(
    " "
)


def save(student: Any, model: Model, eos: Any = None, generation_eos: Any = None) -> Folder:
    """Write a checkpoint with the target's tokenizer; the EOS ids go to their two files."""
    folder, target = student.new_folder(), student.checkpoint("target")
    checkpoint.write(folder.host, model, target.host, eos, generation_eos)
    return folder


def target_tokenizer(student: Any) -> Tokenizer:
    return Tokenizer.from_file(str(student.checkpoint("target").host / "tokenizer.json"))


def small_model(student: Any, draw: Any) -> Model:
    """A random model in the target's vocabulary; its greedy tokens depend on the whole history."""
    vocab = target_tokenizer(student).get_vocab_size()
    # transformers, which may load the weights, wants the width to be a multiple of the heads.
    return random_model(draw.normal, vocab_size=vocab, hidden_size=30)


def clear_tokens(model: Model, prompt: list[int], steps: int) -> list[int] | None:
    """Return the greedy tokens if each wins clearly and none occurred before."""
    history = list(prompt)
    for _ in range(steps):
        (token,), (lead,) = oracle.greedy(*model.exact, history, 1)
        if lead < CLEAR or token in history:
            return None
        history.append(token)
    return history[len(prompt) :]


def clear_story(model: Model, draw: Any, steps: int) -> tuple[list[int], list[int]]:
    """Draw a prompt whose continuation no rounding can change; return both."""
    for _ in range(1000):
        prompt = draw.tokens(model.fields["vocab_size"], draw.integer(2, 8))
        if tokens := clear_tokens(model, prompt, steps):
            return prompt, tokens
    raise AssertionError("no prompt has a clear continuation")


def assert_tokens(got: Any, want: list[int], why: str) -> None:
    tokens = expect(got, list[int], "the result of generate")
    check(tokens == want, f"the new tokens are {tokens}, expected {want}: {why}")


def spare_ids(model: Model, *used: list[int]) -> list[int]:
    """Ids that no list holds, for EOS where none should come."""
    taken = {token for tokens in used for token in tokens}
    return [token for token in range(model.fields["vocab_size"]) if token not in taken]


def open_engine(student: Any, folder: Folder) -> Proxy:
    return expect(student.Engine(folder.path), Proxy, "Engine(...)")


def assert_greedy(got: Any, model: Model, prompt: list[int], limit: int) -> None:
    """Each token must be the best after what precedes it, but for ties within 16-bit rounding."""
    tokens, eos = expect(got, list[int], "the result of generate"), model.fields["eos_token_ids"]
    vocab = model.fields["vocab_size"]
    check(len(tokens) <= limit, f"{len(tokens)} tokens, more than max_new_tokens = {limit}")
    unknown = [token for token in tokens if not 0 <= token < vocab]
    check(not unknown, f"the result holds {unknown[:3]}, expected ids from 0 to {vocab - 1}")
    ended = sorted(set(tokens) & set(eos))
    check(not ended, f"the result holds {ended}, EOS ids, expected none of {list(eos)}")
    ends = [[]] if len(tokens) == limit else [[token] for token in eos]
    check(bool(ends), f"{len(tokens)} tokens, expected {limit}: the model has no EOS")
    history = torch.tensor([prompt + tokens + ends[0]])
    rounded = oracle.logits(*model.in_dtype(BF16).rounded, history)
    bound = 3 * float((rounded - oracle.logits(*model.exact, history)).abs().max())
    regrets = [oracle.regrets(*model.exact, prompt, tokens + end) for end in ends]
    best = min(regrets, key=lambda gaps: gaps[-1:])
    wrong = [index for index, gap in enumerate(best) if gap > bound]
    for step in wrong[:1]:
        (want,), _ = oracle.greedy(*model.exact, prompt + tokens[:step], 1)
        came = tokens[step] if step < len(tokens) else "the end"
        raise Mismatch(f"new token {step} is {came}, expected {want}, the most likely one")


@task("engine", contract=40, gate=True)
def test_generate_is_greedy(student, draw):
    """generate returns the most likely token after the prompt, then after that, and so on."""
    model = small_model(student, draw)
    prompts = [draw.tokens(model.fields["vocab_size"], length) for length in (5, 1, 12)]
    engine = open_engine(student, save(student, model))

    for prompt in prompts:
        assert_greedy(engine.generate(prompt, 16), model, prompt, 16)


@task("engine", contract=40)
def test_generate_continues_the_target_checkpoint(student, draw):
    """On the target checkpoint, generate gives the model's own greedy continuation."""
    folder, tokenizer = student.checkpoint("target"), target_tokenizer(student)
    model, engine = checkpoint.read(folder.host), open_engine(student, folder)

    for text in (f"class {draw.choice(WORDS)}", "import os\n\n\ndef main("):
        prompt = tokenizer.encode(text).ids
        assert_greedy(engine.generate(prompt, 10), model, prompt, 10)


@task("engine", contract=41)
def test_generate_reads_a_long_prompt(student, draw):
    """A prompt of some hundred tokens is like any other."""
    model = small_model(student, draw)
    prompt = draw.tokens(model.fields["vocab_size"], 300)
    engine = open_engine(student, save(student, model))

    assert_greedy(engine.generate(prompt, 2), model, prompt, 2)


@task("engine", contract=43)
@pytest.mark.parametrize("where", ["config.json", "generation_config.json", "a list"])
def test_any_eos_id_ends_the_sequence(student, draw, where):
    """The ids of config.json and of generation_config.json all end it; the EOS is not returned."""
    model = small_model(student, draw)
    prompt, tokens = clear_story(model, draw, 4)
    other, another, *_ = spare_ids(model, prompt, tokens)
    files = {
        "config.json": (tokens[3], [other, another]),
        "generation_config.json": (other, tokens[3]),
        "a list": (other, [another, tokens[3]]),
    }
    engine = open_engine(student, save(student, model, *files[where]))

    got = engine.generate(prompt, 20)

    assert_tokens(got, tokens[:3], "an EOS comes after these")


@task("engine", contract=43)
@pytest.mark.parametrize("place", ["first", "last"])
def test_an_eos_may_be_any_id_of_the_vocabulary(student, draw, place):
    """The first id of the vocabulary, 0, and the last one can be an EOS like any other."""
    last = target_tokenizer(student).get_vocab_size() - 1
    eos = 0 if place == "first" else last
    one, two = draw.shuffled(range(1, last))[:2]
    engine = open_engine(student, saying(student, [one, two, eos], eos))

    got = engine.generate([5], 6)

    assert_tokens(got, [one, two], f"then comes {eos}, the EOS")


@task("engine", contract=43)
def test_an_eos_at_once_gives_nothing(student, draw):
    """If the first token is an EOS the result is an empty list."""
    model = small_model(student, draw)
    prompt, tokens = clear_story(model, draw, 1)
    engine = open_engine(student, save(student, model, tokens[0], None))

    got = engine.generate(prompt, 5)

    assert_tokens(got, [], "the first new token is an EOS")


@task("engine", contract=44)
def test_an_eos_in_the_prompt_ends_nothing(student, draw):
    """Only a new token can end the sequence, not one that is in the prompt."""
    model = small_model(student, draw)
    prompt, tokens = clear_story(model, draw, 3)
    engine = open_engine(student, save(student, model, prompt[0], [prompt[-1]]))

    got = engine.generate(prompt, 3)

    assert_tokens(got, tokens, "the EOS ids are those of the prompt")


@task("engine", contract=42)
@pytest.mark.parametrize("limit", [0, 1, 4])
def test_max_new_tokens_is_the_number_of_tokens(student, draw, limit):
    """Without an EOS the result holds max_new_tokens tokens: none for 0, one for 1."""
    model = small_model(student, draw)
    prompt, tokens = clear_story(model, draw, 4)
    engine = open_engine(student, save(student, model))

    got = engine.generate(prompt, limit)

    assert_tokens(got, tokens[:limit], f"max_new_tokens is {limit}")


@task("engine", contract=45)
def test_an_empty_prompt_is_refused(student, draw):
    """generate([]) raises ValueError that names the prompt."""
    engine = open_engine(student, student.checkpoint("target"))

    with student.raises(ValueError, naming="prompt"):
        engine.generate([], 3)


@task("engine", contract=46)
def test_generate_leaves_the_prompt_alone(student, draw):
    """The list that holds the prompt is not modified."""
    model = small_model(student, draw)
    prompt = student.watch(draw.tokens(model.fields["vocab_size"], 4))
    engine = open_engine(student, save(student, model))

    expect(engine.generate(prompt, 3), list[int], "the result of generate")

    assert_unmodified(prompt, "prompt")


@task("engine", contract=46)
def test_calls_of_generate_do_not_depend_on_each_other(student, draw):
    """An engine keeps nothing of one prompt for the next."""
    model = small_model(student, draw)
    (first, one), (second, two) = (clear_story(model, draw, 3) for _ in range(2))
    engine = open_engine(student, save(student, model))

    for prompt, want in ((first, one), (second, two), (first, one)):
        got = engine.generate(prompt, 3)
        assert_tokens(got, want, "as a fresh engine gives")


def assert_texts(got: Any, want: list[str]) -> None:
    texts = expect(got, list[str], "the result of execute")
    check(len(texts) == len(want), f"{len(texts)} texts for {len(want)} prompts")
    same = " (the texts are right, their order is not)" * (sorted(texts) == sorted(want))
    for index, (text, right) in enumerate(zip(texts, want, strict=True)):
        message = f"the text of prompt {index} is {text[:200]!r}, expected {right!r}{same}"
        check(text == right, message)


def needs_its_start(model: Model, tokenizer: Tokenizer, prompt: str) -> bool:
    """Tell whether what begins a prompt, a BOS, changes its story: without it, and twice of it."""
    ids = tokenizer.encode(prompt).ids
    stories = [oracle.greedy(*model.exact, x, 4)[0] for x in (ids, ids[1:], [ids[0], *ids])]
    return stories[0] not in stories[1:]


def saying(student: Any, tokens: list[int], eos: int | None = None) -> Folder:
    """A checkpoint that says these tokens, no two the same, after any others, one by one."""
    sizes = {"hidden_size": 8, "num_heads": 2, "num_kv_heads": 1, "head_dim": 4}
    vocab = target_tokenizer(student).get_vocab_size()
    model = random_model(
        lambda *shape, **_: torch.zeros(shape),
        **(sizes | {"vocab_size": vocab, "intermediate_size": 6, "num_layers": 1}),
    )
    weights = model.weights
    weights["model.norm.weight"].fill_(1)
    embed, head = weights["model.embed_tokens.weight"], weights["lm_head.weight"]
    embed[:, 0] = 1
    for axis, token in enumerate(tokens):
        head[token, axis] = 8  # times the root of the width
        embed[token] = torch.eye(8)[axis + 1]
    return save(student, model, eos)


@task("engine", contract=47)
@pytest.mark.parametrize("text", [" \u2192\u00e9", "\u65e5\n"], ids=["arrow", "sun"])
def test_characters_of_several_tokens_are_whole(student, text):
    """The bytes of a character may lie in several tokens: the text has the character."""
    tokenizer = target_tokenizer(student)
    tokens = tokenizer.encode(text, add_special_tokens=False).ids
    engine = open_engine(student, saying(student, tokens))

    got = engine.execute(["x"], max_new_tokens=len(tokens))

    assert_texts(got, [text])


@task("engine", contract=47)
def test_execute_returns_the_new_text_of_each_prompt(student, draw):
    """execute returns a list of str, one per prompt, in order, without the prompt."""
    model, tokenizer = small_model(student, draw), target_tokenizer(student)
    stories: dict[str, str] = {}
    while len(stories) < 3:
        prompt = "".join(draw.choice(WORDS) for _ in range(len(stories) + 2))
        tokens = clear_tokens(model, tokenizer.encode(prompt).ids, 4)
        text = tokenizer.decode(tokens or [])
        # One text at least has white space at an end: it belongs to the text.
        right = len(stories) < 2 or text != text.strip()
        if tokens and text.isascii() and right and needs_its_start(model, tokenizer, prompt):
            stories[prompt] = text
    engine = open_engine(student, save(student, model))

    got = engine.execute(list(stories), max_new_tokens=4)

    assert_texts(got, list(stories.values()))


def dice(student: Any, eos: str = "", step: float = 0.5) -> Folder:
    """A checkpoint that gives the letters logits of 0, 1, 2... steps, all else -100, always."""
    tokenizer, sizes = target_tokenizer(student), {"hidden_size": 4, "num_heads": 2}
    sizes |= {"num_kv_heads": 1, "head_dim": 2, "intermediate_size": 6, "num_layers": 1}
    model = random_model(
        lambda *shape, **_: torch.zeros(shape), vocab_size=tokenizer.get_vocab_size(), **sizes
    )
    weights = model.weights
    weights["model.embed_tokens.weight"].fill_(1)
    weights["model.norm.weight"].fill_(1)
    head = weights["lm_head.weight"].fill_(-25)
    for rank, letter in enumerate(LETTERS):
        head[tokenizer.token_to_id(letter)] = rank * step / 4  # four times this is the logit
    return save(student, model, tokenizer.token_to_id(eos) if eos else None)


def assert_best(letters: str) -> None:
    """Fail unless all letters are the one with the best logit."""
    others = "".join(sorted(set(letters) - {LETTERS[-1]}))
    check(not others, f"the texts hold {others!r}, expected the most likely {LETTERS[-1]!r} alone")


def rolls(got: Any, prompts: int, length: int) -> str:
    """Return all letters of the reply, after a look at its form."""
    texts = expect(got, list[str], "the result of execute")
    check(len(texts) == prompts, f"{len(texts)} texts for {prompts} prompts")
    lengths = [len(text) for text in texts]
    other = next((found for found in lengths if found != length), length)
    check(other == length, f"a text has {other} tokens of one letter, expected {length}")
    strange = "".join(sorted(set("".join(texts)) - set(LETTERS)))
    check(not strange, f"the texts hold {strange!r}, which have no probability to speak of")
    return "".join(texts)


@task("engine", contract=48)
def test_execute_is_greedy_and_makes_128_tokens_by_default(student, draw):
    """Without further arguments execute takes the best token each time, 128 of them."""
    got = open_engine(student, dice(student)).execute(["x"])

    assert_best(rolls(got, 1, 128))


@task("engine", contract=48)
@pytest.mark.parametrize("limit", [0, 1, 5])
def test_max_new_tokens_limits_each_text(student, limit):
    """Without an EOS each text of execute has max_new_tokens tokens."""
    got = open_engine(student, dice(student)).execute(["x", "yz"], max_new_tokens=limit)

    assert_best(rolls(got, 2, limit))


@task("engine", contract=50)
@pytest.mark.parametrize(
    ("temperature", "step"), [(0.5, 0.5), (3.0, 0.5), (2**-9, 2**-10), (2**-16, 2**-17)]
)
def test_temperature_draws_from_the_softened_distribution(student, draw, temperature, step):
    """Tokens are drawn from softmax(logits / temperature), however small both of them are."""
    # 400 draws; a chi-square with p < 1e-6 fails, so one right answer in a million does.
    engine = open_engine(student, dice(student, step=step))

    got = engine.execute(["x"] * 40, max_new_tokens=10, temperature=temperature)

    letters = rolls(got, 40, 10)
    weights = [math.exp(rank * step / temperature) for rank in range(len(LETTERS))]
    expected = [400 * weight / sum(weights) for weight in weights]
    counts = [letters.count(letter) for letter in LETTERS]
    chi2 = sum((n - e) ** 2 / e for n, e in zip(counts, expected, strict=True))
    half = torch.tensor([(len(LETTERS) - 1) / 2, chi2 / 2], dtype=torch.float64)
    p = float(torch.special.gammaincc(half[0], half[1]))
    drawn = ", ".join(f"{n} for {e:.0f}" for n, e in zip(counts, expected, strict=True))
    check(p > 1e-6, f"draws do not follow softmax(logits / temperature): {drawn} expected")


@task("engine", contract=51)
@pytest.mark.parametrize("temperature", [0.005, 1e-30])
def test_a_low_temperature_is_nearly_greedy(student, draw, temperature):
    """Near zero only the best token is left; dividing by a small number must not overflow."""
    engine = open_engine(student, dice(student))

    got = engine.execute(["x", "yz"], max_new_tokens=6, temperature=temperature)

    assert_best(rolls(got, 2, 6))


@task("engine", contract=49)
@pytest.mark.parametrize("temperature", [0.0, 0.005])
def test_an_eos_ends_a_text(student, draw, temperature):
    """In execute an EOS ends the text, drawn or not, and leaves no trace in it."""
    engine = open_engine(student, dice(student, eos=LETTERS[-1]))

    got = engine.execute(["x", "yz"], max_new_tokens=6, temperature=temperature)

    assert_texts(got, ["", ""])


@task("engine", contract=52)
def test_each_call_draws_anew(student, draw):
    """Two calls with a temperature give two texts (equal ones have probability 1e-20)."""
    engine = open_engine(student, dice(student))

    first, second = (engine.execute(["x"], max_new_tokens=40, temperature=1.0) for _ in range(2))

    letters = rolls(first, 1, 40)
    check(letters != rolls(second, 1, 40), f"two calls gave {letters!r}, expected other draws")


@task("engine", contract=40, gate=True)
def test_the_engine_is_your_own(student, draw):
    """The engine runs your model: no attention or norm of torch, no model of transformers."""
    model = small_model(student, draw)
    prompt = draw.tokens(model.fields["vocab_size"], 4)
    engine = open_engine(student, save(student, model))

    with student.guard():
        got = engine.generate(prompt, 3)

    assert_greedy(got, model, prompt, 3)
