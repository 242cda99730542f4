"""Public tests of lab 07: the handout's examples and a few more, by the handout's numbers.

Most have few keys, so that you can follow your tiles with a pencil. Where q is 0 all scores are 0:
then o is the mean of the values that a row sees, and lse the logarithm of how many they are.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    assert_close,
    assert_from_kernels,
    assert_new,
    assert_unmodified,
    check,
    expect,
    task,
)

INF = math.inf
Pair = tuple[Tensor, Tensor]
Qkv = tuple[Tensor, Tensor, Tensor]
ORDERS = pytest.mark.parametrize("order", ["", "reversed"], ids=["in order", "reversed"])
FULL_AND_CAUSAL = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
LOW = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])


def plain(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    causal: bool = False,
    scale: float | None = None,
) -> Pair:
    """Attention from its definition in float64, with all scores at once."""
    k, v = (x.double().repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q.double() @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        rows, columns = scores.shape[-2:]
        hidden = torch.ones(rows, columns, dtype=torch.bool).triu(columns - rows + 1)
        scores = scores.masked_fill(hidden, -INF)
    return torch.softmax(scores, -1).nan_to_num() @ v, torch.logsumexp(scores, -1)


def compare(got: object, want: Pair, dtype: torch.dtype = torch.float32, room: float = 0.0) -> None:
    """Compare lse and o; by ``room`` even float32 may be off, times three."""
    o, lse = expect(got, Pair)
    near = want[1] + room
    # An lse near 0 is the logarithm of a number near 1, and known as well as that.
    assert_close(lse, want[1], "attention", inner=1024, trusted=near, scale=1.0, what="lse")
    near = want[0] + room
    assert_close(o, want[0], "attention", dtype=dtype, inner=1024, trusted=near, what="o")


def column(*numbers: float) -> Tensor:
    """Rows of width 1, of one head of one sequence: [1, 1, N, 1]."""
    return torch.tensor(numbers, dtype=torch.float32).reshape(1, 1, -1, 1)


def attended(o: list[float], lse: list[float]) -> Pair:
    """Results for one head of width 1, as numbers."""
    return column(*o).double(), torch.tensor([[lse]], dtype=torch.float64)


def logs(*counts: float) -> list[float]:
    return [math.log(n) if n else -INF for n in counts]


def drawn(draw: Any, T: int, S: int, D: int = 8, H: int = 1, G: int = 1, B: int = 1) -> Qkv:
    """Draw q [B, H, T, D], k and v [B, G, S, D]."""
    return draw.normal(B, H, T, D), draw.normal(B, G, S, D), draw.normal(B, G, S, D)


def among_nan(x: Tensor, step: int = 1) -> Tensor:
    """Give x [B, H, N, D] as a view of a tensor [B, N, H, D] that has NaN around it."""
    B, H, N, D = x.shape
    larger = torch.full((B, N + 2, H + 1, D * step + 4), math.nan, dtype=x.dtype)
    view = larger[:, 1 : N + 1, :H, 2 : 2 + D * step : step].transpose(1, 2)
    return view.copy_(x)


def assert_left_as_they_were(
    student: Any, name: str, values: tuple[Tensor, ...], names: tuple[str, ...] = ("q", "k", "v")
) -> None:
    """Call a function, and once more with its results destroyed: its arguments must not notice."""
    watched = [student.watch(x) for x in values]
    getattr(student, name)(*watched)
    for value, argument in zip(watched, names, strict=True):
        assert_unmodified(value, argument)
    student.overwritten(name, *watched)
    for value, argument in zip(watched, names, strict=True):
        assert_new(value, argument)


# --- Task 1: merge ---------------------------------------------------------------------------


def side(o: list[list[float]], lse: list[float], dtype: torch.dtype = torch.float32) -> Pair:
    """One result [T, D] and its lse [T], as numbers."""
    return torch.tensor(o, dtype=dtype), torch.tensor(lse, dtype=torch.float32)


ONE = side([[1, 10], [2, 20], [3, 30]], logs(1, 3, 5))  # of 1, 3 and 5 keys of score 0
TWO = side([[4, 40], [6, 20], [5, 10]], logs(2, 1, 5))
BOTH = torch.tensor([[3, 30], [3, 20], [4, 20]]).double(), torch.tensor(logs(3, 4, 10)).double()


@task("merge", contract=1)
def test_example_of_merging(student):
    """One key of value 1 and two of mean 4 make three keys of mean 3; and two more rows."""
    compare(student.merge(*side([[1]], [0]), *side([[4]], logs(2))), (BOTH[0][:1, :1], BOTH[1][:1]))
    compare(student.merge(*ONE, *TWO), BOTH)


@task("merge", contract=1)
def test_merging_with_heads_and_sequences(student):
    """There may be any number of axes before T and D."""
    one, two, want = ([x.expand(2, 3, *x.shape).contiguous() for x in y] for y in (ONE, TWO, BOTH))

    compare(student.merge(*one, *two), (want[0], want[1]))


@task("merge", contract=2)
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)], ids=str)
def test_attention_in_parts_is_attention(student, draw, order):
    """Attention to 1, 5, 0 and 3 of nine keys, merged one by one, is attention to all nine."""
    q, k, v = drawn(draw, 2, 9)
    cuts = [slice(0, 1), slice(1, 6), slice(6, 6), slice(6, 9)]
    parts = [[x.float() for x in plain(q, k[:, :, cut], v[:, :, cut])] for cut in cuts]

    o, lse = parts[order[0]]
    for part in order[1:]:
        o, lse = expect(student.merge(o, lse, *parts[part]), Pair)

    compare((o, lse), plain(q, k, v))


@task("merge", contract=3)
@pytest.mark.parametrize("level", [10_000.0, -10_000.0, 1_000_000.0, -1_000_000.0])
def test_level_of_lse_cancels(student, level):
    """Of lse -10000 and -9999 the second counts e times as much, like lse 0 and 1."""
    got = student.merge(
        *side([[1], [1]], [level, level + 1]), *side([[4], [4]], [level + 1, level])
    )

    share = math.e / (1 + math.e)
    o = torch.tensor([[1 + 3 * share], [4 - 3 * share]]).double()
    lse = torch.tensor([level + math.log(1 + math.e)] * 2).double()
    compare(got, (o, lse), room=1e-7 * abs(level))  # float32 knows 10000 to some 0.001


@task("merge", contract=3)
def test_side_far_above_the_other_wins(student):
    """Where one lse is 800 above the other, its side alone is left."""
    got = student.merge(*side([[1], [1]], [400, -400]), *side([[4], [4]], [-400, 400]))

    compare(got, (torch.tensor([[1.0], [4.0]]).double(), torch.tensor([400.0, 400.0]).double()))


@task("merge", contract=4)
def test_empty_side_changes_nothing(student):
    """A row that saw no key on one side is that of the other side, whatever its level."""
    full, none = side([[7], [8]], [-200.0, 3.0]), side([[0], [0]], [-INF, -INF])
    want = full[0].double(), full[1].double()

    compare(student.merge(*none, *full), want)
    compare(student.merge(*full, *none), want)
    some = student.merge(*side([[7], [0]], [-200, -INF]), *side([[0], [8]], [-INF, 3]))
    compare(some, want)


@task("merge", contract=5)
def test_two_empty_sides_stay_empty(student):
    """Nothing and nothing is 0 with lse -inf; the row beside it is as ever."""
    got = student.merge(*side([[0], [1]], [-INF, 0]), *side([[0], [4]], [-INF, math.log(2)]))

    compare(got, (torch.tensor([[0.0], [3.0]]).double(), torch.tensor(logs(0, 3)).double()))


@task("merge", contract=6)
@LOW
def test_first_side_gives_the_dtype(student, dtype):
    """o has the dtype of o1, also where one side is empty; lse is float32."""
    narrow, wide = side([[1, 2], [3, 4]], [0, 0], dtype), side([[5, 6], [5, 6]], [0, 0])
    none, mean = torch.full((2,), -INF), torch.tensor([[3.0, 4.0], [4.0, 5.0]]).double()

    compare(student.merge(*narrow, *wide), (mean, torch.tensor(logs(2, 2)).double()), dtype)
    compare(student.merge(*wide, *narrow), (mean, torch.tensor(logs(2, 2)).double()))
    empty = student.merge(narrow[0] * 0, none, *wide)
    compare(empty, (wide[0].double(), wide[1].double()), dtype)


@task("merge", contract=7)
@LOW
def test_merging_is_done_in_float32(student, dtype):
    """400 / 6 and -80 * 5 / 6 cancel: a weight that was rounded, or a side, shows."""
    one, other = side([[400, 3]], [0], dtype), side([[-80, 3]], logs(5), dtype)
    wide, lse = side([[-80.22, 3]], logs(5)), torch.tensor(logs(6)).double()

    compare(student.merge(*one, *other), (torch.tensor([[0.0, 3.0]]).double(), lse), dtype)
    want = torch.tensor([[-1.1 / 6, 3.0]]).double()
    compare(student.merge(*one, *wide), (want, lse), dtype)


@task("merge", contract=7)
@LOW
def test_lse_is_not_rounded(student, dtype):
    """3000 and 3001 are the same number in float16, and in bfloat16 too: the lse stays as it is."""
    got = student.merge(*side([[1]], [3000], dtype), *side([[4]], [3001], dtype))

    share = math.e / (1 + math.e)
    want = torch.tensor([[1 + 3 * share]]).double(), torch.tensor([3000 + math.log(1 + math.e)])
    compare(got, want, dtype)


def views_of(parts: Pair) -> Pair:
    """Put o [T, D] and lse [T] into larger tensors, and return strided views that equal them."""
    o, lse = parts
    larger, beside = torch.full((2, 9), math.nan), torch.full((len(lse), 2), math.nan)
    return larger[:, 1:7:2].copy_(o.mT).mT, beside[:, 1].copy_(lse)


@task("merge", contract=8)
def test_sides_may_be_views(student):
    """o1 and lse1, o2 and lse2, and all of them, as views with strides of their own."""
    compare(student.merge(*views_of(ONE), *TWO), BOTH)
    compare(student.merge(*ONE, *views_of(TWO)), BOTH)
    compare(student.merge(*views_of(ONE), *views_of(TWO)), BOTH)


NONE = side([[0, 0], [0, 0], [0, 0]], [-INF, -INF, -INF])


@task("merge", contract=9)
@pytest.mark.parametrize(
    "sides", [(ONE, TWO), (NONE, TWO), (ONE, NONE)], ids=["two sides", "no first", "no second"]
)
def test_sides_stay_as_they_were(student, sides):
    """No argument is changed, and none is handed back, also where the other side is empty."""
    values, names = (*sides[0], *sides[1]), ("o1", "lse1", "o2", "lse2")

    assert_left_as_they_were(student, "merge", values, names)


@task("merge", contract=9)
def test_merges_do_not_share_results(student):
    """Two merges of one shape, then a look at both results."""
    got = expect(student.together("merge", (*ONE, *TWO), (*ONE, *NONE)), list[Pair])

    compare(got[0], BOTH)
    compare(got[1], (ONE[0].double(), ONE[1].double()))


# --- what tasks 2 and 3 share ----------------------------------------------------------------


def same_values(*counts: int) -> Pair:
    """The results for values 1, 2, 4, 8, ... of score 0, where row t sees the first counts[t]."""
    return attended([(2**n - 1) / n if n else 0.0 for n in counts], logs(*counts))


def powers(T: int, S: int) -> Qkv:
    """Queries and keys of 0, and the values 1, 2, 4, 8, ...; of width 1."""
    return column(*[0.0] * T), column(*[0.0] * S), column(*[2.0**s for s in range(S)])


def by_head(H: int, G: int) -> tuple[Qkv, Pair]:
    """Queries of 0, and key heads of the value 1, 2, ...; then what each head should get."""
    values = torch.arange(1.0, G + 1).reshape(1, G, 1, 1).expand(1, G, 3, 1)
    want = torch.tensor([1.0 + h // (H // G) for h in range(H)]).reshape(1, H, 1, 1)
    lse = torch.full((1, H, 1), math.log(3), dtype=torch.float64)
    return (torch.zeros(1, H, 1, 1), values * 0, values), (want.double(), lse)


def lifted(level: float) -> tuple[Qkv, Pair]:
    """Scores level, level + 1 and level + 3 for the values 1, 2, 3; then what they make."""
    q, k = column(1.0), column(level, level + 1, level + 3)
    return (q, k, column(1, 2, 3)), plain(column(1.0), column(0, 1, 3), column(1, 2, 3))


def assert_lifted(call: Callable[..., Any], level: float) -> None:
    """Compare o closely enough for scores that float32 knows to some 0.001, and lse."""
    qkv, (o, lse) = lifted(level)
    compare(call(*qkv), (o, lse + level), room=0.001)


def slope(step: float, S: int) -> Qkv:
    """One query, and keys whose scores start at 1 and go on by a step; values 1, 2, 3, 1, ..."""
    scores, values = [1 + step * s for s in range(S)], [1.0 + s % 3 for s in range(S)]
    return column(1.0), column(*scores), column(*values)


def assert_small(student: Any, call: Callable[[], Any], limit: int, case: str) -> Any:
    """Return what a call returns, which must make no tensor of more elements than a limit."""
    with student.largest_tensor() as largest:
        got = call()
    many = f"{case}: a tensor of {largest.elements} elements was made"
    check(largest.elements <= limit, f"{many}, expected at most {limit}")
    return got


# --- Task 2: tiled ---------------------------------------------------------------------------


@task("tiled", contract=10)
def test_example_of_the_tiles(student):
    """Scores 1, 3, 2 and values 10, 20, 40: the table of the handout, with its last row."""
    q, k, v = column(1), column(1, 3, 2), column(10, 20, 40)
    total = 1 + math.exp(-2) + math.exp(-1)
    o = (10 * math.exp(-2) + 20 + 40 * math.exp(-1)) / total

    for block in (1, 2, 64):
        got = student.flash_attention_torch(q, k, v, block=block)
        compare(got, attended([o], [3 + math.log(total)]))


@task("tiled", contract=10)
def test_scale_is_the_root_of_the_width(student):
    """q and k of four ones each: the score is 4 / sqrt(4) = 2."""
    ones = torch.ones(1, 1, 1, 4)

    got = student.flash_attention_torch(ones, ones, 5 * ones)

    compare(got, (5 * ones.double(), torch.tensor([[[2.0]]]).double()))


@task("tiled", contract=11)
@FULL_AND_CAUSAL
@pytest.mark.parametrize(("T", "S"), [(1, 1), (5, 70), (70, 5), (64, 64), (65, 129)])
def test_lengths_that_no_block_divides(student, draw, T, S, causal):
    """One block of keys, less, and a few more, for as many queries or others."""
    qkv = drawn(draw, T, S, H=2, B=2)

    compare(student.flash_attention_torch(*qkv, causal=causal), plain(*qkv, causal))


@task("tiled", contract=11)
@pytest.mark.parametrize(("B", "T"), [(0, 3), (2, 0)], ids=["no sequence", "no query"])
def test_tiled_without_rows(student, draw, B, T):
    """Without sequences, or queries, o and lse are empty."""
    qkv = drawn(draw, T, 5, B=B)

    compare(student.flash_attention_torch(*qkv), plain(*qkv))


@task("tiled", contract=12)
@pytest.mark.parametrize("block", [1, 2, 5, 7, 1000])
def test_block_does_not_matter(student, draw, block):
    """Seven keys in tiles of one, of two, of five, and in one tile; by name and by position."""
    qkv = drawn(draw, 4, 7, H=2)

    for causal in (False, True):
        got = student.flash_attention_torch(*qkv, causal=causal, block=block)
        compare(got, plain(*qkv, causal))
    compare(student.flash_attention_torch(*qkv, False, block), plain(*qkv))


@task("tiled", contract=12)
def test_tiles_of_64_keys_unless_told(student, draw):
    """Without block a tile has 64 keys for each of 100 rows, and may have half as much again."""
    qkv = drawn(draw, 100, 300, D=2)

    attend = functools.partial(student.flash_attention_torch, *qkv)
    got = assert_small(student, attend, 100 * 96, "T = 100, S = 300, H = 1, no block")

    compare(got, plain(*qkv))


@task("tiled", contract=13)
@pytest.mark.parametrize(("T", "counts"), [(2, (3, 4)), (4, (1, 2, 3, 4)), (6, (0, 0, 1, 2, 3, 4))])
def test_tiled_last_query_sees_the_last_key(student, T, counts):
    """Of four keys row t sees so many under causal, and all without."""
    qkv = powers(T, 4)

    for block in (1, 3, 64):
        got = student.flash_attention_torch(*qkv, causal=True, block=block)
        compare(got, same_values(*counts))
    compare(student.flash_attention_torch(*qkv), same_values(*[4] * T))


@task("tiled", contract=14)
def test_tiled_rows_that_see_nothing(student):
    """Four queries and two keys, causal; three queries and no keys."""
    for block in (1, 64):
        got = student.flash_attention_torch(*powers(4, 2), causal=True, block=block)
        compare(got, same_values(0, 0, 1, 2))
    for causal in (False, True):
        compare(student.flash_attention_torch(*powers(3, 0), causal=causal), same_values(0, 0, 0))


@task("tiled", contract=15)
@pytest.mark.parametrize(("H", "G"), [(6, 1), (6, 2), (6, 3), (6, 6)])
def test_tiled_neighbours_share_a_key_head(student, H, G):
    """Head h gets the value of key head h // (H / G): for H = 6, G = 2 it is 1 1 1 2 2 2."""
    qkv, want = by_head(H, G)

    compare(student.flash_attention_torch(*qkv), want)


@task("tiled", contract=16)
@pytest.mark.parametrize("level", [10_000.0, -10_000.0, 100.0, -100.0])
def test_tiled_level_cancels(student, level):
    """Scores 10000, 10001, 10003 weigh like 0, 1, 3, in one tile or in three."""
    for block in (1, 64):
        attend = functools.partial(student.flash_attention_torch, block=block)
        assert_lifted(attend, level)


@task("tiled", contract=17)
@pytest.mark.parametrize("step", [1.0, -1.0, 20.0, -20.0], ids=lambda x: f"step {x:g}")
def test_tiled_maximum_on_the_move(student, step):
    """Scores rise or fall from tile to tile: a new maximum shrinks what was there."""
    qkv = slope(step, 9)

    compare(student.flash_attention_torch(*qkv, block=2), plain(*qkv))


@task("tiled", contract=18)
@LOW
def test_tiled_o_is_narrow_and_lse_is_not(student, draw, dtype):
    """o has q's dtype, lse is float32 and exact."""
    q, k, v = (x.to(dtype) for x in drawn(draw, 3, 9))

    compare(student.flash_attention_torch(q, k, v, block=4), plain(q, k, v), dtype)


@task("tiled", contract=18)
def test_tiled_scores_are_float32(student):
    """300 * 300 is more than float16 has; bfloat16 has no number between 290 and 292."""
    q, k, v = column(300).half(), column(300, 299.5, 250).half(), column(1, 2, 3).half()
    compare(student.flash_attention_torch(q, k, v), plain(q, k, v), torch.float16)

    q, k, v = column(17).bfloat16(), column(17, 17.125).bfloat16(), column(1, 2).bfloat16()
    compare(student.flash_attention_torch(q, k, v), plain(q, k, v), torch.bfloat16)


@task("tiled", contract=18)
@pytest.mark.parametrize(
    ("dtype", "first"), [(torch.float16, 7.75), (torch.bfloat16, 5.625)], ids=["half", "bfloat16"]
)
def test_tiled_sums_are_float32(student, dtype, first):
    """One heavy key, then 60 of score 0, each too light for a sum in q's dtype to notice."""
    q, k = column(1).to(dtype), column(first, *[0.0] * 60).to(dtype)
    v = column(0.125, *[1.0] * 60).to(dtype)

    compare(student.flash_attention_torch(q, k, v, block=1), plain(q, k, v), dtype)


@task("tiled", contract=19)
@FULL_AND_CAUSAL
def test_tiled_views(student, draw, causal):
    """q, k and v may be transposed, strided, expanded, among NaN."""
    q, k, v = drawn(draw, 5, 9, H=4, G=2, B=2)

    for views in (
        (among_nan(q), among_nan(k, 2), among_nan(v)),
        (among_nan(q, 3), k, v.mT.contiguous().mT),
        (q[:, :1].expand_as(q), k[:1].expand_as(k), v),
    ):
        got = student.flash_attention_torch(*views, causal=causal, block=4)
        compare(got, plain(*views, causal))


@task("tiled", contract=20)
@pytest.mark.parametrize("keys", [1, 9])
def test_tiled_arguments_stay_as_they_were(student, draw, keys):
    """q, k and v are as before, and o is none of them: not v either, where there is one key."""
    assert_left_as_they_were(student, "flash_attention_torch", drawn(draw, 3, keys))


@task("tiled", contract=20)
def test_tiled_calls_do_not_share_results(student):
    """Two calls of one shape, then a look at both results."""
    cases = [slope(1.0, 5), slope(-1.0, 5)]

    got = expect(student.together("flash_attention_torch", *cases), list[Pair])

    for result, qkv in zip(got, cases, strict=True):
        compare(result, plain(*qkv))


@task("tiled", contract=21)
@FULL_AND_CAUSAL
@pytest.mark.parametrize(("T", "S"), [(128, 128), (64, 64), (10, 256)])
def test_tile_has_at_most_block_keys(student, draw, T, S, causal):
    """Eight keys for each row, a mask for them, and half as much again; or k and v, and half."""
    qkv = drawn(draw, T, S, D=2)

    attend = functools.partial(student.flash_attention_torch, *qkv, causal=causal, block=8)
    case = f"T = {T}, S = {S}, H = 1, block = 8"
    got = assert_small(student, attend, max(12 * T, 6 * S), case)

    compare(got, plain(*qkv, causal), room=1e-6)


@task("tiled", contract=22)
def test_no_attention_of_torch(student, draw):
    """torch's attention does not run inside, under whatever name."""
    qkv = drawn(draw, 3, 5)

    with student.guard():
        got = student.flash_attention_torch(*qkv)

    compare(got, plain(*qkv))


# --- Task 3: triton --------------------------------------------------------------------------


@task("triton", contract=23)
def test_example_of_the_kernel(student):
    """Scores 1, 3, 2 and values 10, 20, 40, as in the table of the tiles."""
    got = student.flash_attention(column(1), column(1, 3, 2), column(10, 20, 40))

    compare(got, plain(column(1), column(1, 3, 2), column(10, 20, 40)))


@task("triton", contract=23)
@FULL_AND_CAUSAL
def test_kernel_for_16_queries_and_keys(student, draw, causal):
    """One head, T = S = D = 16, float32: where to begin."""
    qkv = drawn(draw, 16, 16, 16)

    compare(student.flash_attention(*qkv, causal=causal), plain(*qkv, causal))


@task("triton", contract=24)
@FULL_AND_CAUSAL
@pytest.mark.parametrize(("T", "S"), [(1, 1), (1, 70), (20, 33), (70, 5), (130, 17), (5, 140)])
def test_kernel_for_lengths_that_no_block_divides(student, draw, T, S, causal):
    """A few rows, or more than a block of them; the same for keys."""
    qkv = drawn(draw, T, S, 16)

    compare(student.flash_attention(*qkv, causal=causal), plain(*qkv, causal))


@task("triton", contract=38)
@ORDERS
@FULL_AND_CAUSAL
def test_kernel_with_programs_in_any_order(student, draw, causal, order):
    """In any order, or at once as on a GPU, programs write apart and stay within tensors."""
    qkv = drawn(draw, 70, 37, 24)

    with student.sound_kernels(order):
        got = student.flash_attention(*qkv, causal=causal)

    compare(got, plain(*qkv, causal))


@task("triton", contract=38)
@pytest.mark.parametrize("batches", [True, False], ids=["sequences", "rows"])
def test_sequences_or_rows_that_lie_far_apart(student, draw, batches):
    """The last one begins 2**31 elements behind the first: such an offset needs int64."""
    shape, steps = ((5, 1, 3), (2**29, 24, 8, 1)) if batches else ((1, 1, 5), (8, 8, 2**29, 1))
    qkv = [draw.normal(*shape, 8, dtype=torch.float16) for _ in range(3)]

    with student.sound_kernels():
        got = student.flash_attention(*(student.far(x, *steps) for x in qkv))

    compare(got, plain(*qkv), torch.float16, room=0.001)


@task("triton", contract=38)
def test_70000_heads_are_a_grid(student):
    """No axis of a grid but the first has more than 65,535 programs; none runs here."""
    x = torch.ones(1, 1, 1, 16).expand(350, 200, 1, 16)

    with student.grids_alone():
        student.flash_attention(x, x, x)


@task("triton", contract=24)
@pytest.mark.parametrize(("B", "T"), [(0, 3), (2, 0)], ids=["no sequence", "no query"])
def test_kernel_without_rows(student, draw, B, T):
    """Without sequences, or queries, o and lse are empty."""
    qkv = drawn(draw, T, 5, B=B)

    compare(student.flash_attention(*qkv), plain(*qkv))


@task("triton", contract=25)
@pytest.mark.parametrize("D", [1, 3, 16, 40, 80, 200, 256])
def test_kernel_for_a_width_of_any_kind(student, draw, D):
    """D need be no power of two, nor a multiple of 16."""
    qkv = drawn(draw, 3, 5, D)

    compare(student.flash_attention(*qkv), plain(*qkv))


@task("triton", contract=26)
@pytest.mark.parametrize(("T", "counts"), [(2, (3, 4)), (4, (1, 2, 3, 4)), (6, (0, 0, 1, 2, 3, 4))])
def test_kernel_last_query_sees_the_last_key(student, T, counts):
    """Of four keys row t sees so many under causal, and all without."""
    qkv = powers(T, 4)

    compare(student.flash_attention(*qkv, causal=True), same_values(*counts))
    compare(student.flash_attention(*qkv), same_values(*[4] * T))


@task("triton", contract=26)
@pytest.mark.parametrize(("T", "S"), [(40, 140), (140, 40), (140, 140)])
def test_causal_kernel_over_several_blocks(student, draw, T, S):
    """Blocks that no row sees may be skipped, others may go without a mask: none too many."""
    qkv = drawn(draw, T, S, 16)

    compare(student.flash_attention(*qkv, causal=True), plain(*qkv, True))


@task("triton", contract=27)
def test_kernel_rows_that_see_nothing(student):
    """Three queries and two keys, causal, as in the handout; 140 and two; three and no keys."""
    compare(student.flash_attention(*powers(3, 2), causal=True), same_values(0, 1, 2))
    compare(student.flash_attention(*powers(140, 2), causal=True), same_values(*[0] * 138, 1, 2))
    for causal in (False, True):
        compare(student.flash_attention(*powers(3, 0), causal=causal), same_values(0, 0, 0))


@task("triton", contract=28)
@pytest.mark.parametrize(("H", "G"), [(4, 1), (4, 2), (4, 4)])
def test_kernel_neighbours_share_a_key_head(student, draw, H, G):
    """Head h gets the value of key head h // (H / G); then two sequences of random heads."""
    qkv, want = by_head(H, G)

    compare(student.flash_attention(*qkv), want)
    qkv = drawn(draw, 2, 3, 4, H, G, B=2)
    compare(student.flash_attention(*qkv), plain(*qkv))


@task("triton", contract=29)
@pytest.mark.parametrize("scale", [None, 1.0, 0.25, 0.0, -1.5], ids=lambda x: f"scale {x}")
def test_scale_is_yours_to_choose(student, draw, scale):
    """Any number will do; without one, or with None, it is 1 / sqrt(D)."""
    qkv = drawn(draw, 3, 5, 4)

    compare(student.flash_attention(*qkv, scale=scale), plain(*qkv, scale=scale))
    compare(student.flash_attention(*qkv, True, scale), plain(*qkv, True, scale))


@task("triton", contract=30)
@pytest.mark.parametrize("scale", [1.0, -1.0], ids=lambda x: f"scale {x:g}")
@pytest.mark.parametrize("level", [10_000.0, -10_000.0, 100.0, -100.0])
def test_kernel_level_cancels(student, level, scale):
    """Scores 10000, 10001, 10003 weigh like 0, 1, 3, also where a negative scale makes them so."""
    assert_lifted(lambda q, k, v: student.flash_attention(q * scale, k, v, scale=scale), level)


@task("triton", contract=30)
@pytest.mark.parametrize("score", [1_000_000.0, -1_000_000.0])
def test_one_key_of_any_score(student, score):
    """The only key has all the weight, and lse is its score, however large or small that is."""
    got = student.flash_attention(column(1), column(score), column(3), scale=1.0)

    compare(got, attended([3], [score]))


@task("triton", contract=30)
@pytest.mark.parametrize("scale", [1.0, -1.0], ids=lambda x: f"scale {x:g}")
def test_best_key_thousands_above_the_others(student, scale):
    """Scores 0, 5000, -5000, 4000: o is the value of the second key."""
    q, k, v = column(scale), column(0, 5000, -5000, 4000), column(1, 2, 3, 4)

    compare(student.flash_attention(q, k, v, scale=scale), attended([2], [5000]))


@task("triton", contract=31)
@pytest.mark.parametrize("step", [0.25, -0.25, 4.0, -4.0], ids=lambda x: f"step {x:g}")
def test_kernel_maximum_on_the_move(student, step):
    """Scores rise or fall from block to block: a new maximum shrinks what was there."""
    qkv = slope(step, 200)

    compare(student.flash_attention(*qkv), plain(*qkv), room=1e-5)


@task("triton", contract=32)
@LOW
def test_kernel_o_is_narrow_and_lse_is_not(student, draw, dtype):
    """o has q's dtype, lse is float32 and exact."""
    q, k, v = (x.to(dtype) for x in drawn(draw, 3, 20, 16))

    compare(student.flash_attention(q, k, v), plain(q, k, v), dtype)


@task("triton", contract=32)
def test_kernel_scores_are_float32(student):
    """300 * 300 is more than float16 has; bfloat16 has no number between 290 and 292."""
    q, k, v = column(300).half(), column(300, 299.5, 250).half(), column(1, 2, 3).half()
    compare(student.flash_attention(q, k, v), plain(q, k, v), torch.float16, room=0.005)

    q, k, v = column(17).bfloat16(), column(17, 17.125).bfloat16(), column(1, 2).bfloat16()
    compare(student.flash_attention(q, k, v), plain(q, k, v), torch.bfloat16)


@task("triton", contract=32)
def test_kernel_sums_are_float32(student):
    """One heavy key, then 1000 of score 0: a block of them is too light for a bfloat16 sum."""
    q, k = column(1).bfloat16(), column(11, *[0.0] * 1000).bfloat16()
    v = column(1.5, *[-3.0] * 1000).bfloat16()

    compare(student.flash_attention(q, k, v), plain(q, k, v), torch.bfloat16)


@task("triton", contract=33)
@FULL_AND_CAUSAL
@pytest.mark.parametrize("D", [5, 16])
def test_kernel_among_nan(student, draw, D, causal):
    """NaN before, behind and beside the rows of q, k and v."""
    q, k, v = drawn(draw, 9, 20, D, H=2, B=2)

    got = student.flash_attention(among_nan(q), among_nan(k), among_nan(v), causal=causal)

    compare(got, plain(q, k, v, causal))


@task("triton", contract=34)
def test_kernel_views(student, draw):
    """Each of q, k and v may have strides of its own, along D too, or a head expanded to all."""
    q, k, v = drawn(draw, 5, 9, 4, H=2, G=2, B=2)

    for views in (
        (among_nan(q), k.mT.contiguous().mT, v),
        (among_nan(q, 2), k, among_nan(v, 3)),
        (q[:, :1].expand_as(q), k[:1].expand_as(k), v[:, 1:].expand_as(v)),
    ):
        compare(student.flash_attention(*views), plain(*views))


@task("triton", contract=35)
@pytest.mark.parametrize("keys", [1, 9])
def test_kernel_arguments_stay_as_they_were(student, draw, keys):
    """q, k and v are as before, and o is none of them."""
    assert_left_as_they_were(student, "flash_attention", drawn(draw, 3, keys))


@task("triton", contract=35)
def test_kernel_calls_do_not_share_results(student):
    """Two calls of one shape, then a look at both results."""
    cases = [slope(1.0, 5), slope(-1.0, 5)]

    got = expect(student.together("flash_attention", *cases), list[Pair])

    for result, qkv in zip(got, cases, strict=True):
        compare(result, plain(*qkv))


PRODUCTS = {"mm", "bmm", "mv", "dot", "addmm", "baddbmm", "linear"}


def assert_by_kernel(student: Any, call: Callable[[], Any], want: Any, *names: str) -> None:
    """Fail where results are right although no kernel of yours runs, or where torch multiplies."""
    assert_from_kernels(student, call, want, *names)
    with student.guard(), student.operators() as operators, student.launches() as launches:
        call()
    check(launches.total > 0, "no Triton kernel was launched, expected one at least")
    found = sorted(PRODUCTS & {*operators.seen})
    check(not found, f"torch ran {', '.join(found)}, expected products in your kernels alone")


@task("triton", contract=36)
@pytest.mark.parametrize(
    ("T", "D", "options"),
    [
        *[(9, 16, {}), (9, 16, {"causal": True}), (1, 16, {}), (9, 3, {}), (9, 256, {})],
        (9, 16, {"scale": -0.5}),
    ],
    ids=["full", "causal", "one query", "narrow", "wide", "a scale"],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_results_are_those_of_a_kernel(student, draw, T, D, options, dtype):
    """While none of your kernels runs, o and lse are wrong."""
    q, k, v = (x.to(dtype) for x in drawn(draw, T, 7, D))

    want = plain(q, k, v, **options)
    assert_by_kernel(student, lambda: student.flash_attention(q, k, v, **options), want, "o", "lse")


@task("triton", contract=37)
@FULL_AND_CAUSAL
def test_kernel_makes_nothing_large(student, draw, causal):
    """For 200 queries and keys no tensor has 200 x 200 elements, nor has a mask."""
    qkv = drawn(draw, 200, 200, 4)

    attend = functools.partial(student.flash_attention, *qkv, causal=causal)
    compare(assert_small(student, attend, 200 * 200 - 1, "T = S = 200"), plain(*qkv, causal))


# An A100 and an H100.
LAUNCHED = pytest.mark.parametrize(
    ("dtype", "gpu"), [(torch.float32, "sm_80"), (torch.bfloat16, "sm_90")], ids=str
)


@task("triton", contract=39)
@LAUNCHED
def test_kernel_compiles(student, draw, dtype, gpu):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    q, k, v = (x.to(dtype) for x in drawn(draw, 9, 17, 16))

    with student.compilable_kernels(gpu):
        got = student.flash_attention(q, k, v, causal=True)

    compare(got, plain(q, k, v, True), dtype)


# --- Task 4: varlen --------------------------------------------------------------------------


def starts(lengths: list[int]) -> Tensor:
    """Starts of sequences that lie one behind the other: 0, then the ends of all."""
    return torch.tensor([0, *lengths]).cumsum(0).int()


def packed(draw: Any, lengths: Any, D: int = 8, H: int = 1, G: int = 1) -> Qkv:
    """Draw q [total, H, D], k and v [total, G, D] for lengths of queries and of keys."""
    total, of_keys = map(sum, lengths)
    return draw.normal(total, H, D), draw.normal(of_keys, G, D), draw.normal(of_keys, G, D)


def one_by_one(qkv: Qkv, lengths: Any, causal: bool) -> Tensor:
    """Plain attention of each sequence by itself."""
    want, first, first_key = torch.zeros(qkv[0].shape).double(), 0, 0
    for rows, keys in zip(*lengths, strict=True):
        own, seen = slice(first, first + rows), slice(first_key, first_key + keys)
        parts = (qkv[0][own], qkv[1][seen], qkv[2][seen])
        q, k, v = (x.transpose(0, 1)[None] for x in parts)
        o, _ = plain(q, k, v, causal)
        want[own] = o[0].transpose(0, 1)
        first, first_key = first + rows, first_key + keys
    return want


def compare_packed(student: Any, qkv: Qkv, lengths: Any, causal: bool, room: float = 0.0) -> None:
    """Call flash_attention_varlen, and compare each sequence with plain attention."""
    got = student.flash_attention_varlen(*qkv, *map(starts, lengths), causal=causal)
    want = one_by_one(qkv, lengths, causal)
    assert_close(got, want, "attention", like=qkv[0], inner=1024, trusted=want + room, what="o")


@task("varlen", contract=40)
def test_example_of_packed_sequences(student):
    """The second sequence has no query, the third no key: its rows are 0."""
    q, values = torch.zeros(3, 1, 1), torch.tensor([1.0, 2.0, 6.0]).reshape(3, 1, 1)

    got = student.flash_attention_varlen(
        q, values * 0, values, starts([2, 0, 1]), starts([2, 1, 0]), causal=True
    )

    want = torch.tensor([1.0, 1.5, 0.0]).double().reshape(3, 1, 1)
    assert_close(got, want, "attention", inner=1024, what="o")


@task("varlen", contract=40)
@FULL_AND_CAUSAL
def test_sequences_get_what_they_would_get_alone(student, draw, causal):
    """Three sequences of 4, 9 and 2 tokens."""
    lengths = [4, 9, 2], [4, 9, 2]

    compare_packed(student, packed(draw, lengths), lengths, causal)


@task("varlen", contract=41)
def test_short_sequences_beside_long_ones(student, draw):
    """More keys than queries, and fewer; one long sequence, whose last rows count as well."""
    for lengths in (([3, 1, 20], [9, 5, 2]), ([1, 140, 2], [30, 4, 80])):
        compare_packed(student, packed(draw, lengths), lengths, False)


@task("varlen", contract=42)
def test_each_last_query_sees_its_own_last_key(student, draw):
    """Causal counts from each sequence's own end; it may be passed by position, or left out."""
    for lengths in (([3, 1, 20], [9, 5, 2]), ([2, 70, 5], [30, 75, 5])):
        qkv, cuts = packed(draw, lengths), [*map(starts, lengths)]
        compare_packed(student, qkv, lengths, True)

    got = student.flash_attention_varlen(*qkv, *cuts, True)
    assert_close(got, one_by_one(qkv, lengths, True), "attention", inner=1024, what="o")
    got = student.flash_attention_varlen(*qkv, *cuts)
    assert_close(got, one_by_one(qkv, lengths, False), "attention", inner=1024, what="o")


@task("varlen", contract=52)
@ORDERS
@FULL_AND_CAUSAL
def test_packed_programs_in_any_order(student, draw, causal, order):
    """In any order, or at once as on a GPU, programs write apart and stay within tensors."""
    lengths = [3, 70, 0], [9, 75, 2]

    with student.sound_kernels(order):
        compare_packed(student, packed(draw, lengths), lengths, causal)


@task("varlen", contract=52)
def test_packed_sequences_that_lie_far_apart(student, draw):
    """A sequence may begin 2**31 elements behind the first row: such an offset needs int64."""
    lengths = [3, 1, 2], [3, 1, 2]
    qkv = tuple(draw.normal(6, 1, 8, dtype=torch.float16) for _ in range(3))
    apart = [student.far(x, 2**29, 8, 1) for x in qkv]

    with student.sound_kernels():
        got = student.flash_attention_varlen(*apart, *map(starts, lengths))

    want = one_by_one(qkv, lengths, False)
    assert_close(got, want, "attention", like=qkv[0], inner=1024, trusted=want + 0.001, what="o")


@task("varlen", contract=43)
@FULL_AND_CAUSAL
@pytest.mark.parametrize(
    "lengths",
    [
        *[([0, 3, 0, 2], [4, 3, 0, 2]), ([2, 3, 1], [0, 5, 0]), ([2, 1], [0, 0])],
        *[([0, 0], [3, 1]), ([0], [0]), ([], [])],
    ],
    ids=str,
)
def test_sequences_of_nothing(student, draw, lengths, causal):
    """Queries without keys, keys without queries, neither; and no sequences at all."""
    compare_packed(student, packed(draw, lengths), lengths, causal)


@task("varlen", contract=44)
@pytest.mark.parametrize(("D", "H", "G"), [(1, 2, 2), (40, 4, 2), (80, 2, 1), (256, 1, 1)])
def test_packed_heads_of_any_width(student, draw, D, H, G):
    """Widths and key heads as in the kernel before."""
    lengths = [3, 5], [6, 5]

    compare_packed(student, packed(draw, lengths, D, H, G), lengths, True)


@task("varlen", contract=45)
@LOW
def test_packed_o_has_the_dtype_of_q(student, draw, dtype):
    """Low precision in, low precision out, and float32 between."""
    lengths = [3, 5], [20, 5]
    q, k, v = (x.to(dtype) for x in packed(draw, lengths))

    compare_packed(student, (q, k, v), lengths, True)


@task("varlen", contract=45)
def test_packed_sums_are_float32(student):
    """One heavy key, then 1000 of score 0, as for the kernel before."""
    q, k = torch.ones(1, 1, 1), torch.tensor([11, *[0.0] * 1000]).reshape(-1, 1, 1)
    v = torch.tensor([1.5, *[-3.0] * 1000]).reshape(-1, 1, 1)

    compare_packed(student, (q.bfloat16(), k.bfloat16(), v.bfloat16()), ([1], [1001]), False)


@task("varlen", contract=45)
@pytest.mark.parametrize(
    ("q", "keys", "dtype"),
    [(300, (300, 299.5), torch.float16), (17, (17, 17.125), torch.bfloat16)],
    ids=["half", "bfloat16"],
)
def test_packed_scores_are_float32s(student, q, keys, dtype):
    """300 * 300 is more than float16 has; bfloat16 has no number between 290 and 292."""
    qkv = (x[0].transpose(0, 1).to(dtype) for x in (column(q), column(*keys), column(1, 2)))

    compare_packed(student, tuple(qkv), ([1], [2]), False)


@task("varlen", contract=46)
@pytest.mark.parametrize("level", [10_000.0, -10_000.0, 100.0, -100.0])
def test_packed_level_cancels(student, level):
    """Scores 10000, 10001, 10003 weigh like 0, 1, 3, beside a sequence of small scores."""
    q, k, v = (x[0].transpose(0, 1) for x in lifted(level)[0])
    others = torch.tensor([1.0, 2.0]).reshape(2, 1, 1)
    qkv = torch.cat((others, q)), torch.cat((others, k)), torch.cat((others, v))

    compare_packed(student, qkv, ([2, 1], [2, 3]), False, room=0.001)


@task("varlen", contract=46)
@pytest.mark.parametrize("step", [0.25, -0.25, 50.0, -50.0], ids=lambda x: f"step {x:g}")
def test_packed_maximum_on_the_move(student, step):
    """Scores rise or fall by a step from key to key, in the first sequence and in the second."""
    (q, k, v), lengths = (x[0].transpose(0, 1) for x in slope(step, 140)), ([1, 1], [70, 70])

    compare_packed(student, (q.expand(2, 1, 1), k, v), lengths, False, room=1e-5)


@task("varlen", contract=47)
@FULL_AND_CAUSAL
def test_sequences_among_nan(student, draw, causal):
    """The first and the last sequence are NaN: the one between them does not notice."""
    lengths = [3, 5, 4], [6, 9, 2]
    q, k, v = packed(draw, lengths)
    for x in (q, k, v):
        x[:3] = math.nan
    k[3:6], v[3:6] = math.nan, math.nan
    q[8:], k[15:], v[15:] = math.nan, math.nan, math.nan

    got = expect(
        student.flash_attention_varlen(q, k, v, *map(starts, lengths), causal=causal), Tensor
    )

    check(got.shape == q.shape, f"o has shape {list(got.shape)}, expected {list(q.shape)}")
    want = one_by_one((q[3:8], k[6:15], v[6:15]), ([5], [9]), causal)
    assert_close(got[3:8], want, "attention", inner=1024, what="o of the sequence between")


@task("varlen", contract=48)
@FULL_AND_CAUSAL
def test_packed_views(student, draw, causal):
    """q, k and v may be slices of one projection [total, H + 2 G, D], or columns first."""
    lengths = [7, 2], [7, 2]
    q, k, v = draw.normal(9, 4, 8).split([2, 1, 1], 1)

    compare_packed(student, (q, k, v), lengths, causal)
    compare_packed(student, (q.mT.contiguous().mT, k, v.expand(9, 2, 8)[:, 1:]), lengths, causal)


@task("varlen", contract=49)
def test_packed_arguments_stay_as_they_were(student, draw):
    """q, k, v and the starts are as before, and o is none of them."""
    values = (*packed(draw, ([3, 1], [3, 1])), starts([3, 1]), starts([3, 1]))
    names = "q", "k", "v", "cu_seqlens_q", "cu_seqlens_k"

    assert_left_as_they_were(student, "flash_attention_varlen", values, names)


@task("varlen", contract=49)
def test_packed_calls_share_nothing(student, draw):
    """140 queries in two sequences, in two others, then in one: each result is right at the end."""
    several = ([70, 70], [3, 5]), ([139, 1], [4, 4]), ([140], [8])
    packs = [packed(draw, lengths) for lengths in several]
    cases = [(*qkv, *map(starts, n)) for qkv, n in zip(packs, several, strict=True)]

    got = expect(student.together("flash_attention_varlen", *cases), list[Tensor])

    for o, qkv, lengths in zip(got, packs, several, strict=True):
        assert_close(o, one_by_one(qkv, lengths, False), "attention", inner=1024, what="o")


@task("varlen", contract=50)
@pytest.mark.parametrize("lengths", [([4, 9], [5, 9]), ([1, 1, 1], [4, 7, 2])], ids=str)
def test_packed_results_are_those_of_a_kernel(student, draw, lengths):
    """While none of your kernels runs, o is wrong; with one query a sequence too."""
    qkv, cuts = packed(draw, lengths), [*map(starts, lengths)]

    want = [one_by_one(qkv, lengths, True)]
    assert_by_kernel(student, lambda: student.flash_attention_varlen(*qkv, *cuts, True), want, "o")


@task("varlen", contract=51)
def test_packed_call_makes_nothing_large(student, draw):
    """Thirty sequences of one token and one of 120: padding would take 31 x 120 rows of 8."""
    lengths = [*[1] * 30, 120], [*[1] * 30, 120]
    qkv, cuts = packed(draw, lengths), [*map(starts, lengths)]

    attend = functools.partial(student.flash_attention_varlen, *qkv, *cuts, causal=True)
    got = assert_small(student, attend, 120 * 120 - 1, "30 sequences of length 1 and one of 120")

    assert_close(got, one_by_one(qkv, lengths, True), "attention", inner=1024, what="o")


@task("varlen", contract=53)
@LAUNCHED
def test_packed_kernel_compiles(student, draw, dtype, gpu):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    lengths = [3, 9], [9, 17]
    qkv = tuple(x.to(dtype) for x in packed(draw, lengths, 16))

    with student.compilable_kernels(gpu):
        compare_packed(student, qkv, lengths, True)
