"""Public tests of lab 05: the examples of the handout and more of their kind, by its numbers."""

import math
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from grader.suite import (
    NotGraded,
    Proxy,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    describe,
    expect,
    task,
)

LOW = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])
OTHERS = pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64], ids=["half", "bfloat16", "double"]
)


def column(*numbers: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """Keys or values of one sequence, one head, one number a token: [1, 1, T, 1]."""
    return torch.tensor(numbers, dtype=dtype)[None, None, :, None]


# --- Tasks 1 and 2: what both caches have in common ------------------------------------------


def growing(student) -> Proxy:
    return expect(student.GrowingCache(), Proxy, "GrowingCache()")


def static(student, device, max_len, batch=1, dtype=torch.float32) -> Proxy:
    """A cache for one head of width 1."""
    cache = student.StaticCache(batch, 1, max_len, 1, dtype, torch.device(device))
    return expect(cache, Proxy, "StaticCache(...)")


def assert_update(cache: Proxy, new: list[float], held: list[float], dtype=torch.float32) -> None:
    """Add tokens with keys ``new`` and values that are 10 larger; ``held`` are those so far."""
    k, all_keys = column(*new, dtype=dtype), column(*held, dtype=dtype)

    keys, values = expect(cache.update(k, k + 10), tuple[Tensor, Tensor], "what update returns")

    assert_equal(keys, all_keys, "the keys")
    assert_equal(values, all_keys + 10, "the values")


def assert_length(cache: Proxy, want: int) -> None:
    assert_equal(expect(cache.length, int, "length"), want, "length")


def assert_refuses_rewind(student, cache: Proxy, n: int, held: list[float]) -> None:
    with student.raises(ValueError, naming="n"):
        cache.rewind(n)
    assert_length(cache, len(held))
    assert_update(cache, [9], [*held, 9])


def assert_copied(student, cache: Proxy) -> None:
    """k and v are views of a large tensor: who keeps them keeps all of it."""
    large = torch.zeros(1, 1, 300_000, 1)
    before = student.held_bytes()

    expect(cache.update(large[:, :, :1], large[:, :, 1:2]), tuple[Tensor, Tensor])

    more = student.held_bytes() - before
    text = f"after update of views of a large tensor {more} bytes more are held, expected few"
    check(more < 600_000, f"{text}: the cache keeps k or v themselves, not a copy")


def numbered(batch: int, groups: int, new: int, width: int) -> Tensor:
    """[B, G, T, D] with a number of its own in each place, seen through a transpose."""
    numbers = torch.arange(batch * groups * new * width, dtype=torch.float32)
    return numbers.view(batch, new, groups, width).transpose(1, 2)


def assert_takes_views(
    student, cache: Proxy, batch: int, groups: int, width: int, kept=torch.float32
) -> None:
    """A transposed tensor gives what its copy gives, and stays as it was."""
    k = numbered(batch, groups, 3, width)
    v = k + 100
    watched = student.watch(k), student.watch(v)

    keys, values = expect(cache.update(*watched), tuple[Tensor, Tensor], "what update returns")

    assert_equal(keys, k.contiguous().to(kept), "the keys")
    assert_equal(values, v.contiguous().to(kept), "the values")
    for argument, name in zip(watched, "kv", strict=True):
        assert_unmodified(argument, name)


# --- Task 1: growing -------------------------------------------------------------------------


@task("growing", contract=1)
def test_growing_cache_of_the_handout(student):
    """Two tokens, one more, and three more at once: each time all so far come back."""
    cache = growing(student)

    assert_update(cache, [1, 2], [1, 2])
    assert_update(cache, [3], [1, 2, 3])
    assert_update(cache, [4, 5, 6], [1, 2, 3, 4, 5, 6])


@task("growing", contract=1)
def test_tokens_are_the_third_axis(student):
    """Two sequences, three heads of width 4: seven tokens that come as 3, 1, 1 and 2."""
    cache, k = growing(student), numbered(2, 3, 7, 4).contiguous()

    for start, end in ((0, 3), (3, 4), (4, 5), (5, 7)):
        pair = cache.update(k[:, :, start:end].contiguous(), -k[:, :, start:end])
        keys, values = expect(pair, tuple[Tensor, Tensor], "what update returns")
        assert_equal(keys, k[:, :, :end].contiguous(), "the keys")
        assert_equal(values, -k[:, :, :end], "the values")


@task("growing", contract=2)
def test_length_of_a_growing_cache(student):
    """0, then 2 and 3 as tokens come, and 1 when two of them are dropped."""
    cache = growing(student)

    assert_length(cache, 0)
    cache.update(column(1, 2), column(5, 6))
    assert_length(cache, 2)
    cache.update(column(3), column(7))
    assert_length(cache, 3)
    cache.rewind(2)
    assert_length(cache, 1)


def assert_holds_zeros(cache: Proxy) -> None:
    """Keys of 0 are keys, wherever they stand; four tokens came and one was dropped."""
    assert_update(cache, [0], [0])
    assert_update(cache, [0, 5], [0, 0, 5])
    assert_update(cache, [0], [0, 0, 5, 0])
    assert_length(cache, 4)
    cache.rewind(1)
    assert_length(cache, 3)
    assert_update(cache, [6], [0, 0, 5, 6])


@task("growing", contract=2)
def test_keys_of_zero_in_a_growing_cache(student):
    """What a cache holds is told by nothing but what came: keys of 0 are keys."""
    assert_holds_zeros(growing(student))


@task("growing", contract=3)
def test_growing_rewind_and_go_on(student):
    """rewind(2) drops 3 and half of an earlier chunk; 9 takes their place, then 8 that of 9."""
    cache = growing(student)

    assert_update(cache, [1, 2], [1, 2])
    assert_update(cache, [3], [1, 2, 3])
    cache.rewind(2)
    assert_update(cache, [9], [1, 9])
    cache.rewind(1)
    assert_update(cache, [8, 7], [1, 8, 7])


@task("growing", contract=4)
def test_growing_rewind_of_none_and_of_all(student):
    """rewind(0) changes nothing; a cache of three that was rewound by three takes tokens again."""
    cache = growing(student)

    cache.rewind(0)
    assert_update(cache, [1, 2], [1, 2])
    cache.rewind(0)
    assert_update(cache, [3], [1, 2, 3])
    cache.rewind(3)
    assert_update(cache, [4], [4])
    cache.rewind(1)
    cache.rewind(0)
    assert_update(cache, [5, 6], [5, 6])


@task("growing", contract=5)
@pytest.mark.parametrize("n", [3, 50])
def test_growing_rewind_of_too_many(student, n):
    """A cache of two tokens, or of none, refuses to drop three; then all is as it was."""
    assert_refuses_rewind(student, growing(student), n, [])

    cache = growing(student)
    assert_update(cache, [1, 2], [1, 2])
    assert_refuses_rewind(student, cache, n, [1, 2])


@task("growing", contract=6)
@OTHERS
def test_growing_cache_returns_the_dtype_that_came(student, dtype):
    """What comes in float16 goes out in float16."""
    cache = growing(student)

    assert_update(cache, [1, 2], [1, 2], dtype)
    assert_update(cache, [3], [1, 2, 3], dtype)


@task("growing", contract=7)
def test_growing_cache_copies(student):
    """The first tokens are copied, and so are later ones."""
    cache = growing(student)

    assert_copied(student, cache)
    assert_copied(student, cache)


@task("growing", contract=8)
def test_growing_cache_takes_views(student):
    """Keys that are seen through a transpose, as those of a Llama are, come back as they are."""
    assert_takes_views(student, growing(student), 2, 3, 5)


@task("growing", contract=9)
def test_two_growing_caches(student):
    """Two caches are filled in turn, and one is emptied: neither sees the other's tokens."""
    one, two = growing(student), growing(student)

    assert_update(one, [1], [1])
    assert_update(two, [7, 8], [7, 8])
    assert_update(one, [2, 3], [1, 2, 3])
    one.rewind(3)
    assert_update(two, [9], [7, 8, 9])


# --- Task 2: static --------------------------------------------------------------------------


@task("static", contract=10)
def test_static_cache_of_the_handout(student, device):
    """There is room for eight tokens: those that came are returned, and nothing behind them."""
    cache = static(student, device, 8)

    assert_update(cache, [1, 2], [1, 2])
    assert_update(cache, [3], [1, 2, 3])
    assert_update(cache, [4, 5, 6], [1, 2, 3, 4, 5, 6])


@task("static", contract=10)
def test_static_sizes_have_their_places(student, device):
    """Two sequences, three heads of width 4: seven tokens that come as 3, 1, 1 and 2."""
    cache = student.StaticCache(2, 3, 9, 4, torch.float32, torch.device(device))
    expect(cache, Proxy, "StaticCache(...)")
    k = numbered(2, 3, 7, 4).contiguous()

    for start, end in ((0, 3), (3, 4), (4, 5), (5, 7)):
        pair = cache.update(k[:, :, start:end].contiguous(), -k[:, :, start:end])
        keys, values = expect(pair, tuple[Tensor, Tensor], "what update returns")
        assert_equal(keys, k[:, :, :end].contiguous(), "the keys")
        assert_equal(values, -k[:, :, :end], "the values")


@task("static", contract=11)
def test_length_of_a_static_cache(student, device):
    """0, then 2 and 3 as tokens come, 1 when two of them are dropped, and 0 after reset."""
    cache = static(student, device, 5)

    assert_length(cache, 0)
    cache.update(column(1, 2), column(5, 6))
    assert_length(cache, 2)
    cache.update(column(3), column(7))
    assert_length(cache, 3)
    cache.rewind(2)
    assert_length(cache, 1)
    cache.reset()
    assert_length(cache, 0)


@task("static", contract=11)
def test_keys_of_zero_in_a_static_cache(student, device):
    """Places that hold 0 may be empty or not: only what came says which."""
    assert_holds_zeros(static(student, device, 4))


@task("static", contract=12)
def test_three_tokens_fit_where_max_len_is_three(student, device):
    """Three at once, 2 and 1, or one by one."""
    assert_update(static(student, device, 3), [1, 2, 3], [1, 2, 3])

    cache = static(student, device, 3)
    assert_update(cache, [1, 2], [1, 2])
    assert_update(cache, [3], [1, 2, 3])

    cache = static(student, device, 3)
    assert_update(cache, [1], [1])
    assert_update(cache, [2], [1, 2])
    assert_update(cache, [3], [1, 2, 3])


@task("static", contract=13)
@pytest.mark.parametrize("new", [[3, 4], [3, 4, 5, 6, 7, 8, 9]], ids=["2 of 1", "7 of 1"])
def test_a_fourth_token_is_refused(student, device, new):
    """Where one more fits two are refused: length is still 2, nothing was written over."""
    cache = static(student, device, 3)

    assert_update(cache, [1, 2], [1, 2])
    with student.raises(ValueError, naming="max_len"):
        cache.update(column(*new), column(*new))
    assert_length(cache, 2)
    assert_update(cache, [3], [1, 2, 3])


@task("static", contract=13)
def test_a_fresh_cache_and_a_full_one_refuse_too(student, device):
    """Four tokens for a cache of three, and one for a cache that is full."""
    cache = static(student, device, 3)

    with student.raises(ValueError, naming="max_len"):
        cache.update(column(1, 2, 3, 4), column(1, 2, 3, 4))
    assert_update(cache, [5, 6, 7], [5, 6, 7])
    with student.raises(ValueError, naming="max_len"):
        cache.update(column(8), column(8))
    cache.rewind(1)
    assert_update(cache, [9], [5, 6, 9])


@task("static", contract=14)
@pytest.mark.parametrize("batch", [1, 3])
def test_other_sequences_are_refused(student, device, batch):
    """A cache for two sequences takes neither one nor three; then it takes two as before."""
    cache, k = static(student, device, 4, batch=2), column(1, 2).repeat(2, 1, 1, 1)

    for _ in range(2):
        with student.raises(ValueError, naming="batch"):
            cache.update(k[:1].repeat(batch, 1, 1, 1), k[:1].repeat(batch, 1, 1, 1))
        keys, values = expect(cache.update(k, k + 10), tuple[Tensor, Tensor])
        assert_length(cache, keys.shape[2])
    assert_equal(keys, torch.cat([k, k], dim=2), "the keys")
    assert_equal(values, torch.cat([k, k], dim=2) + 10, "the values")


@task("static", contract=15)
def test_static_rewind_and_go_on(student, device):
    """rewind drops the last tokens, none for 0; what was dropped is seen no more."""
    cache = static(student, device, 4)

    cache.rewind(0)
    assert_update(cache, [1, 2, 3], [1, 2, 3])
    cache.rewind(2)
    assert_update(cache, [9], [1, 9])
    cache.rewind(0)
    assert_update(cache, [8, 7], [1, 9, 8, 7])
    cache.rewind(4)
    assert_update(cache, [6], [6])


@task("static", contract=16)
@pytest.mark.parametrize("n", [3, 50])
def test_static_rewind_of_too_many(student, device, n):
    """A cache of two tokens, or of none, refuses to drop three; then all is as it was."""
    assert_refuses_rewind(student, static(student, device, 8), n, [])

    cache = static(student, device, 8)
    assert_update(cache, [1, 2], [1, 2])
    assert_refuses_rewind(student, cache, n, [1, 2])


@task("static", contract=17)
def test_reset_and_fill_again(student, device):
    """A cache of three is filled, reset, filled, and reset again."""
    cache = static(student, device, 3)

    assert_update(cache, [1, 2, 3], [1, 2, 3])
    cache.reset()
    assert_update(cache, [4], [4])
    assert_update(cache, [5, 6], [4, 5, 6])
    cache.reset()
    cache.reset()
    assert_update(cache, [7, 8, 9], [7, 8, 9])


@task("static", contract=18)
@OTHERS
def test_static_cache_converts(student, device, dtype):
    """A float32 cache gives float32 back whatever comes, a float16 cache takes float32."""
    for kept, given in ((torch.float32, dtype), (dtype, torch.float32)):
        cache, k = static(student, device, 4, dtype=kept), column(1, 2, 3, dtype=given)
        for _, end in (("two", 2), ("and one", 3)):
            new = k[:, :, :2] if end == 2 else k[:, :, 2:]
            keys, values = expect(cache.update(new, new), tuple[Tensor, Tensor])
            assert_equal(keys, column(1, 2, 3, dtype=kept)[:, :, :end], "the keys")
            assert_equal(values, column(1, 2, 3, dtype=kept)[:, :, :end], "the values")


@task("static", contract=19)
def test_name_of_a_device(student, device):
    """ "cpu" is as good as torch.device("cpu")."""
    cache = student.StaticCache(1, 1, 3, 1, torch.float32, device)

    assert_update(expect(cache, Proxy, "StaticCache(...)"), [1, 2], [1, 2])


# Operators whose result is new memory, by the base names of torch's own.
MAKERS = {
    *("cat", "stack", "clone", "repeat", "roll", "index", "index_select", "gather", "_to_copy"),
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "constant_pad_nd"),
    *("zeros", "zeros_like", "new_zeros", "ones", "full", "full_like", "new_full", "where"),
}


@task("static", contract=20)
def test_no_step_makes_large_memory(student, device):
    """With 1000 tokens in a cache for 1200 no step makes, or copies, half as many."""
    cache, many = static(student, device, 1200), torch.zeros(1, 1, 1000, 1)
    expect(cache.update(many, many), tuple[Tensor, Tensor])

    for step in ("update", "rewind", "update", "reset", "update"):
        with student.operators() as ran:
            arguments = (column(1), column(2)) if step == "update" else (3,)[: step == "rewind"]
            getattr(cache, step)(*arguments)
        for name in sorted(MAKERS & {*ran.seen}):
            size = ran.seen[name]
            check(size < 500, f"{step} made {size} numbers anew ({name}), expected a view")


@task("static", contract=20)
def test_memory_is_that_of_max_len_tokens(student, device):
    """A cache for 1000 tokens makes memory for as many keys and values, and for no more."""
    with student.largest_tensor() as largest:
        cache = static(student, device, 1000)
        expect(cache.update(column(1), column(2)), tuple[Tensor, Tensor])

    made = largest.elements  # keys and values may be two tensors or one
    text = f"the largest tensor that was made has {made} numbers"
    check(1000 <= made <= 2000, f"{text}, expected 1000, or 2000 for keys and values in one")


@task("static", contract=21)
def test_static_cache_takes_copies_of_views(student, device):
    """Views come back as they are and stay so; what is kept is a copy, also if it fills all."""
    cache = student.StaticCache(2, 3, 3, 5, torch.float32, torch.device(device))
    assert_takes_views(student, expect(cache, Proxy, "StaticCache(...)"), 2, 3, 5)
    half = student.StaticCache(2, 3, 3, 5, torch.float16, torch.device(device))
    assert_takes_views(student, half, 2, 3, 5, torch.float16)

    assert_copied(student, static(student, device, 7))
    assert_copied(student, static(student, device, 1))


@task("static", contract=22)
def test_two_static_caches(student, device):
    """Two caches of one size are filled in turn, and one is reset."""
    one, two = static(student, device, 4), static(student, device, 4)

    assert_update(one, [1], [1])
    assert_update(two, [7, 8], [7, 8])
    assert_update(one, [2, 3], [1, 2, 3])
    one.reset()
    assert_update(two, [9], [7, 8, 9])


# --- Task 3: attend --------------------------------------------------------------------------

VALUES = [4.0, 0.0, 8.0, 16.0]
MEANS = [4.0, 2.0, 4.0, 7.0]  # of the first value, of the first two, ...


def assert_means(student, new: int, context: int) -> None:
    """With keys of zeros each query gets the mean of the values that it may see."""
    q, k = torch.ones(1, 1, new, 1), torch.zeros(1, 1, context, 1)

    got = student.attend(q, k, column(*VALUES[:context]))

    assert_close(got, column(*MEANS[context - new : context]), "attention", like=q)


@task("attend", contract=23)
@pytest.mark.parametrize(("new", "context"), [(2, 4), (3, 4), (2, 3)])
def test_mean_of_what_is_seen(student, new, context):
    """Of the values 4, 0, 8, 16 the last query sees all, the one before it all but the last."""
    assert_means(student, new, context)


@task("attend", contract=23)
def test_the_first_of_5000_keys_is_seen(student):
    """Keys are 0, so the last query gets the mean of the values 0 to 4999: none is too old."""
    zeros, values = torch.zeros(1, 1, 5_000, 1), torch.arange(5_000.0)[None, None, :, None]

    got = student.attend(torch.ones(1, 1, 1, 1), zeros, values)

    assert_close(got, column(2499.5), "attention", inner=5_000)


@task("attend", contract=24)
@pytest.mark.parametrize(("new", "context"), [(1, 4), (1, 2), (4, 4), (2, 2), (1, 1)])
def test_one_query_and_as_many_as_keys(student, new, context):
    """A single query sees everything; with T = S the first one sees a single key."""
    assert_means(student, new, context)


@task("attend", contract=25)
def test_scores_are_divided_by_the_root_of_the_width(student):
    """q · k is 0 and 2 log 3, √D is 2: the weights are 1/4 and 3/4."""
    q, k = torch.tensor([2.0, 0, 0, 0]).view(1, 1, 1, 4), torch.zeros(1, 1, 2, 4)
    k[0, 0, 1, 0] = math.log(3)
    v = torch.tensor([[0.0, 8, 4, -4], [8.0, 0, 4, 4]])[None, None]

    want = torch.tensor([6.0, 2, 4, 2]).view(1, 1, 1, 4)
    assert_close(student.attend(q, k, v), want, "attention", like=q)


@task("attend", contract=26)
@pytest.mark.parametrize(
    "reads", [[0, 0, 1, 1], [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0], [0, 1, 2]], ids=str
)
def test_neighbouring_heads_read_one_head(student, reads):
    """The values of head g are g; so each query head says which head it has read."""
    groups = max(reads) + 1
    v = torch.arange(float(groups)).view(1, groups, 1, 1).repeat(2, 1, 3, 1)
    q = torch.ones(2, len(reads), 2, 1)

    got = student.attend(q, torch.zeros(2, groups, 3, 1), v)

    want = torch.tensor(reads).view(1, -1, 1, 1).expand(2, -1, 2, 1)
    assert_close(got, want, "attention", like=q)


@task("attend", contract=27)
@pytest.mark.parametrize("score", [300.0, -300.0])
def test_exp_of_a_large_score(student, score):
    """exp(300) and exp(-300) are out of float32's range; equal scores are equal weights still."""
    q, k = torch.ones(1, 1, 1, 1), column(score, score, score - 400)

    got = student.attend(q, k, column(4, 8, 100))

    # Its logarithm, 300 and a bit, is rounded, if the sum of all weights is divided by as one.
    assert_close(got, column(6), "attention", like=q, off=torch.tensor(6 * 300 * 2.0**-24))


def assert_quarter_apart(student, large: tuple[float, float], dtype: torch.dtype) -> None:
    """Scores of two keys are equal but for 0.25: so their weights are 0.4378 and 0.5622."""
    q, k = torch.zeros(1, 1, 1, 64), torch.zeros(1, 1, 2, 64)
    q[..., 0], k[..., 0] = large
    q[..., 1], k[0, 0, 1, 1] = 1.0, 2.0
    v = torch.zeros(1, 1, 2, 64)
    v[0, 0, 1] = 16.0

    got = student.attend(q.to(dtype), k.to(dtype), v.to(dtype))

    want = torch.full((1, 1, 1, 64), 16 / (1 + math.exp(-0.25)))
    assert_close(got, want, "attention", dtype=dtype)


@task("attend", contract=28)
@LOW
def test_near_scores_are_told_apart(student, dtype):
    """The scores are 800 and 800.25: 16 bits would round them to the same number."""
    assert_quarter_apart(student, (80.0, 80.0), dtype)


@task("attend", contract=28)
@LOW
def test_many_small_weights_add_up(student, dtype):
    """600 equal weights are 1/600 each: of a sum in 16 bits the last ones would be lost."""
    q, k, v = torch.ones(1, 1, 1, 4), torch.zeros(1, 1, 600, 4), torch.full((1, 1, 600, 4), 3.0)

    got = student.attend(q.to(dtype), k.to(dtype), v.to(dtype))

    assert_close(got, torch.full((1, 1, 1, 4), 3.0), "attention", dtype=dtype)


@task("attend", contract=29)
def test_products_that_float16_cannot_hold(student):
    """The products are 76800 and 76802, beyond float16; divided by √64 they are scores."""
    assert_quarter_apart(student, (256.0, 300.0), torch.float16)


@task("attend", contract=30)
def test_attend_takes_views(student):
    """Transposed tensors give what their copies give, and stay as they were."""
    q, k, v = numbered(2, 4, 3, 5) / 200, numbered(2, 2, 6, 5) / 200, numbered(2, 2, 6, 5)
    watched = [student.watch(x) for x in (q, k, v)]

    got = student.attend(*watched)

    copied = expect(student.attend(*(x.contiguous() for x in (q, k, v))), Tensor)
    assert_close(got, copied, "attention", like=q, what="the result for views")
    for argument, name in zip(watched, "qkv", strict=True):
        assert_unmodified(argument, name)


def apart(x: Tensor) -> Tensor:
    """The same numbers with a gap after each: no fused attention of a CPU takes them.

    torch's counter does not know what those cost.
    """
    return x.repeat_interleave(2, dim=-1)[..., ::2]


@task("attend", contract=31)
@pytest.mark.parametrize("new", [1, 4])
def test_flops_of_attend(student, new):
    """Few queries among 100 tokens: two FLOPs a number of q · k, and two a number of the sum."""
    q, k = apart(torch.ones(2, 6, new, 16)), apart(torch.ones(2, 3, 100, 16))

    with student.flops() as flops:
        expect(student.attend(q, k, k), Tensor)

    needed = 4 * 2 * 6 * new * 100 * 16
    check(flops.total <= 2 * needed, f"attend took {flops.total} FLOPs, expected about {needed}")


# --- a Llama ---------------------------------------------------------------------------------

FIELDS = {
    **{"vocab_size": 50, "hidden_size": 24, "intermediate_size": 40, "num_layers": 2},
    **{"num_heads": 4, "num_kv_heads": 2, "head_dim": 6, "rms_norm_eps": 1e-5},
    **{"rope_theta": 10_000.0, "rope_scaling": None, "max_position_embeddings": 1024},
    **{"tie_word_embeddings": True, "bos_token_id": None, "eos_token_ids": ()},
}
TARGET = {
    **{"vocab_size": 2048, "hidden_size": 256, "intermediate_size": 704, "num_layers": 8},
    **{"num_heads": 8, "num_kv_heads": 2, "head_dim": 32},
}
SHIPPED = Path(__file__).resolve().parents[1] / "checkpoints" / "target"
# `if __name__ ==` with the BOS in front, and what the target says to it before its EOS, which is 1.
PROMPT = [0, 781, 507, 376, 317, 553]
ANSWER = [2043, 782, 317, 915, 281, 894, 15, 782, 302, 200]
ANSWER_TEXT = ' "__main__":\n    unittest.main()\n'
# Logits of the tokens 0, 1, 200, 507 and 2043 after `if __name` and after all of it.
SOME = [0, 1, 200, 507, 2043]
LOGITS = [
    [-7.7580, -4.8861, 3.7677, 0.4485, -0.1723],
    [0.0011, -1.6446, 2.3757, 10.1363, 17.2452],
]


def given_llama(student, weights: dict[str, Tensor], **sizes: int) -> Proxy:
    """The given Llama, in the process of your code."""
    config = student.record("LlamaConfig", **(FIELDS | sizes))
    return expect(student.given("llama").Llama(config, weights), Proxy, "the given Llama")


def target(student) -> Proxy:
    """The shipped checkpoint in float32: what is printed here holds for no other."""
    host = student.checkpoint("target").host
    if host.resolve() != SHIPPED:
        raise NotGraded("the numbers printed in this test are those of labs/checkpoints/target")
    weights = {name: x.float() for name, x in load_file(host / "model.safetensors").items()}
    return given_llama(student, weights, **TARGET)


class Kept:
    """A cache of our own; it is lent to your code."""

    def __init__(self) -> None:
        self.keys, self.values = torch.zeros(0), torch.zeros(0)

    @property
    def length(self) -> int:
        return self.keys.shape[2] if self.keys.numel() else 0

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Put the new tokens behind the others; all are copied."""
        old = [self.keys, self.values] if self.length else [k[:, :, :0], v[:, :, :0]]
        self.keys, self.values = (torch.cat(x, 2) for x in zip(old, (k, v), strict=True))
        return self.keys, self.values


class Spaced(Kept):
    """A cache behind which all FLOPs of attention are counted."""

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = super().update(k, v)
        return apart(keys), apart(values)


def lend_cache(student, kind: type[Kept] = Kept) -> object:
    return student.lend(kind(), methods=("update",), attributes=("length",), keep=True)


def assert_logits_of_the_target(student, make_cache, attend=None) -> None:
    """The prompt enters at once, or as 3, 1 and 2 tokens: its logits are the same."""
    model = target(student)
    for chunks in ([PROMPT], [PROMPT[:3], PROMPT[3:4], PROMPT[4:]]):
        caches, parts, place = [make_cache() for _ in range(8)], [], 0
        for chunk in chunks:
            tokens, positions = torch.tensor([chunk]), torch.arange(place, place + len(chunk))
            out = model(tokens, positions[None], caches=caches, attend=attend)
            parts.append(expect(out, Tensor, "the logits", shape=(1, len(chunk), 2048)))
            place += len(chunk)
        got = torch.cat(parts, dim=1)
        want = f"logits of shape {list(got.shape)}, expected [1, 6, 2048]"
        check(list(got.shape) == [1, 6, 2048], want)
        off = (got[0, [2, 5]][:, SOME] - torch.tensor(LOGITS)).abs().max().item()
        sizes = " and ".join(str(len(chunk)) for chunk in chunks)
        found = [[round(x, 4) for x in row] for row in got[0, [2, 5]][:, SOME].tolist()]
        text = f"the logits of tokens {SOME}, where {sizes} tokens enter, are"
        check(off < 2e-3, f"{text}\n  got       {found}\n  expected  {LOGITS}")


@task("growing", contract=1)
def test_growing_caches_of_the_target(student):
    """Some logits of the target after `if __name` and after `if __name__ ==`, with your caches."""
    assert_logits_of_the_target(student, lambda: growing(student))


@task("static", contract=10)
def test_static_caches_of_the_target(student, device):
    """Some logits of the target after `if __name` and after `if __name__ ==`, with your caches."""
    sizes = 1, 2, 9, 32, torch.float32, torch.device(device)
    assert_logits_of_the_target(
        student, lambda: expect(student.StaticCache(*sizes), Proxy, "StaticCache(...)")
    )


@task("attend", contract=32)
def test_attend_in_the_target(student):
    """Some logits of the target after `if __name` and after `if __name__ ==`, with your attend."""
    attend = student.lend(student.attend, keep=True)
    assert_logits_of_the_target(student, lambda: lend_cache(student), attend)


# --- Task 4: generate ------------------------------------------------------------------------


def row_of(value: object, name: str) -> list[int]:
    """The numbers of what should be integers [1, T], T at least 1."""
    row = expect(value, Tensor, f"{name}, as the model gets them,")
    right = row.dtype in (torch.int32, torch.int64) and row.dim() == 2
    right = right and row.shape[0] == 1 and 0 < row.shape[1] < 1000
    check(right, f"the model got {describe(row)} as {name}, expected integers [1, T]")
    return row[0].tolist()


@dataclass(slots=True)
class Counter:
    """A model that says how many tokens its caches hold, modulo 7; it is lent to your code."""

    num_layers: int = 2
    tries_attend: bool = False
    entered: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    attended: list[object] = field(default_factory=list)

    def __call__(
        self,
        tokens: object,
        positions: object,
        mask: object = None,
        caches: object = None,
        attend: object = None,
    ) -> Tensor:  # [1, T, 7], for each position what its query would say
        entered, places = row_of(tokens, "tokens"), row_of(positions, "positions")
        layers = expect(caches, list[Proxy] | tuple[(Proxy,) * self.num_layers], "caches")
        text = f"the model got {len(layers)} caches, expected {self.num_layers}"
        check(len(layers) == self.num_layers, text)
        self.entered += entered
        self.places += places
        if self.tries_attend:
            q, k, v = torch.ones(1, 1, 3, 1), torch.zeros(1, 1, 4, 1), column(*VALUES)
            self.attended.append(expect(attend, Proxy, "attend, as the model gets it,")(q, k, v))
        k = column(*entered)
        pairs = [expect(cache.update(k, k), tuple[Tensor, Tensor]) for cache in layers]
        held = [keys.shape[2] for keys, _ in pairs]
        text = f"the caches of the layers hold {held} tokens, expected as many in each"
        check(len(set(held)) == 1, f"{text}: has each layer its own?")
        counts = torch.arange(held[0] - len(entered), held[0]) + 1
        return torch.nn.functional.one_hot(counts % 7, 7)[None].float()


def continued(student, model, prompt, most, eos_ids=None, cache=lend_cache) -> list[int]:
    """The tokens that generate gives with a model and caches of ours; without EOS ids, [99]."""

    def make_cache() -> object:
        return cache(student)

    lent = student.lend(model, attributes=("num_layers",))
    ends = [99] if eos_ids is None else eos_ids
    got = student.generate(lent, prompt, most, ends, student.lend(make_cache))
    return expect(got, list[int], "what generate returns")


@task("generate", contract=33)
def test_generation_of_the_handout(student):
    """After 2 2 2 the model counts on from 3, and ends with 6."""
    assert_equal(continued(student, Counter(), [2, 2, 2], 9, [6]), [3, 4, 5])


@task("generate", contract=34)
@pytest.mark.parametrize(("length", "layers"), [(1, 2), (300, 2), (5, 1), (5, 6)], ids=str)
def test_long_prompts_and_few_layers(student, length, layers):
    """A prompt of one token, one of 300 (42 times 7 and 6), one layer, and six."""
    got = continued(student, Counter(layers), [4] * length, 3)

    assert_equal(got, [(length + i) % 7 for i in range(3)])


@task("generate", contract=35)
def test_positions_count_on(student):
    """The prompt enters at 0, 1 and 2, the new tokens at 3, 4 and so on."""
    model = Counter()

    continued(student, model, [2, 2, 2], 4)

    want = [*range(len(model.entered))]
    assert_equal(model.places, want, "the list of positions that the model got")


@task("generate", contract=36)
def test_each_token_enters_once(student):
    """2 2 2 3 4 5 have entered when 6 0 are still to come; 0, the last new one, enters or not."""
    model = Counter()

    continued(student, model, [2, 2, 2], 5)

    want = [2, 2, 2, 3, 4, 5, 6]
    last = [0] if len(model.entered) == 8 else []
    assert_equal(model.entered, want + last, "the list of tokens that entered the model")


@task("generate", contract=37)
@pytest.mark.parametrize("layers", [2, 3])
def test_each_layer_has_its_own_cache(student, layers):
    """After three tokens each cache holds three, not as many for each layer."""
    assert_equal(continued(student, Counter(layers), [2, 2, 2], 9, [6]), [3, 4, 5])


@task("generate", contract=38)
def test_second_call_starts_anew(student):
    """A second prompt of three tokens is counted from 3 again."""
    for _ in range(2):
        assert_equal(continued(student, Counter(), [2, 2, 2], 3), [3, 4, 5])


def lend_update(student) -> object:
    """A cache without a length."""
    return student.lend(Kept(), methods=("update",), keep=True)


@task("generate", contract=39)
def test_caches_that_only_update(student):
    """A cache need not say its length, nor a model more than num_layers."""
    got = continued(student, Counter(), [2, 2, 2], 9, [6], lend_update)

    assert_equal(got, [3, 4, 5])


@task("generate", contract=40)
@pytest.mark.parametrize(
    ("eos_ids", "want"),
    [
        ([6], [3, 4, 5]),
        ([9, 4], [3]),
        ([8, 5, 9], [3, 4]),
        ([3], []),
        ([0, 3], []),
        ([0], [3, 4, 5, 6]),
    ],
)
def test_any_eos_ends_it(student, eos_ids, want):
    """The answer 3 4 5 6 0 1 ends before the first of the ids, whichever in the list it is."""
    assert_equal(continued(student, Counter(), [2, 2, 2], 9, eos_ids), want)


@task("generate", contract=41)
@pytest.mark.parametrize(
    ("eos_ids", "entered"), [([6], [2, 2, 2, 3, 4, 5]), ([3], [2, 2, 2]), ([9, 4], [2, 2, 2, 3])]
)
def test_what_enters_before_an_eos(student, eos_ids, entered):
    """All that was said before the EOS has entered, and nothing else."""
    model = Counter()

    continued(student, model, [2, 2, 2], 9, eos_ids)

    assert_equal(model.entered, entered, "the list of tokens that entered the model")


@task("generate", contract=42)
@pytest.mark.parametrize("prompt", [[6, 2, 2], [2, 2, 6]])
def test_prompt_may_hold_an_eos(student, prompt):
    """6 ends the answer, not the prompt."""
    assert_equal(continued(student, Counter(), prompt, 9, [6]), [3, 4, 5])


@task("generate", contract=43)
@pytest.mark.parametrize(("eos_ids", "want"), [([], 8), ((), 8), ((6, 9), 3)])
def test_no_eos_ids_and_a_tuple(student, eos_ids, want):
    """Without EOS ids the count goes on from 3 beyond 6; a tuple is as good as a list."""
    got = continued(student, Counter(), [2, 2, 2], 8, eos_ids)

    assert_equal(got, [3, 4, 5, 6, 0, 1, 2, 3][:want])


@task("generate", contract=44)
@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_no_more_than_asked_for(student, most):
    """The model would say 3 4 5; one is allowed, or two, or none."""
    assert_equal(continued(student, Counter(), [2, 2, 2], most, [6]), [3, 4, 5][:most])


@task("generate", contract=45)
def test_attend_is_passed_on(student):
    """Each call of the model can attend with your function: 4, 0, 8, 16 give 2, 4 and 7."""
    model = Counter(tries_attend=True)

    continued(student, model, [2, 2, 2], 3)

    for got in model.attended:
        what = "the result of the attend that was passed"
        assert_close(got, column(2, 4, 7), "attention", what=what)


@task("generate", contract=46)
@pytest.mark.parametrize("most", [0, 4])
def test_lists_stay_as_they_are(student, most):
    """Nothing is added to the prompt or taken from it, nor from the EOS ids."""
    prompt, eos_ids = student.watch([2, 2, 2]), student.watch([9, 6])

    continued(student, Counter(), prompt, most, eos_ids)

    assert_unmodified(prompt, "prompt")
    assert_unmodified(eos_ids, "eos_ids")


class Measured:
    """The given Llama; what every eighth step costs is noted, by the tokens so far."""

    num_layers = 2

    def __init__(self, student, llama: Proxy) -> None:
        self.student = student
        self.llama = llama
        self.flops: dict[int, int] = {}

    def __call__(
        self,
        tokens: object,
        positions: object,
        mask: object = None,
        caches: object = None,
        attend: object = None,
    ) -> Tensor:
        so_far = row_of(positions, "positions")[-1] + 1
        with self.student.flops() if so_far % 8 == 0 else nullcontext() as count:
            out = self.llama(tokens, positions, caches=caches, attend=attend)
        if count is not None:
            self.flops[so_far] = count.total
        return expect(out, Tensor, "the logits")


def lend_spaced(student) -> object:
    return lend_cache(student, Spaced)


def cost_with_a_cache(student, llama: Proxy, tokens: list[int]) -> int:
    """FLOPs of a last token that enters alone, by the attention of the given Llama."""
    caches, places = [lend_spaced(student) for _ in (0, 1)], torch.arange(len(tokens))[None]
    row = torch.tensor([tokens])
    llama(row[:, :-1].contiguous(), places[:, :-1].contiguous(), caches=caches)
    with student.flops() as count:
        llama(row[:, -1:].contiguous(), places[:, -1:].contiguous(), caches=caches)
    return count.total


def cost_without(student, llama: Proxy, tokens: list[int]) -> int:
    """FLOPs of a step for which all tokens enter again."""
    caches = [lend_spaced(student) for _ in (0, 1)]
    with student.flops() as count:
        llama(torch.tensor([tokens]), torch.arange(len(tokens))[None], caches=caches)
    return count.total


@task("generate", contract=47)
def test_flops_of_a_step(student, plot):
    """A step costs what one new token costs; the plot shows what all tokens would cost again."""
    seed = torch.Generator().manual_seed(5)
    shapes = {"self_attn.q_proj": (24, 24), "self_attn.k_proj": (12, 24)}
    shapes |= {"self_attn.v_proj": (12, 24), "self_attn.o_proj": (24, 24)}
    shapes |= {"mlp.gate_proj": (40, 24), "mlp.up_proj": (40, 24), "mlp.down_proj": (24, 40)}
    shapes |= {"input_layernorm": (24,), "post_attention_layernorm": (24,)}
    names = {f"model.layers.{i}.{name}": shapes[name] for name in shapes for i in (0, 1)}
    names |= {"model.embed_tokens": (50, 24), "model.norm": (24,)}
    weights = {f"{name}.weight": torch.randn(names[name], generator=seed) for name in names}
    llama = given_llama(student, weights)
    model = Measured(student, llama)

    got = continued(student, model, [*range(10)], 40, cache=lend_spaced)

    tokens = [*range(10), *got]
    steps = [so_far for so_far in (16, 24, 32, 40, 48) if so_far in model.flops]
    check(len(got) == 40, f"{len(got)} new tokens came, expected 40")
    least = [cost_with_a_cache(student, llama, tokens[:so_far]) for so_far in steps]
    again = [cost_without(student, llama, tokens[:so_far]) for so_far in steps]
    plot(
        "thousands of FLOPs of each step",
        axis="tokens so far",
        unit="thousand FLOPs",
        yours=[(so_far, model.flops[so_far] / 1e3) for so_far in steps],
        other=[(so_far, flops / 1e3) for so_far, flops in zip(steps, again, strict=True)],
        other_name="no cache",
    )
    for so_far, flops in zip(steps, least, strict=True):
        text = f"the step of token {so_far} takes {model.flops[so_far]} FLOPs"
        check(model.flops[so_far] <= 1.5 * flops, f"{text}, expected about {flops}")


class Trained:
    """The target as a model that generate can have."""

    num_layers = 8

    def __init__(self, llama: Proxy) -> None:
        self.llama = llama

    def __call__(
        self,
        tokens: object,
        positions: object,
        mask: object = None,
        caches: object = None,
        attend: object = None,
    ) -> Tensor:
        out = self.llama(tokens, positions, caches=caches, attend=attend)
        return expect(out, Tensor, "the logits")


@task("generate", contract=48)
def test_text_of_the_target(student):
    """To `if __name__ ==` the target says ` "__main__":`, a line with unittest.main(), its EOS."""
    got = continued(student, Trained(target(student)), PROMPT, 20, [1])

    assert_equal(got, ANSWER, f"the answer, of which the text is {ANSWER_TEXT!r},")


# --- Task 5: bytes ---------------------------------------------------------------------------


def count_bytes(student, batch: int, length: int, dtype=torch.float32, **sizes: int) -> int:
    """The bytes of two layers with 3 key/value heads of width 4, or of other ``sizes``."""
    fields = FIELDS | {"num_heads": 6, "num_kv_heads": 3, "head_dim": 4} | sizes
    got = student.cache_bytes(student.record("LlamaConfig", **fields), batch, length, dtype)
    return expect(got, int, "the result")


@task("bytes", contract=49)
def test_bytes_of_the_handout(student):
    """5 tokens take 960 bytes: keys and values, 2 layers, 3 heads, width 4, 4 bytes a number."""
    assert_equal(count_bytes(student, 1, 5), 960)
    assert_equal(count_bytes(student, 1, 10), 1920, "the result for twice the tokens")
    assert_equal(count_bytes(student, 3, 5), 2880, "the result for three sequences")
    assert_equal(count_bytes(student, 1, 5, num_layers=14), 6720, "the result for 14 layers")
    assert_equal(count_bytes(student, 1, 5, num_kv_heads=6), 1920, "the result for 6 heads")
    assert_equal(count_bytes(student, 1, 5, head_dim=2), 480, "the result for width 2")


@task("bytes", contract=50)
@pytest.mark.parametrize(("num_heads", "hidden_size"), [(3, 24), (12, 24), (6, 60), (9, 36)])
def test_other_sizes_change_no_bytes(student, num_heads, hidden_size):
    """960 bytes whatever the heads of the queries and the width of the model."""
    sizes = {"num_heads": num_heads, "hidden_size": hidden_size}

    assert_equal(count_bytes(student, 1, 5, **sizes), 960)


@task("bytes", contract=51)
@pytest.mark.parametrize(
    ("dtype", "want"),
    [(torch.float64, 1920), (torch.bfloat16, 480), (torch.float16, 480), (torch.int8, 240)],
    ids=str,
)
def test_bytes_by_dtype(student, dtype, want):
    """The 240 numbers of the example in 8, 2 and 1 bytes each."""
    assert_equal(count_bytes(student, 1, 5, dtype), want)


@task("bytes", contract=52)
def test_bytes_of_nothing_and_of_very_much(student):
    """No tokens, and more bytes than float64 can count one by one."""
    assert_equal(count_bytes(student, 4, 0), 0)
    odd = {"num_layers": 79, "num_kv_heads": 7, "num_heads": 7, "head_dim": 127}
    got = count_bytes(student, 1_000_003, 131_071, torch.int8, **odd)
    assert_equal(got, 2 * 79 * 7 * 127 * 1_000_003 * 131_071)
