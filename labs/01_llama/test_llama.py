"""Public tests of lab 01: the handout's numbers, cases worked out by hand, and what must be equal.

``contract`` is the number in the tables of the handout. Of numbers that are printed here, half a
unit of the last decimal is forgiven three times over.
"""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from grader.suite import (
    Folder,
    NotGraded,
    Proxy,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    expect,
    task,
)

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


def rows(*values: list[float]) -> Tensor:  # float64 numbers as the handout prints them
    return torch.tensor(values, dtype=torch.float64)


def assert_printed(got: object, want: Tensor, what: str = "the result") -> None:
    """Compare with numbers of four decimals."""
    assert_close(got, want, "matmul", trusted=want + 5e-5, what=what)


def assert_alike(got: object, want: Tensor, what: str = "the logits") -> None:
    """Compare what two ways of computing in float32 give: sums may come in another order."""
    assert_close(got, want.double(), "matmul", trusted=want.double() + 1e-5, what=what)


# --- norm ------------------------------------------------------------------------------------

ROW, WEIGHT = torch.tensor([[1.0, -1.0, 3.0, 5.0]]), torch.tensor([1.0, 1.0, 2.0, 0.5])


@task("norm", contract=1)
def test_norm_of_the_handout(student):
    """The row of mean square 9 is divided by 3, then weighted."""
    assert_printed(student.rms_norm(ROW, WEIGHT, 0.0), rows([0.3333, -0.3333, 2.0, 0.8333]))


@task("norm", contract=1)
def test_each_row_has_its_own_mean_square(student):
    """Ten times the row gives the same result; equal numbers stay equal: nothing is subtracted."""
    x = torch.cat((ROW, 10 * ROW, torch.full((1, 4), 7.0)))

    got = student.rms_norm(x, WEIGHT, 0.0)

    once = [0.3333, -0.3333, 2.0, 0.8333]
    assert_printed(got, rows(once, once, [1.0, 1.0, 2.0, 0.5]))


@task("norm", contract=2)
@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4), (2, 3, 4), (4, 1, 2, 4)], ids=str)
def test_norm_works_along_the_last_axis(student, shape):
    """Whatever comes before the last axis, each row of four gives what it gives alone."""
    x = ROW[0].expand(shape).contiguous()

    got = student.rms_norm(x, WEIGHT, 0.0)

    assert_printed(got, rows([0.3333, -0.3333, 2.0, 0.8333])[0].expand(shape))


@task("norm", contract=3)
def test_eps_is_added_under_the_root(student):
    """With eps = 7 the row of mean square 9 is divided by sqrt(9 + 7) = 4; zeros stay zeros."""
    got = student.rms_norm(torch.cat((ROW, 0 * ROW)), WEIGHT, 7.0)

    assert_printed(got, rows([0.25, -0.25, 1.5, 0.625], [0.0, 0.0, 0.0, 0.0]))


@task("norm", contract=4)
@pytest.mark.parametrize("dtype", [BF16, FP16, FP32], ids=str)
@pytest.mark.parametrize("other", [BF16, FP16, FP32], ids=str)
def test_norm_keeps_the_dtype_of_x(student, dtype, other):
    """x decides on dtype and precision; the handout's x and weight are exact in all of these."""
    got = student.rms_norm(ROW.to(dtype), WEIGHT.to(other), 0.0)

    want = rows([1 / 3, -1 / 3, 2.0, 5 / 6])
    assert_close(got, want, "elementwise", dtype=dtype)


@task("norm", contract=5)
@pytest.mark.parametrize("number", [300.0, 60_000.0, 2.0**-14])
@pytest.mark.parametrize("width", [2, 4096])
def test_norm_of_large_and_small_float16_numbers(student, number, width):
    """A row of plus and minus c becomes plus and minus 1, also if float16 cannot hold c squared."""
    signs = torch.tensor([1.0, -1.0]).repeat(width // 2)[None]

    got = student.rms_norm((number * signs).half(), torch.ones(width).half(), 0.0)

    assert_close(got, signs.double(), "elementwise", dtype=FP16)


@task("norm", contract=6)
def test_norm_reads_views_and_changes_nothing(student):
    """Every second element of a larger tensor is a row like any other, and nobody writes to it."""
    x = torch.stack((ROW, ROW + 100), dim=-1)[..., 0]  # steps of two in memory
    seen, weight = student.watch(x), student.watch(WEIGHT)

    got = student.rms_norm(seen, weight, 0.0)

    assert_printed(got, rows([0.3333, -0.3333, 2.0, 0.8333]))
    assert_unmodified(seen, "x")
    assert_unmodified(weight, "weight")


# --- rope ------------------------------------------------------------------------------------


@task("rope", contract=7)
@pytest.mark.parametrize(
    ("position", "want"), [(0, [1.0, 2.0, 3.0, 4.0]), (1, [-1.9841, 1.5907, 2.4624, 4.1797])]
)
def test_rope_of_the_handout(student, position, want):
    """Elements 0 and 2 turn by 1 radian, 1 and 3 by 0.1; position 0 changes nothing."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 1, 1, 4)

    got = student.apply_rope(x, torch.tensor([[position]]), 100.0)

    assert_printed(got, rows(want).view(1, 1, 1, 4))


@task("rope", contract=8)
def test_rows_turn_by_their_own_positions(student, draw):
    """Three rows together give what each gives alone with its own positions."""
    x, positions = (
        draw.normal(3, 2, 4, 6),
        torch.tensor([[0, 1, 2, 3], [7, 5, 5, 90], [3, 2, 1, 0]]),
    )

    got = expect(student.apply_rope(x, positions, 10_000.0), Tensor, shape=x.shape)

    for row in range(3):
        alone = student.apply_rope(x[row : row + 1], positions[row : row + 1], 10_000.0)
        want = expect(alone, Tensor, "the result of a row alone").double()
        assert_close(got[row : row + 1], want, "elementwise", what=f"row {row} of the result")


@task("rope", contract=8)
def test_positions_may_come_in_any_order(student, draw):
    """Tokens in another order, each with its position, give the same vectors in that order."""
    x, positions, order = draw.normal(1, 2, 4, 6), torch.tensor([[4, 0, 9, 2]]), [2, 0, 3, 1]

    got = student.apply_rope(x[:, :, order], positions[:, order], 10_000.0)

    want = expect(student.apply_rope(x, positions, 10_000.0), Tensor)
    assert_close(got, want[:, :, order].double(), "elementwise")


@task("rope", contract=9)
@pytest.mark.parametrize(("theta", "slow"), [(16.0, 0.75), (10_000.0, 0.03), (1e6, 0.003)])
def test_theta_sets_the_frequencies(student, theta, slow):
    """For D = 4 and position 3 angles are 3 and 3 / sqrt(theta); (1, 0) becomes (cos, sin)."""
    x = torch.tensor([1.0, 1.0, 0.0, 0.0]).view(1, 1, 1, 4)

    got = student.apply_rope(x, torch.tensor([[3]]), theta)

    want = rows([math.cos(3), math.cos(slow), math.sin(3), math.sin(slow)]).view(1, 1, 1, 4)
    assert_close(got, want, "elementwise")


@task("rope", contract=10)
@pytest.mark.parametrize("shape", [(3, 1, 1, 2), (1, 4, 1, 2), (1, 1, 5, 2)], ids=str)
def test_a_single_pair_turns_by_its_position(student, shape):
    """With D = 2 the angle is the position itself: (1, 0) becomes (cos p, sin p)."""
    x = torch.tensor([1.0, 0.0]).expand(shape).contiguous()
    positions = torch.arange(2, 2 + shape[0] * shape[2]).view(shape[0], shape[2])

    got = student.apply_rope(x, positions, 10_000.0)

    angles = positions[:, None].double().expand(shape[:3])
    assert_close(got, torch.stack((angles.cos(), angles.sin()), -1), "elementwise")


@task("rope", contract=11)
@pytest.mark.parametrize("position", [1_024, 5_000, 123_456])
def test_a_position_may_be_large(student, position):
    """(1, 0) becomes (cos p, sin p) for large p too."""
    got = student.apply_rope(
        torch.tensor([1.0, 0.0]).view(1, 1, 1, 2), torch.tensor([[position]]), 10_000.0
    )

    want = rows([math.cos(position), math.sin(position)]).view(1, 1, 1, 2)
    assert_close(got, want, "elementwise")


@task("rope", contract=12)
@pytest.mark.parametrize("dtype", [BF16, FP16], ids=str)
@pytest.mark.parametrize("position", [257, 2_049, 5_001])
def test_angles_are_not_rounded_to_half(student, dtype, position):
    """bfloat16 has no 257 and float16 no 2049: the neighbour's angle is off by a whole radian."""
    x = torch.tensor([1.0, 0.0], dtype=dtype).view(1, 1, 1, 2)

    got = student.apply_rope(x, torch.tensor([[position]]), 10_000.0)

    want = rows([math.cos(position), math.sin(position)]).view(1, 1, 1, 2)
    assert_close(got, want, "elementwise", like=x)


@task("rope", contract=12)
@pytest.mark.parametrize("dtype", [BF16, FP16], ids=str)
def test_frequencies_are_not_rounded_to_half(student, dtype):
    """1 / sqrt(10) is 0.31623, in bfloat16 0.31641: at position 5001 that is 0.9 radians more."""
    x = torch.tensor([0.0, 1.0, 0.0, 0.0], dtype=dtype).view(1, 1, 1, 4)

    got = student.apply_rope(x, torch.tensor([[5_001]]), 10.0)

    angle = 5_001 / math.sqrt(10)
    want = rows([0, math.cos(angle), 0, math.sin(angle)]).view(1, 1, 1, 4)
    assert_close(got, want, "elementwise", like=x)


@task("rope", contract=13)
@pytest.mark.parametrize("copies", [1, 2], ids=["one", "many at one place"])
def test_rope_writes_nothing_into_x(student, copies):
    """An x that lies in one block stays as it was, and so does one whose rows are one memory."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 1, 1, 4).expand(copies, 1, 1, 4)
    seen = student.watch(x)

    got = expect(student.apply_rope(seen, torch.full((copies, 1), 2), 100.0), Tensor)

    check(not bool((got == x).all()), "the result is x itself, which position 2 turns")
    assert_unmodified(seen, "x")


@task("rope", contract=13)
def test_rope_reads_views_and_changes_nothing(student, draw):
    """A [B, T, H, D] tensor seen as [B, H, T, D] gives what its copy gives; nothing is modified."""
    x, positions = draw.normal(2, 5, 3, 6).transpose(1, 2), torch.arange(4, 9).expand(2, 5)
    seen, seen_positions = student.watch(x), student.watch(positions)

    got = student.apply_rope(seen, seen_positions, 100.0)

    copy = student.apply_rope(x.contiguous(), positions.contiguous(), 100.0)
    assert_close(got, expect(copy, Tensor, "the result for a copy").double(), "elementwise")
    assert_unmodified(seen, "x")
    assert_unmodified(seen_positions, "positions")


# --- attention -------------------------------------------------------------------------------


@task("attention", contract=14)
def test_attention_of_the_handout(student):
    """Two queries, three keys: the first query does not see the last key, the second does."""
    q = torch.tensor([[1.0, 0.0], [0.0, 2.0]]).view(1, 1, 2, 2)
    k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).view(1, 1, 3, 2)
    v = torch.tensor([[10.0, 0.0], [0.0, 10.0], [0.0, 20.0]]).view(1, 1, 3, 2)

    got = student.attention(q, k, v)

    assert_printed(got, rows([6.6976, 3.3024], [1.0838, 13.3742]).view(1, 1, 2, 2))


@task("attention", contract=14)
@pytest.mark.parametrize(("heads", "width"), [(1, 4), (3, 4), (2, 16)])
def test_scores_are_divided_by_the_root_of_the_head_width(student, heads, width):
    """q · k = sqrt(D) · ln 3 beside 0 gives the weights 3/4 and 1/4, for any number of heads."""
    q, k, v = torch.zeros(1, heads, 1, width), *torch.zeros(2, 1, heads, 2, width)
    q[..., 0], k[:, :, 0, 0], v[:, :, 0, 0] = math.sqrt(width) * math.log(3), 1.0, 8.0

    got = student.attention(q, k, v)

    want = torch.zeros(1, heads, 1, width, dtype=torch.float64)
    want[..., 0] = 6.0
    assert_close(got, want, "attention")


@task("attention", contract=14)
def test_attention_calls_none_of_torchs(student, draw):
    """No attention of torch is called, under whatever name."""
    q, k, v = draw.normal(1, 2, 3, 4), draw.normal(1, 2, 3, 4), draw.normal(1, 2, 3, 4)

    with student.guard():
        expect(student.attention(q, k, v), Tensor)


@task("attention", contract=15)
def test_a_later_key_is_not_seen(student, draw):
    """With T = S the first query gets the first value; no result changes with what comes later."""
    q, k, v = draw.normal(2, 3, 5, 4), draw.normal(2, 3, 5, 4), draw.normal(2, 3, 5, 4)

    whole = expect(student.attention(q, k, v), Tensor)

    assert_close(whole[:, :, :1], v[:, :, :1].double(), "attention", what="the first result")
    for length in (1, 2, 4):
        part = student.attention(q[:, :, :length], k[:, :, :length], v[:, :, :length])
        want = expect(part, Tensor, f"the result of {length} tokens").double()
        assert_close(whole[:, :, :length], want, "attention", what=f"the first {length} of 5")


@task("attention", contract=16)
@pytest.mark.parametrize("new", [1, 2, 4])
def test_the_queries_are_the_last_positions(student, draw, new):
    """The last T queries with all S keys give the last T rows of T = S."""
    q, k, v = draw.normal(2, 3, 5, 4), draw.normal(2, 3, 5, 4), draw.normal(2, 3, 5, 4)

    got = student.attention(q[:, :, -new:].contiguous(), k, v)

    whole = expect(student.attention(q, k, v), Tensor, "the result for T = S", shape=q.shape)
    assert_close(got, whole[:, :, -new:].double(), "attention")


@task("attention", contract=17)
@pytest.mark.parametrize(
    ("groups", "want"), [(1, [5, 5, 5, 5]), (2, [5, 5, 6, 6]), (4, [5, 6, 7, 8])]
)
def test_query_heads_share_key_heads_in_order(student, groups, want):
    """With one key each head returns its value head: 0 0 1 1, not 0 1 0 1."""
    q, k = torch.ones(1, 4, 1, 2), torch.ones(1, groups, 1, 2)
    v = torch.arange(5.0, 5 + groups).view(1, groups, 1, 1).expand(1, groups, 1, 2).contiguous()

    got = student.attention(q, k, v)

    assert_close(got, rows(want).view(1, 4, 1, 1).expand(1, 4, 1, 2), "attention", like=q)


@task("attention", contract=16)
def test_the_oldest_of_5000_keys_counts(student):
    """With keys of zeros a query gets the mean of all values, 0 to 4999: there is no window."""
    v = torch.arange(5000.0).view(1, 1, 5000, 1)

    got = student.attention(torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 5000, 1), v)

    assert_close(got, rows([2499.5]).view(1, 1, 1, 1), "attention", inner=5000)


@task("attention", contract=18)
@pytest.mark.parametrize("score", [200.0, 1e4])
def test_a_large_score_takes_all_the_weight(student, score):
    """The best visible key gets all; an even larger score of a later key is not seen."""
    q = torch.tensor([score, 1.0]).view(1, 1, 2, 1)
    k = torch.tensor([-1.0, 2.0, 3.0]).view(1, 1, 3, 1)
    v = torch.tensor([7.0, 8.0, 9.0]).view(1, 1, 3, 1)

    got = student.attention(q, -k, v)  # of keys 0 and 1 the first is better
    other = student.attention(q, k, v)  # key 1 is better, the hidden key 2 is better still

    for each, best in ((got, 7.0), (other, 8.0)):
        first, sole = expect(each, Tensor, shape=(1, 1, 2, 1))[:, :, :1], rows([best])
        # A score, and so a log-sum-exp, is known to one part in 2**24 of its size.
        off = torch.tensor(best * 2 * score * 2.0**-24)
        assert_close(first, sole.view(1, 1, 1, 1), "attention", off=off)


@task("attention", contract=18)
def test_a_score_of_minus_1e4_does_not_reach_past_the_mask(student):
    """All that a query sees scores -1e4, the key behind it 0: it is not seen even so."""
    q, k = torch.full((1, 1, 2, 1), 100.0), torch.tensor([-100.0, -100.0, 0.0]).view(1, 1, 3, 1)
    v = torch.tensor([6.0, 8.0, 9.0]).view(1, 1, 3, 1)

    got = student.attention(q, k, v)

    off = torch.tensor(9.0 * 1e4 * 2.0**-24)
    assert_close(got, rows([7.0], [9.0]).view(1, 1, 2, 1), "attention", off=off)


@task("attention", contract=19)
@pytest.mark.parametrize("dtype", [BF16, FP16], ids=str)
def test_attention_in_half_is_as_good_as_half_allows(student, draw, dtype):
    """16-bit inputs give what the same numbers give in float32, rounded to their dtype."""
    q = draw.normal(2, 4, 6, 16, dtype=dtype)
    k, v = draw.normal(2, 2, 40, 16, dtype=dtype), draw.normal(2, 2, 40, 16, dtype=dtype)

    got = student.attention(q, k, v)

    want = expect(student.attention(q.float(), k.float(), v.float()), Tensor, "in float32")
    options = {"trusted": want.to(dtype), "scale": v.abs().mean()}  # a mean of rows of v
    assert_close(got, want.double(), "attention", like=q, **options)


@task("attention", contract=20)
@pytest.mark.parametrize(("new", "context"), [(2, 1), (5, 3)])
def test_more_queries_than_keys_are_refused(student, new, context):
    """T > S is a ValueError: the first query would see no key."""
    with student.raises(ValueError):
        student.attention(torch.ones(1, 2, new, 4), *torch.ones(2, 1, 2, context, 4))


@task("attention", contract=21)
@pytest.mark.parametrize(("heads", "groups"), [(3, 2), (2, 4)])
def test_heads_that_cannot_share_evenly_are_refused(student, heads, groups):
    """H that is no multiple of G is a ValueError."""
    with student.raises(ValueError):
        student.attention(torch.ones(1, heads, 3, 4), *torch.ones(2, 1, groups, 3, 4))


@task("attention", contract=22)
def test_attention_reads_views_and_changes_nothing(student, draw):
    """Tensors seen through a transpose give what their copies give; nothing is modified."""
    q = draw.normal(2, 3, 4, 6).transpose(1, 2)
    k, v = draw.normal(2, 5, 2, 6).transpose(1, 2), draw.normal(2, 5, 2, 6).transpose(1, 2)
    watched = [student.watch(x) for x in (q, k, v)]

    got = student.attention(*watched)

    copy = student.attention(q.contiguous(), k.contiguous(), v.contiguous())
    assert_close(got, expect(copy, Tensor, "the result for copies").double(), "attention")
    for seen, name in zip(watched, "qkv", strict=True):
        assert_unmodified(seen, name)


# --- mlp -------------------------------------------------------------------------------------

GATE = torch.tensor([[1.0, 0.0], [0.0, -1.0], [1.0, 1.0]])
UP = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, -1.0]])
DOWN = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


@task("mlp", contract=23)
def test_mlp_of_the_handout(student):
    """SiLU acts on w_gate x, here (1, -2, 3), and not on w_up x, here (2, 1, -1)."""
    got = student.swiglu(torch.tensor([[1.0, 2.0]]), GATE, UP, DOWN)

    assert_printed(got, rows([-1.3956, -0.2384]))


@task("mlp", contract=24)
@pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 3, 2)], ids=str)
def test_mlp_takes_any_number_of_axes(student, shape):
    """Whatever comes before the last axis, each row gives what it gives alone."""
    x = torch.tensor([1.0, 2.0]).expand(shape).contiguous()

    assert_printed(student.swiglu(x, GATE, UP, DOWN), rows([-1.3956, -0.2384])[0].expand(shape))


@task("mlp", contract=25)
@pytest.mark.parametrize("dtype", [BF16, FP16, FP32], ids=str)
@pytest.mark.parametrize("other", [BF16, FP16, FP32], ids=str)
def test_mlp_works_in_the_dtype_of_x(student, dtype, other):
    """x decides on dtype and precision; the handout's weights are exact in all of these."""
    x, weights = torch.tensor([[1.0, 2.0]], dtype=dtype), [w.to(other) for w in (GATE, UP, DOWN)]

    got = student.swiglu(x, *weights)

    want = rows([-1.395_605_2, -0.238_405_8])
    assert_close(got, want, "matmul", like=x, scale=3.0)  # 1.46 and -2.86 are added


@task("mlp", contract=26)
def test_large_gates_are_no_problem(student):
    """SiLU of 1e4 is 1e4, of -1e4 it is 0: neither is NaN."""
    gate, up, down = torch.eye(2), torch.tensor([[1e-4, 0.0], [0.0, 1.0]]), torch.eye(2)

    got = student.swiglu(torch.tensor([[1e4, -1e4], [-1e4, 1e4]]), gate, up, down)

    assert_close(got, rows([1e4, 0.0], [0.0, 1e8]), "matmul")


@task("mlp", contract=27)
def test_mlp_reads_views_and_changes_nothing(student):
    """Weights that are transposed in memory give what their copies give; nothing is modified."""
    x = torch.tensor([[1.0, 9.0, 2.0, 9.0]])[:, ::2]
    watched = [student.watch(w) for w in (x, *(w.T.contiguous().T for w in (GATE, UP, DOWN)))]

    assert_printed(student.swiglu(*watched), rows([-1.3956, -0.2384]))

    for seen, name in zip(watched, ("x", "w_gate", "w_up", "w_down"), strict=True):
        assert_unmodified(seen, name)


# --- model -----------------------------------------------------------------------------------

# Two layers, 4 heads of width 4 that share 2 key/value heads; eps and theta are uncommon.
SIZES = {
    **{"vocab_size": 5, "hidden_size": 6, "intermediate_size": 7, "num_layers": 2},
    **{"num_heads": 4, "num_kv_heads": 2, "head_dim": 4, "rms_norm_eps": 0.1},
    **{"rope_theta": 50.0, "rope_scaling": None, "max_position_embeddings": 16},
    **{"tie_word_embeddings": False, "bos_token_id": None, "eos_token_ids": ()},
}
LAYER = {
    **{"input_layernorm": (6,), "self_attn.q_proj": (16, 6), "self_attn.k_proj": (8, 6)},
    **{"self_attn.v_proj": (8, 6), "self_attn.o_proj": (6, 16), "post_attention_layernorm": (6,)},
    **{"mlp.gate_proj": (7, 6), "mlp.up_proj": (7, 6), "mlp.down_proj": (6, 7)},
}


def wave(number: int, *shape: int) -> Tensor:
    """Eighths between -1 and 1 that look random and are the same everywhere."""
    angles = number * torch.arange(1, 1 + math.prod(shape), dtype=torch.float64) ** 2
    return (8 * angles.sin()).round().view(shape).float() / 8


def small_weights(layers: tuple[int, ...] = (0, 1)) -> dict[str, Tensor]:
    """Weights of a model of ``SIZES``; ``layers`` says which of two layers come, in which order."""
    weights = {"model.embed_tokens.weight": wave(1, 5, 6)}
    for place, layer in enumerate(layers):
        for number, (name, shape) in enumerate(LAYER.items()):
            weights[f"model.layers.{place}.{name}.weight"] = wave(10 * layer + number + 2, *shape)
    return weights | {"model.norm.weight": wave(30, 6), "lm_head.weight": wave(31, 5, 6)}


def make(student, weights: dict[str, Tensor], **changes: object) -> Proxy:
    config = student.record("LlamaConfig", **SIZES | changes)
    return expect(student.Llama(config, weights), Proxy, "Llama(...)")


def logits(model: Proxy, *tokens: list[int]) -> Tensor:
    return expect(model(torch.tensor(tokens)), Tensor, "the logits")


@task("model", contract=28)
def test_logits_of_a_small_model(student):
    """These are the logits of four positions: two residuals a layer, each block reads a norm."""
    got = logits(make(student, small_weights()), [3, 1, 4, 2])

    want = rows(
        [0.0588, 0.8163, -0.4633, -0.3661, 1.0297],
        [-1.2152, -0.9827, -0.4282, 0.3354, -1.4574],
        [1.8552, -0.2347, -0.0716, 0.4285, 0.1883],
        [-0.1451, -0.7146, -0.2682, 0.0254, 0.0222],
    )
    assert_printed(got, want[None], "the logits")


@task("model", contract=28)
def test_blocks_that_give_nothing_change_nothing(student):
    """With o_proj and down_proj zero the layers add 0 to x: it is as if there were none."""
    weights = small_weights()
    for name in weights:
        if "o_proj" in name or "down_proj" in name:
            weights[name] = torch.zeros_like(weights[name])

    got = logits(make(student, weights), [3, 1, 4, 2])

    want = logits(make(student, small_weights(()), num_layers=0), [3, 1, 4, 2])
    assert_alike(got, want)


@task("model", contract=29)
@pytest.mark.parametrize(
    ("layers", "want"),
    [
        ((0,), [0.7654, 1.3868, 0.6017, -1.1132, 0.4861]),
        ((1,), [0.8096, 0.8008, 0.9175, 0.4011, -1.5578]),
        ((0, 1), [-0.1451, -0.7146, -0.2682, 0.0254, 0.0222]),
        ((1, 0), [-0.0449, 1.1095, 0.9786, 0.0532, -1.9485]),
        ((0, 1, 0), [0.1919, -0.1095, 0.0342, -0.5557, 0.2746]),
    ],
    ids=str,
)
def test_layers_run_from_first_to_last(student, layers, want):
    """The logits of the last of four positions, for some layers in some order."""
    model = make(student, small_weights(layers), num_layers=len(layers))

    got = expect(model(torch.tensor([[3, 1, 4, 2]])), Tensor, "the logits", shape=(1, 4, 5))
    assert_printed(got[:, -1:], rows(want)[None], "the last logits")


EMBEDDING = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]])


def without_layers(student, norm: Tensor, head: Tensor | None = None, **changes: object) -> Proxy:
    """The model of the handout: three tokens, width 2, no layers, tied if no head is given."""
    sizes = {"vocab_size": 3, "hidden_size": 2, "num_layers": 0, "rms_norm_eps": 1e-6}
    weights = {"model.embed_tokens.weight": EMBEDDING.to(norm.dtype), "model.norm.weight": norm}
    if head is not None:
        weights["lm_head.weight"] = head
    return make(student, weights, tie_word_embeddings=head is None, **sizes | changes)


@task("model", contract=30)
def test_model_without_layers(student):
    """No layers: embedding, norm and the tied output matrix are left, as in the handout."""
    got = logits(without_layers(student, torch.ones(2)), [2])

    assert_printed(got, rows([0.8485, 1.1314, 7.0711])[None], "the logits")


@task("model", contract=30)
def test_the_last_norm_has_its_weight(student):
    """With the norm's weight (2, -1) the normed x is [1.6971, -1.1314]."""
    got = logits(without_layers(student, torch.tensor([2.0, -1.0])), [2])

    assert_printed(got, rows([1.6971, -1.1314, 0.5657])[None], "the logits")


@task("model", contract=31)
def test_equal_tokens_give_equal_logits(student):
    """Equal tokens have equal values, and so has every mean of these: values are not rotated."""
    got = logits(make(student, small_weights()), [3, 3, 3, 3])

    first = expect(got, Tensor, "the logits", shape=(1, 4, *got.shape[-1:]))[:, :1]
    assert_alike(got, first.expand_as(got))


@task("model", contract=31)
def test_the_order_of_the_past_matters(student):
    """One layer tells 1 2 3 from 2 1 3 by nothing but the rotation of q and k."""
    model = make(student, small_weights((0,)), num_layers=1)

    one, other = logits(model, [1, 2, 3])[0, -1], logits(model, [2, 1, 3])[0, -1]

    off = float((one - other).abs().max())
    check(off > 1e-3, f"1 2 3 and 2 1 3 give logits that differ by {off:.1e}, expected over 1e-3")


@task("model", contract=32)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_shared_key_head_is_a_copied_one(student, groups):
    """G = 4 with copies of 1 or 2 key/value heads gives what G = 1 or 2 gives."""
    few, many = small_weights(), small_weights()
    for name in few:
        if "k_proj" in name or "v_proj" in name:
            heads = few[name][: 4 * groups].split(4)  # each [4, 6]
            few[name] = torch.cat(heads)
            many[name] = torch.cat([head for head in heads for _ in range(4 // groups)])

    got = logits(make(student, few, num_kv_heads=groups), [3, 1, 4, 2])

    want = logits(make(student, many, num_kv_heads=4), [3, 1, 4, 2])
    assert_alike(got, want)


@task("model", contract=33)
def test_an_output_matrix_of_its_own(student):
    """Not tied: lm_head.weight makes the logits of the normed x, [0.8485, 1.1314]."""
    head = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])

    got = logits(without_layers(student, torch.ones(2), head), [2])

    assert_printed(got, rows([1.1314, 0.8485, 1.9799])[None], "the logits")


@task("model", contract=33)
def test_tied_layers(student):
    """Tied: the small model without lm_head gives what it gives with the embedding for a head."""
    weights = small_weights()
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()
    tied = {name: weight for name, weight in weights.items() if name != "lm_head.weight"}

    got = logits(make(student, tied, tie_word_embeddings=True), [3, 1, 4, 2])

    want = logits(make(student, weights), [3, 1, 4, 2])
    assert_alike(got, want)


@task("model", contract=34)
def test_model_is_causal(student):
    """The logits of a position do not change when later tokens do, or are missing."""
    model = make(student, small_weights())

    whole = logits(model, [3, 1, 4, 2])

    check(whole.shape == (1, 4, 5), f"logits of shape {list(whole.shape)}, expected [1, 4, 5]")
    for tokens in ([3, 1, 4, 0], [3, 1, 4], [3, 1, 4, 2, 2, 0]):
        other = logits(model, tokens)
        want = [1, len(tokens), 5]
        check([*other.shape] == want, f"logits of shape {list(other.shape)}, expected {want}")
        assert_alike(other[:, :3], whole[:, :3], "the first 3 logits")


@task("model", contract=34)
def test_rows_are_independent(student):
    """Each row of a batch gets the logits that it gets alone."""
    model, batch = make(student, small_weights()), [[3, 1, 4], [0, 0, 2], [1, 4, 3]]

    got = logits(model, *batch)

    want = torch.cat([logits(model, tokens) for tokens in batch])
    assert_alike(got, want)


@task("model", contract=35)
@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"rms_norm_eps": 1e-5}, [0.7835, -0.3337, -0.3489, -0.2585, 0.6118]),
        ({"rms_norm_eps": 1.0}, [-1.4648, -1.4856, -0.5645, 0.5141, -0.8248]),
        ({"rope_theta": 10_000.0}, [0.1320, -0.4878, -0.2050, -0.0636, 0.2013]),
        ({"rope_theta": 3.0}, [-0.8456, -0.8822, -0.2369, 0.1560, -0.4251]),
    ],
    ids=str,
)
def test_eps_and_theta_come_from_config(student, change, want):
    """The logits of the last of four positions, with another eps or theta."""
    model = make(student, small_weights(), **change)

    assert_printed(logits(model, [3, 1, 4, 2])[:, -1:], rows(want)[None], "the last logits")


@task("model", contract=36)
def test_weights_may_be_bfloat16(student):
    """The small model is exact in bfloat16: its logits come near the printed ones."""
    weights = {name: weight.to(BF16) for name, weight in small_weights().items()}

    got = logits(make(student, weights), [3, 1, 4, 2])[:, -1:]

    check(got.dtype in (BF16, FP32), f"logits in {got.dtype}, expected bfloat16 or float32")
    want = rows([-0.1451, -0.7146, -0.2682, 0.0254, 0.0222])[None]
    assert_close(got.float(), want, "matmul", trusted=want + 0.05, what="the last logits")


@task("model", contract=36)
def test_float32_weights_stay_float32(student, draw):
    """Without layers and tied, a token's own logit is sqrt(6) times its embedding's length."""
    x = draw.normal(5, 6)
    weights = {"model.embed_tokens.weight": x, "model.norm.weight": torch.ones(6)}
    model = make(student, weights, num_layers=0, rms_norm_eps=0.0, tie_word_embeddings=True)

    got = logits(model, [0, 1, 2, 3, 4])

    check(got.shape == (1, 5, 5), f"logits of shape {list(got.shape)}, expected [1, 5, 5]")
    own = got[0].diagonal().contiguous()
    assert_close(own, math.sqrt(6) * x.double().norm(dim=1), "matmul", what="their own logits")


@task("model", contract=37)
def test_model_changes_none_of_its_arguments(student):
    """config, the dictionary of weights, its tensors and the tokens stay as they are."""
    config = student.watch(student.record("LlamaConfig", **SIZES))
    weights, tokens = student.watch(small_weights()), student.watch(torch.tensor([[3, 1, 4]]))

    expect(expect(student.Llama(config, weights), Proxy, "Llama(...)")(tokens), Tensor)

    assert_unmodified(config, "config")
    assert_unmodified(weights, "weights")
    assert_unmodified(tokens, "tokens")


@task("model", contract=38)
def test_calls_leave_nothing_behind(student):
    """After other calls, shorter, longer and of the same shape, a call gives the same logits."""
    model = make(student, small_weights())
    first = logits(model, [3, 1, 4, 2])

    for tokens in ([[0, 2, 2, 1]], [[1]], [[4, 0, 1, 2, 3, 4], [0, 1, 1, 1, 1, 1]]):
        other = logits(model, *tokens)
        alone = logits(make(student, small_weights()), *tokens)
        assert_alike(other, alone, f"the logits of {tokens}")
    assert_alike(logits(model, [3, 1, 4, 2]), first)


SHIPPED = Path(__file__).resolve().parents[1] / "checkpoints" / "target"


def target(student) -> Folder:
    """The shipped checkpoint: what is printed here is nothing that MODEL=path would say."""
    folder = student.checkpoint("target")
    if folder.host.resolve() != SHIPPED:
        raise NotGraded("the numbers printed in this test are those of labs/checkpoints/target")
    return folder


# `if __name__ ==` with the BOS in front, and what the target says to it before its EOS, which is 1.
PROMPT = [0, 781, 507, 376, 317, 553]
ANSWER = [2043, 782, 317, 915, 281, 894, 15, 782, 302, 200]
ANSWER_TEXT = ' "__main__":\n    unittest.main()\n'


@task("model", contract=39)
def test_logits_of_the_target(student):
    """Some logits of the target after `if __name` and after `if __name__ ==`, in float32."""
    weights = load_file(target(student).host / "model.safetensors")
    model = make(
        student,
        {name: weight.float() for name, weight in weights.items()},
        **{"vocab_size": 2048, "hidden_size": 256, "intermediate_size": 704, "num_layers": 8},
        **{"num_heads": 8, "num_kv_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-5},
        **{"rope_theta": 10_000.0, "tie_word_embeddings": True},
    )

    got = logits(model, PROMPT)

    check(got.shape == (1, 6, 2048), f"logits of shape {list(got.shape)}, expected [1, 6, 2048]")
    some = got[0, [2, 5]][:, [0, 1, 200, 507, 2043]]
    want = rows(
        [-7.7580, -4.8861, 3.7677, 0.4485, -0.1723], [0.0011, -1.6446, 2.3757, 10.1363, 17.2452]
    )
    assert_printed(some, want, "the logits of tokens 0, 1, 200, 507 and 2043")


# --- engine ----------------------------------------------------------------------------------


def engine(student) -> Proxy:
    return expect(student.Engine(target(student).path), Proxy, "Engine(...)")


def engine_with_eos(student, eos: int | list[int], generation_eos: int | list[int]) -> Proxy:
    """An engine for the target, but with other EOS ids in its two files."""
    shipped, folder = target(student), student.new_folder()
    for file in shipped.host.iterdir():
        shutil.copyfile(file, folder.host / file.name)
    for name, ids in (("config.json", eos), ("generation_config.json", generation_eos)):
        text = (shipped.host / name).read_text()
        (folder.host / name).write_text(json.dumps(json.loads(text) | {"eos_token_id": ids}))
    return expect(student.Engine(folder.path), Proxy, "Engine(...)")


def assert_tokens(got: object, want: list[int]) -> None:
    tokens = expect(got, list[int], "the result of generate")
    check(tokens == want, f"the new tokens are {tokens}, expected {want}")


@task("engine", contract=40)
def test_generate_on_the_target(student):
    """After `if __name__ ==` the target says `"__main__":`, a call of unittest.main, and EOS."""
    assert_tokens(engine(student).generate(PROMPT, 20), ANSWER)


@task("engine", contract=40)
def test_generate_goes_on_from_its_own_tokens(student):
    """Prompt and first half of the answer together give the second half."""
    assert_tokens(engine(student).generate(PROMPT + ANSWER[:5], 20), ANSWER[5:])


@task("engine", contract=41)
def test_a_long_prompt(student):
    """The name that the first line gave, 170 tokens ago, is completed."""
    text = "class Queue:\n    def put(self):\n" + 40 * "x = 1\n" + "class Q"

    assert_equal(engine(student).execute([text], 1), ["ue"], "the result of execute")


@task("engine", contract=41)
def test_a_prompt_of_one_token(student):
    """Token 519 alone, `def`, goes on with 64, an underscore."""
    assert_tokens(engine(student).generate([519], 1), [64])


@task("engine", contract=42)
@pytest.mark.parametrize("limit", [0, 1, 4])
def test_max_new_tokens_is_the_number_of_new_tokens(student, limit):
    """The result holds max_new_tokens tokens and nothing of the prompt; none for 0."""
    assert_tokens(engine(student).generate(PROMPT, limit), ANSWER[:limit])


@task("engine", contract=43)
@pytest.mark.parametrize(
    ("eos", "generation_eos", "length"),
    [(15, 1, 6), (5, 915, 3), ([5, 317], 1, 2), (5, [6, 7, 894], 5), ([2043, 15], 317, 0)],
    ids=str,
)
def test_any_eos_id_ends_the_sequence(student, eos, generation_eos, length):
    """With other ids in the checkpoint's two files the answer ends before the first of them."""
    assert_tokens(
        engine_with_eos(student, eos, generation_eos).generate(PROMPT, 9), ANSWER[:length]
    )


def engine_with(student, change: Callable[[dict[str, Tensor]], None], eos: int = 1) -> Proxy:
    """An engine for the target, but for what is changed in its weights, and for an EOS."""
    shipped, folder = target(student), student.new_folder()
    for other in shipped.host.iterdir():
        shutil.copyfile(other, folder.host / other.name)
    weights = load_file(folder.host / "model.safetensors")
    change(weights)
    (folder.host / "model.safetensors").write_bytes(save(weights, {"format": "pt"}))
    text = (shipped.host / "config.json").read_text()
    (folder.host / "config.json").write_text(json.dumps(json.loads(text) | {"eos_token_id": eos}))
    return expect(student.Engine(folder.path), Proxy, "Engine(...)")


@task("engine", contract=43)
def test_an_eos_of_id_0(student):
    """Tokens 0 and 15 have changed places, and 0 is the EOS: the answer ends where 15 was."""

    def exchange(weights: dict[str, Tensor]) -> None:
        embedding = weights["model.embed_tokens.weight"]
        embedding[[0, 15]] = embedding[[15, 0]]

    got = engine_with(student, exchange, eos=0).generate([15, *PROMPT[1:]], 9)

    assert_tokens(got, ANSWER[:6])


@task("engine", contract=44)
def test_an_eos_in_the_prompt_ends_nothing(student):
    """With EOS ids that the prompt holds, first and last among them, the answer is the same."""
    got = engine_with_eos(student, PROMPT[-1], [0, 507]).generate(PROMPT, 6)

    assert_tokens(got, ANSWER[:6])


@task("engine", contract=45)
def test_an_empty_prompt_is_refused(student):
    """generate([], 3) is a ValueError whose message says prompt."""
    with student.raises(ValueError, naming="prompt"):
        engine(student).generate([], 3)


@task("engine", contract=46)
def test_generate_leaves_prompt_and_engine_as_they_were(student):
    """The list of the prompt is not extended, and a second call gives what the first gave."""
    model, prompt = engine(student), student.watch(PROMPT)

    assert_tokens(model.generate(prompt, 4), ANSWER[:4])
    assert_tokens(model.generate([519, 290, 9], 1), [265])  # `def f(`, and `self`
    assert_tokens(model.generate(PROMPT, 4), ANSWER[:4])

    assert_unmodified(prompt, "prompt")


@task("engine", contract=47)
def test_execute_is_a_list_of_new_texts(student):
    """One str for each prompt, in order, without the prompt; white space belongs to it."""
    prompts = ["if __name__ ==", "x", "class Error("]

    got = engine(student).execute(prompts, max_new_tokens=3)

    assert_equal(got, [' "__main__', " = 1\n", "Exception): pass"], "the result of execute")


@task("engine", contract=47)
def test_a_letter_of_two_tokens(student):
    """The two bytes of an accented letter are two tokens, and the text has the letter."""
    prompt = "x = '\u00e9'\n" * 3 + "x = '"

    got = engine(student).execute([prompt], max_new_tokens=3)

    assert_equal(got, ["\u00e9'"], "the result of execute")


@task("engine", contract=47)
def test_the_tokenizer_puts_one_bos_in_front(student):
    """After `and` with its BOS the target says `ra`; with two of them it would begin a string."""
    assert_equal(engine(student).execute(["and"], 1), ["ra"], "the result of execute")


@task("engine", contract=48)
def test_execute_is_greedy_by_default(student):
    """Without temperature the text is the greedy one, each time; max_new_tokens limits it."""
    model = engine(student)

    assert_equal(model.execute(["if __name__ =="]), [ANSWER_TEXT], "the result of execute")
    got = model.execute(["if __name__ =="] * 3, max_new_tokens=3, temperature=0.0)
    assert_equal(got, [' "__main__'] * 3, "the result of execute")
    assert_equal(model.execute(["x"], max_new_tokens=0), [""], "the result of execute")


@task("engine", contract=49)
@pytest.mark.parametrize("temperature", [0.0, 0.01])
def test_an_eos_ends_a_text(student, temperature):
    """The EOS behind the answer ends it, and leaves nothing in the text."""
    got = engine(student).execute(["if __name__ =="], 30, temperature)

    assert_equal(got, [ANSWER_TEXT], "the result of execute")


@task("engine", contract=50)
@pytest.mark.parametrize(("temperature", "least", "most"), [(0.25, 26, 40), (3.0, 0, 16)])
def test_temperature_sharpens_or_flattens(student, temperature, least, most):
    """Of 40 draws the likeliest token takes 62 % at temperature 1, 90 % at 0.25, 12 % at 3."""
    got = engine(student).execute(["if __name__ =="] * 40, 1, temperature)

    texts = expect(got, list[str], "the result of execute")
    count = texts.count(' "__')
    what = f"{count} of {len(texts)} draws at temperature {temperature} are ' \"__'"
    check(least <= count <= most, f"{what}, expected {least} to {most}")


@task("engine", contract=50)
def test_a_small_temperature_for_small_logits(student):
    """Logits and temperature are 4096 times as small: 26 to 40 of 40 draws are the likeliest."""

    def shrink(weights: dict[str, Tensor]) -> None:
        weights["model.norm.weight"] /= 4096

    got = engine_with(student, shrink).execute(["if __name__ =="] * 40, 1, 0.25 / 4096)

    count = expect(got, list[str], "the result of execute").count(' "__')
    check(count >= 26, f"{count} of 40 draws are ' \"__', expected 26 or more")


@task("engine", contract=51)
def test_a_low_temperature_is_nearly_greedy(student):
    """At temperature 0.005 the best token wins by more than exp(100), which overflows nowhere."""
    got = engine(student).execute(["if __name__ =="] * 3, 3, 0.005)

    assert_equal(got, [' "__main__'] * 3, "the result of execute")


@task("engine", contract=52)
def test_each_draw_is_a_new_one(student):
    """Two calls, and two prompts of one call, give texts that differ."""
    model = engine(student)

    first = expect(model.execute(["import"] * 2, 12, 2.0), list[str], "the result of execute")
    second = expect(model.execute(["import"] * 2, 12, 2.0), list[str], "the result of execute")

    texts = first + second
    check(len(set(texts)) == 4, f"{len(set(texts))} texts of 4 are different, expected 4: {texts}")
