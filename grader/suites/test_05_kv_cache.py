"""Hidden suite of lab 05. Caches are followed step by step; the model that generates is ours.

What enters that model is counted here, where it cannot be forged. FLOPs, copies and allocations
are counted in the worker: they say what an update or a step costs.
"""

import itertools
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from grader.suite import (
    Mismatch,
    Proxy,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    expect,
    task,
)
from reference import batching, llama
from reference import kv_cache as oracle
from reference.limits import conditions, honest
from reference.scripted.masked import INTEGERS, MaskedModel, Misuse

BATCH, GROUPS, WIDTH = 3, 2, 5  # of the caches under test
BF16 = torch.bfloat16
PER_TOKEN = BATCH * GROUPS * WIDTH
VOCAB = 61
EVERY = 8  # positions between steps whose FLOPs are counted
Pair = tuple[Tensor, Tensor]
# Operators that look at memory in another way and make none.
VIEWS = {
    *("alias", "as_strided", "detach", "diagonal", "expand", "permute", "select", "slice"),
    *("split", "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze"),
    *("view", "_unsafe_view", "_reshape_alias"),
}


# --- caches ----------------------------------------------------------------------------------


def strided(draw: Any, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random [B, G, T, D] as a model has it: a view of [B, T, G, D] with neighbours around it.

    Heads of 8 numbers or a multiple begin at multiples of 16 bytes, as a model's do. From other
    places torch's fused attention for GPUs does not load them: it raises.
    """
    batch, groups, new, width = shape
    base = draw.normal(batch, new + 3, groups, width + 16, dtype=dtype)
    return base[:, 1 : new + 1, :, 8 : width + 8].transpose(1, 2)


def pair_of(draw: Any, new: int, batch: int = BATCH, dtype: torch.dtype = torch.float32) -> Pair:
    k, v = (strided(draw, batch, GROUPS, new, WIDTH, dtype=dtype) for _ in "kv")
    return k, v


def growing(student: Any) -> Proxy:
    return expect(student.GrowingCache(), Proxy, "GrowingCache()")


def static(
    student: Any, device: str, max_len: int, dtype: torch.dtype = torch.float32, batch: int = BATCH
) -> Proxy:
    """A StaticCache of the sizes under test."""
    place = torch.device(device)
    cache = student.StaticCache(batch, GROUPS, max_len, WIDTH, dtype, place)
    return expect(cache, Proxy, "StaticCache(...)")


class Followed:
    """A cache under test beside ours: after each step the two must say the same."""

    def __init__(
        self, cache: Proxy, draw: Any, dtype: torch.dtype | None = None, veil: Any = None
    ) -> None:
        """``veil`` is the student's: torch's operators alone see the tokens."""
        self.cache = cache
        self._veil: Callable[[Tensor], Any] = veil or (lambda tensor: tensor)
        self._draw = draw
        self._ours = oracle.History()
        self._dtype = dtype  # that the cache converts to; None: it keeps what comes
        self._steps = 0

    def add(
        self,
        new: int,
        dtype: torch.dtype = torch.float32,
        batch: int = BATCH,
        *,
        zeros: bool = False,
    ) -> None:
        k, v = pair_of(self._draw, new, batch, dtype)
        if zeros:
            k, v = torch.zeros_like(k), torch.zeros_like(v)
        self._steps += 1
        returned = self.cache.update(self._veil(k), self._veil(v))
        got = expect(returned, Pair, "what update returns")
        want = self._ours.update(k.to(self._dtype or dtype), v.to(self._dtype or dtype))
        for x, y, name in zip(got, want, ("keys", "values"), strict=True):
            assert_equal(x, y, f"the {name} after step {self._steps} ({new} new tokens)")

    def rewind(self, n: int) -> None:
        self._steps += 1
        self.cache.rewind(n)
        self._ours.rewind(n)

    def reset(self) -> None:
        self._steps += 1
        self.cache.reset()
        self._ours.rewind(self._ours.length)

    def assert_length(self) -> None:
        length, held = expect(self.cache.length, int, "length"), self._ours.length
        check(length == held, f"length is {length} after step {self._steps}, expected {held}")


def new_memory(operators: Any) -> int:
    """Return the most elements that an operator other than a view took or made."""
    return max((size for name, size in operators.seen.items() if name not in VIEWS), default=0)


def assert_copies(student: Any, cache: Proxy, draw: Any) -> None:
    """Fail if a cache keeps the very tensors that it was handed."""
    with student.operators() as operators:
        expect(cache.update(*pair_of(draw, 1)), Pair, "what update returns")

    copied = new_memory(operators) >= WIDTH
    check(copied, "update copied nothing: what it keeps is the caller's own memory")


def assert_lets_go(student: Any, cache: Proxy, draw: Any) -> None:
    """Fail if a cache still holds the memory that its first tokens came in."""
    large = 5_000 * PER_TOKEN
    base = draw.normal(2, large)
    first = base[:, : 3 * PER_TOKEN].view(2, BATCH, GROUPS, 3, WIDTH)
    expect(cache.update(first[0], first[1]), Pair, "what update returns")
    k, v = (x.contiguous() for x in pair_of(draw, 1))

    with student.largest_tensor() as largest:
        cache.rewind(1)
        expect(cache.update(k, v), Pair, "what update returns")

    check(largest.elements < large, "the cache still uses the memory that k and v came in")


def assert_leaves_alone(student: Any, cache: Proxy, draw: Any) -> None:
    """Fail if update writes to the memory of its arguments."""
    for new in (3, 1, 2):
        k, v = (student.watch(x) for x in pair_of(draw, new))
        expect(cache.update(k, v), Pair, "what update returns")
        assert_unmodified(k, "k")
        assert_unmodified(v, "v")


# --- growing ---------------------------------------------------------------------------------


@task("growing", contract=1, gate=True)
def test_update_returns_all_tokens_so_far(student, draw):
    """update returns all keys and all values so far, oldest first."""
    followed = Followed(growing(student), draw)

    for new in (4, 1, 3, 1):
        followed.add(new)


@task("growing", contract=1)
def test_any_split_of_a_sequence(student, draw):
    """Tokens may come one by one or many at a time."""
    for _ in range(2):
        followed = Followed(growing(student), draw)
        for _ in range(9):
            followed.add(draw.choice([1, 1, 2, 5, 11]))


@task("growing", contract=1)
def test_growing_caches_of_a_llama(student, draw):
    """In a Llama with growing caches every split gives the logits of a full recompute."""
    model = small(student, draw)
    tokens = draw.integers(0, VOCAB, BATCH, sum(SPLITS[0]))

    for chunks in SPLITS:
        caches = [growing(student) for _ in range(model.fields["num_layers"])]
        model.assert_logits(by_chunks(model.inside, tokens, chunks, caches, None), tokens)


@task("growing", contract=2)
def test_length_counts_the_tokens(student, draw):
    """length is the number of tokens held, after every step."""
    followed = Followed(growing(student), draw)

    followed.assert_length()
    for new in (4, 1, 7):
        followed.add(new)
        followed.assert_length()
    for n in (2, 0, 6, 4):
        followed.rewind(n)
        followed.assert_length()
    followed.add(5)
    followed.assert_length()


@task("growing", contract=3)
def test_rewind_drops_the_last_tokens(student, draw):
    """rewind(n) drops the last n tokens, and what comes next takes their place."""
    followed = Followed(growing(student), draw)

    followed.add(6)
    followed.rewind(2)
    followed.add(1)
    followed.add(4)
    followed.rewind(7)  # into an earlier chunk
    followed.rewind(1)
    followed.add(3)


@task("growing", contract=4)
def test_rewind_by_nothing(student, draw):
    """rewind(0) is no change, whatever the cache holds."""
    followed = Followed(growing(student), draw)

    followed.rewind(0)
    followed.add(2)
    followed.rewind(0)
    followed.add(3)
    followed.rewind(1)
    followed.rewind(0)
    followed.add(2)


@task("growing", contract=4)
def test_rewind_to_nothing(student, draw):
    """After all its tokens were dropped a cache can be filled again."""
    followed = Followed(growing(student), draw)

    followed.add(2)
    followed.add(3)
    followed.rewind(5)
    followed.rewind(0)
    followed.add(4)
    followed.add(1)


def assert_zeros_count(followed: Followed) -> None:
    """Add tokens of zeros: first of all, between others, and last of all; drop some of them."""
    for new, zeros in ((2, True), (3, False), (1, True), (2, False), (2, True)):
        followed.add(new, zeros=zeros)
        followed.assert_length()
    followed.rewind(1)
    followed.assert_length()
    followed.add(1)
    followed.rewind(6)
    followed.assert_length()
    followed.add(2)
    followed.assert_length()


@task("growing", contract=2)
def test_tokens_of_zeros_are_tokens(student, draw):
    """A token whose key and value are zeros is one like any other: nothing is told by values."""
    assert_zeros_count(Followed(growing(student), draw))


@task("growing", contract=5)
@pytest.mark.parametrize("tokens", [0, 3])
def test_rewind_refuses_more_than_there_is(student, draw, tokens):
    """To drop more tokens than there are is a ValueError that names n and changes nothing."""
    followed = Followed(growing(student), draw)
    for _ in range(tokens):
        followed.add(1)

    for n in (tokens + 1, tokens + 40):
        with student.raises(ValueError, naming="n"):
            followed.cache.rewind(n)
        followed.assert_length()
    followed.add(2)


@task("growing", contract=6)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_dtype_is_kept(student, draw, dtype):
    """A growing cache returns the dtype that it is given."""
    followed = Followed(growing(student), draw)

    followed.add(3, dtype)
    followed.add(1, dtype)
    followed.rewind(2)
    followed.add(5, dtype)


@task("growing", contract=9)
def test_each_cache_has_tokens_of_its_own(student, draw):
    """Caches that are filled in turn do not see each other's tokens."""
    caches = [Followed(growing(student), draw) for _ in range(3)]

    for new in (2, 1, 3):
        for index, followed in enumerate(caches):
            followed.add(new + index, batch=index + 1)
    caches[1].rewind(4)
    for index, followed in enumerate(caches):
        followed.add(1, batch=index + 1)


@task("growing", contract=7)
def test_growing_cache_keeps_a_copy(student, draw):
    """k and v remain the caller's: what becomes of them later does not change the cache."""
    assert_copies(student, growing(student), draw)
    assert_lets_go(student, growing(student), draw)


@task("growing", contract=8)
def test_growing_cache_leaves_its_arguments_alone(student, draw):
    """update changes nothing in k and v."""
    assert_leaves_alone(student, growing(student), draw)


# --- static ----------------------------------------------------------------------------------


@task("static", contract=10, gate=True)
def test_static_update_returns_the_filled_part(student, draw, device):
    """update returns the filled part alone: all tokens so far, oldest first."""
    followed = Followed(static(student, device, 14), draw)

    for new in (4, 1, 3, 1):
        followed.add(new)


@task("static", contract=10)
def test_static_caches_of_a_llama(student, draw, device):
    """In a Llama with static caches every split gives the logits of a full recompute."""
    model = small(student, draw)
    tokens = draw.integers(0, VOCAB, BATCH, sum(SPLITS[0]))
    sizes = model.fields["num_kv_heads"], tokens.shape[1] + 3, model.fields["head_dim"]

    for chunks in SPLITS:
        made = [
            student.StaticCache(BATCH, *sizes, torch.float32, torch.device(device))
            for _ in range(model.fields["num_layers"])
        ]
        caches = [expect(cache, Proxy, "StaticCache(...)") for cache in made]
        model.assert_logits(by_chunks(model.inside, tokens, chunks, caches, None), tokens)


@task("static", contract=11)
def test_static_length_counts_the_tokens(student, draw, device):
    """length is the number of tokens held, after every step."""
    followed = Followed(static(student, device, 12), draw)

    followed.assert_length()
    for new in (4, 1, 7):
        followed.add(new)
        followed.assert_length()
    for n in (2, 0, 6):
        followed.rewind(n)
        followed.assert_length()
    followed.reset()
    followed.assert_length()
    followed.add(5)
    followed.assert_length()


@task("static", contract=11)
def test_static_tokens_of_zeros_are_tokens(student, draw, device):
    """A token whose key and value are zeros is one like any other: nothing is told by values."""
    assert_zeros_count(Followed(static(student, device, 12), draw))


@task("static", contract=12)
def test_exact_fit(student, draw, device):
    """A cache takes max_len tokens, however they come."""
    for chunks in ([7], [6, 1], [1] * 7, [2, 5], [1, 4, 2]):
        followed = Followed(static(student, device, 7), draw)
        for new in chunks:
            followed.add(new)


@task("static", contract=13)
@pytest.mark.parametrize(("filled", "new"), [(0, 8), (7, 1), (5, 3), (3, 40)], ids=str)
def test_more_than_max_len_is_refused(student, draw, device, filled, new):
    """Tokens beyond max_len are a ValueError that names max_len and leaves all as it was."""
    followed = Followed(static(student, device, 7), draw)
    for _ in range(filled):
        followed.add(1)

    with student.raises(ValueError, naming="max_len"):
        followed.cache.update(*pair_of(draw, new))

    followed.assert_length()
    if filled < 7:
        followed.add(7 - filled)
    followed.rewind(2)
    followed.add(1)


@task("static", contract=14)
@pytest.mark.parametrize("batch", [1, 2, 4, 6])
def test_another_batch_size_is_refused(student, draw, device, batch):
    """Another number of sequences is a ValueError that names batch and leaves all as it was."""
    for filled in (0, 4):
        followed = Followed(static(student, device, 7), draw)
        if filled:
            followed.add(filled)

        with student.raises(ValueError, naming="batch"):
            followed.cache.update(*pair_of(draw, 2, batch))

        followed.assert_length()
        followed.add(3)


@task("static", contract=15)
def test_static_rewind_drops_the_last_tokens(student, draw, device):
    """rewind(n) drops the last n tokens; they are seen no more, and others take their place."""
    followed = Followed(static(student, device, 9), draw)

    followed.rewind(0)
    followed.add(6)
    followed.rewind(3)
    followed.add(1)
    followed.rewind(0)
    followed.add(5)
    followed.rewind(7)
    followed.rewind(2)
    followed.add(9)


@task("static", contract=16)
@pytest.mark.parametrize("tokens", [0, 3, 5])
def test_static_rewind_refuses_more_than_there_is(student, draw, device, tokens):
    """To drop more tokens than there are is a ValueError that names n and changes nothing."""
    followed = Followed(static(student, device, 5), draw)
    if tokens:
        followed.add(tokens)

    for n in (tokens + 1, tokens + 40):
        with student.raises(ValueError, naming="n"):
            followed.cache.rewind(n)
        followed.assert_length()
    if tokens < 5:
        followed.add(5 - tokens)


@task("static", contract=17)
def test_reset_gives_all_room_back(student, draw, device):
    """After reset a cache is empty, and there is room for max_len tokens again."""
    followed = Followed(static(student, device, 8), draw)

    followed.reset()
    followed.add(5)
    followed.add(3)
    followed.reset()
    followed.add(2)
    followed.reset()
    followed.add(8)


@task("static", contract=18)
@pytest.mark.parametrize(
    ("kept", "given"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float64),
        (torch.float32, torch.bfloat16),
        (torch.float64, torch.float32),
    ],
    ids=str,
)
def test_other_dtypes_are_cast(student, draw, device, kept, given):
    """The cache keeps and returns its own dtype, whatever the dtype of k and v."""
    followed = Followed(static(student, device, 9, kept), draw, kept)

    followed.add(3, given)
    followed.add(1, kept)
    followed.add(2, given)


@task("static", contract=22)
def test_each_static_cache_has_memory_of_its_own(student, draw, device):
    """Caches that are filled in turn do not see each other's tokens."""
    caches = [Followed(static(student, device, 9, batch=b), draw) for b in (3, 3, 2)]

    for new in (2, 1, 3):
        for followed, batch in zip(caches, (3, 3, 2), strict=True):
            followed.add(new, batch=batch)
    caches[0].reset()
    caches[2].rewind(5)
    for followed, batch in zip(caches, (3, 3, 2), strict=True):
        followed.add(3, batch=batch)


@task("static", contract=19)
def test_device_may_be_a_string(student, draw, device):
    """device is a torch.device or its name."""
    cache = student.StaticCache(BATCH, GROUPS, 6, WIDTH, torch.float32, device)

    Followed(expect(cache, Proxy, "StaticCache(...)"), draw).add(4)


@task("static", contract=19)
@pytest.mark.parametrize("place", [torch.device("meta"), "meta"], ids=["a device", "a name"])
def test_memory_is_made_on_the_device(student, place):
    """Memory is made where it was asked for: on meta, which has none, any number of tokens fits."""
    # Anywhere else this is more than a process can address: some machines lend more than they have.
    made = student.StaticCache(BATCH, GROUPS, 10**15, WIDTH, torch.float32, place)

    length = expect(expect(made, Proxy, "StaticCache(...)").length, int, "length")

    check(length == 0, f"length is {length}, expected 0 in a fresh cache")


@task("static", contract=20)
def test_memory_is_made_once(student, draw, device):
    """No step copies what is there or makes memory anew: update returns views of the filled part.

    A step may take new memory for its own tokens, as a conversion of dtype does.
    """
    max_len, filled = 60, 40
    followed = Followed(static(student, device, max_len), draw, veil=student.veil)
    steps: dict[str, Callable[[], None]] = {
        "an update": lambda: followed.add(1),
        "rewind": lambda: followed.rewind(3),
        "an update after rewind": lambda: followed.add(2),
        "reset": lambda: followed.reset(),
        "an update after reset": lambda: followed.add(1),
    }

    with student.torch_alone():
        followed.add(filled)
        for name, step in steps.items():
            with student.operators() as operators:
                step()
            assert_in_place(name, operators.seen, filled * PER_TOKEN // 2)


@task("static", contract=20)
def test_memory_does_not_grow(student, draw, device):
    """All room is there from the first update on, however few tokens have come."""
    followed = Followed(static(student, device, 40), draw, veil=student.veil)

    with student.torch_alone():
        followed.add(1)
        for token in range(2, 20):
            with student.operators() as operators:
                followed.add(1)
            assert_in_place(f"the update of token {token}", operators.seen, 3 * PER_TOKEN)


def assert_in_place(step: str, seen: dict[str, int], limit: int) -> None:
    """Fail if an operator made, or copied, more than ``limit`` elements, or moved a storage."""
    for name, size in seen.items():
        moves = name in ("resize_", "set_")
        check(not moves, f"{step} gives a tensor another storage ({name})")
        in_place = name in VIEWS or (name.endswith("_") and not name.endswith("__"))
        text = f"{step} makes or copies {size} numbers at once ({name})"
        check(in_place or size < limit, f"{text}, which more than its own tokens have")


@task("static", contract=20)
def test_memory_has_the_size_that_was_asked_for(student, draw, device):
    """A cache takes room for max_len tokens, not more."""
    max_len = 300
    with student.torch_alone(), student.largest_tensor() as largest:
        cache = static(student, device, max_len)
        Followed(cache, draw, veil=student.veil).add(2)

    # Keys and values may share one storage.
    most, made = 2 * max_len * PER_TOKEN, largest.elements
    check(made <= most, f"memory for {made} numbers was made, expected {most} at most")


@task("static", contract=21)
def test_static_cache_leaves_its_arguments_alone(student, draw, device):
    """update changes nothing in k and v, and keeps a copy of them."""
    assert_leaves_alone(student, static(student, device, 6), draw)
    assert_leaves_alone(student, static(student, device, 6, BF16), draw)
    assert_copies(student, static(student, device, 6), draw)
    assert_copies(student, static(student, device, 1), draw)
    assert_lets_go(student, static(student, device, 3), draw)


# --- attend ----------------------------------------------------------------------------------


def attended(student: Any, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Call attend and compare with float64."""
    assert_attended(student.attend(q, k, v), q, k, v)


def assert_attended(got: Any, q: Tensor, k: Tensor, v: Tensor, what: str = "the result") -> None:
    want, trusted = llama.attention(q.double(), k.double(), v.double()), [llama.attention(q, k, v)]
    if q.dtype == torch.float32:
        trusted += [o for o, _ in honest.attentions(q, k, v, causal=True)]
    off, _ = conditions.attention_off(q, k, v)
    assert_close(got, want, "attention", like=q, trusted=trusted, off=off, what=what)


def spread(x: Tensor) -> Tensor:
    """The same numbers, every second one in memory.

    torch's fused attention on a CPU, whose FLOPs its counter does not know, refuses such tensors.
    """
    return torch.stack((x, x), dim=-1)[..., 0]


def queries_of(
    draw: Any, batch: int, heads: int, groups: int, new: int, context: int, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    q = strided(draw, batch, heads, new, width)
    k, v = (strided(draw, batch, groups, context, width) for _ in "kv")
    return q, k, v


@task("attend", contract=23, gate=True)
def test_last_query_sees_the_last_key(student, draw):
    """Query i of T is token S - T + i: it sees the keys up to that one, weighed by softmax."""
    attended(student, *queries_of(draw, 3, 6, 2, 4, 11, 10))


@task("attend", contract=25)
def test_weights_of_one_query(student, draw):
    """The values are weighed by softmax(q · k / √D), whatever their number and the heads'."""
    for heads, context, width in ((1, 12, 3), (3, 7, 18), (2, 31, 11)):
        attended(student, *queries_of(draw, 2, heads, heads, 1, context, width))


@task("attend", contract=24)
@pytest.mark.parametrize(("new", "context"), [(1, 1), (1, 23), (9, 9), (7, 8), (2, 29)], ids=str)
def test_chunks_of_all_sizes(student, draw, new, context):
    """One token or many, with or without tokens before them: each sees what precedes it."""
    attended(student, *queries_of(draw, 3, 4, 2, new, context, 6))


@task("attend", contract=24)
def test_one_and_two_of_everything(student, draw):
    """One or two rows, heads, queries and keys, and a width of 1 or 2, are sizes like any other."""
    heads, chunks = ((1, 1), (2, 1), (2, 2)), ((1, 1), (1, 2), (2, 2))
    for batch, (h, g), (new, context), width in itertools.product((1, 2), heads, chunks, (1, 2)):
        attended(student, *queries_of(draw, batch, h, g, new, context, width))


@task("attend", contract=23)
def test_thousands_of_keys(student, draw):
    """No number of keys is too many: there is no window behind which they are not seen."""
    attended(student, *queries_of(draw, 1, 2, 1, 2, 8_200, 2))


@task("attend", contract=27)
def test_large_scores_stay_in_their_heads(student, draw):
    """A head whose scores are small is precise beside one whose scores are in the hundreds."""
    q, k, v = queries_of(draw, 2, 3, 3, 4, 9, 8)
    sizes = torch.tensor([1.0, 15.0, 200.0]).sqrt()[:, None, None]

    attended(student, q * sizes, k * sizes, v)


@task("attend", contract=26)
@pytest.mark.parametrize(("heads", "groups"), [(1, 1), (5, 5), (5, 1), (12, 4), (9, 3)], ids=str)
def test_query_heads_share_key_heads(student, draw, heads, groups):
    """Query head h reads key/value head h // (H / G)."""
    attended(student, *queries_of(draw, 2, heads, groups, 3, 7, 8))


@task("attend", contract=28)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_attend_in_other_dtypes(student, draw, dtype):
    """The result has the dtype of q, and is as good as that dtype allows."""
    q, k, v = queries_of(draw, 3, 4, 2, 5, 17, 16)

    attended(student, q.to(dtype), k.to(dtype), v.to(dtype))


@task("attend", contract=28)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_scores_keep_float32_precision(student, draw, dtype):
    """Scores that are large and near each other are told apart: 16 bits would round them."""
    # Small integers and a power of four as width: exact in float32 in every order of adding.
    q = draw.integers(-2, 3, 3, 4, 6, 64).to(dtype)
    k = draw.integers(-2, 3, 3, 2, 8, 64).to(dtype)
    q[..., 5], k[..., 5] = 20.0, 20.0
    v = draw.normal(3, 2, 8, 64, dtype=dtype)

    assert_float32_scores(student.attend(q, k, v), q, k, v)


@task("attend", contract=28)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_sums_over_long_contexts(student, draw, dtype):
    """Hundreds of weights that are small and alike lose nothing as their values are added up."""
    q, k = (draw.normal(2, heads, new, 16, scale=0.1) for heads, new in ((4, 3), (2, 900)))
    v = draw.normal(2, 2, 900, 16, shift=3.0)

    attended(student, q.to(dtype), k.to(dtype), v.to(dtype))


def assert_float32_scores(got: Any, q: Tensor, k: Tensor, v: Tensor) -> None:
    """Compare with float64; scores in 16 bits widen no limit."""
    want = llama.attention(q.double(), k.double(), v.double())
    trusted = llama.attention(q.float(), k.float(), v.float())
    off, _ = conditions.attention_off(q, k, v)
    assert_close(got, want, "attention", like=q, trusted=trusted, off=off)


@task("attend", contract=27)
def test_large_scores(student, draw):
    """Scores in the hundreds neither overflow nor turn into NaN."""
    q = draw.integers(-8, 9, 3, 4, 5, 16).float()
    k = draw.integers(-8, 9, 3, 2, 13, 16).float()
    q[..., 0], k[..., 0] = 40.0, 60.0
    v = draw.normal(3, 2, 13, 16)

    attended(student, q, k, v)


@task("attend", contract=29)
def test_scores_beyond_float16(student, draw):
    """Float16 ends at 65504: products of queries and keys beyond it are summed up in float32."""
    # Small integers and a power of four as width: exact in float32 in every order of adding.
    q = draw.integers(-2, 3, 2, 4, 5, 64).half()
    k = draw.integers(-2, 3, 2, 2, 13, 64).half()
    q[..., 7], k[..., 7] = 256.0, 300.0
    v = draw.normal(2, 2, 13, 64, dtype=torch.float16)

    assert_float32_scores(student.attend(q, k, v), q, k, v)


@task("attend", contract=30)
def test_attend_leaves_its_arguments_alone(student, draw):
    """attend changes nothing in q, k and v."""
    tensors = queries_of(draw, 2, 6, 3, 4, 9, 8)
    watched = [student.watch(x) for x in tensors]

    assert_attended(student.attend(*watched), *tensors)

    for item, name in zip(watched, "qkv", strict=True):
        assert_unmodified(item, name)


@task("attend", contract=30)
@pytest.mark.parametrize("layout", ["one block", "expanded"])
def test_attend_leaves_every_layout_alone(student, draw, layout):
    """However q, k and v lie in memory, they stay as they were."""
    drawn = queries_of(draw, 3, 4, 2, 3, 5, 8)
    tensors = [x.contiguous() if layout == "one block" else x[:1].expand(x.shape) for x in drawn]
    watched = [student.watch(x) for x in tensors]

    assert_attended(student.attend(*watched), *tensors)

    for item, name in zip(watched, "qkv", strict=True):
        assert_unmodified(item, name)


@task("attend", contract=31)
@pytest.mark.parametrize("new", [1, 6])
def test_cost_of_attention(student, draw, new):
    """attend works for its T queries alone: 4·B·H·T·S·D FLOPs, however many tokens precede them."""
    batch, heads, groups, context, width = 2, 6, 2, 90, 16
    q, k, v = (spread(x) for x in queries_of(draw, batch, heads, groups, new, context, width))

    with student.torch_alone():
        with student.flops() as flops:
            got = student.attend(*map(student.veil, (q, k, v)))
        assert_attended(got, q, k, v)

    needed = oracle.attention_flops(batch, heads, new, context, width)
    text = f"attention of {new} new among {context} tokens took {flops.total / needed:.1f} times"
    check(flops.total <= 2 * needed, f"{text} the FLOPs that it needs, expected less than 2")


# --- a small model ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Small:
    """A Llama with random weights: ours as numbers, the given one inside the worker."""

    fields: dict[str, Any]
    weights: dict[str, Tensor]
    inside: Proxy

    @property
    def config(self) -> Any:
        return SimpleNamespace(**self.fields)

    def assert_logits(self, got: Tensor, tokens: Tensor) -> None:
        """Compare with a full recompute in float64."""
        wide = {name: weight.double() for name, weight in self.weights.items()}
        want = llama.logits(self.config, wide, tokens)
        trusted = llama.logits(self.config, self.weights, tokens)
        # Errors of the layers add up as those of a long sum do.
        assert_close(got, want, "matmul", dtype=torch.float32, inner=1 << 14, trusted=trusted)


FIELDS: dict[str, Any] = {
    **{"vocab_size": VOCAB, "hidden_size": 20, "intermediate_size": 36, "num_layers": 3},
    **{"num_heads": 4, "num_kv_heads": 2, "head_dim": 6, "rms_norm_eps": 1e-5},
    **{"rope_theta": 10_000.0, "rope_scaling": None, "max_position_embeddings": 512},
    **{"tie_word_embeddings": False, "bos_token_id": None, "eos_token_ids": ()},
}


def small(student: Any, draw: Any, *, veiled: bool = False, **changes: Any) -> Small:
    """Make a Llama of ``FIELDS``, wild enough that its tokens depend on all that went before.

    Of one that is veiled torch's operators alone see the weights.
    """
    fields = FIELDS | changes
    embed, inner = fields["hidden_size"], fields["intermediate_size"]
    queries = fields["num_heads"] * fields["head_dim"]
    keys = fields["num_kv_heads"] * fields["head_dim"]
    shapes = {
        **{"self_attn.q_proj": (queries, embed), "self_attn.k_proj": (keys, embed)},
        **{"self_attn.v_proj": (keys, embed), "self_attn.o_proj": (embed, queries)},
        **{"mlp.gate_proj": (inner, embed), "mlp.up_proj": (inner, embed)},
        **{"mlp.down_proj": (embed, inner)},
    }
    norms = ("input_layernorm", "post_attention_layernorm")
    weights = {"model.norm": torch.ones(embed)}
    for i in range(fields["num_layers"]):
        for name, shape in shapes.items():
            weights[f"model.layers.{i}.{name}"] = draw.normal(*shape, scale=2 * shape[1] ** -0.5)
        weights |= {f"model.layers.{i}.{name}": 1 + draw.normal(embed, scale=0.1) for name in norms}
    weights["model.embed_tokens"] = draw.normal(fields["vocab_size"], embed)
    weights["lm_head"] = draw.normal(fields["vocab_size"], embed, scale=embed**-0.5)
    named = {f"{name}.weight": weight for name, weight in weights.items()}
    return loaded(student, fields, named, veiled=veiled)


def loaded(
    student: Any, fields: dict[str, Any], weights: dict[str, Tensor], *, veiled: bool = False
) -> Small:
    config = student.record("LlamaConfig", **fields)
    veil = student.veil if veiled else lambda weight: weight
    inside = student.given("llama").Llama(config, {n: veil(w) for n, w in weights.items()})
    return Small(fields, weights, expect(inside, Proxy, "the given Llama"))


SPLITS = ([13], [1] * 13, [6, 7], [12, 1], [1, 5, 2, 4, 1])


def by_chunks(
    model: Proxy, tokens: Tensor, chunks: Sequence[int], caches: list[Any], attend: Any
) -> Tensor:
    """Send tokens [B, S] through the model chunk by chunk; return all logits [B, S, V]."""
    parts, start = list[Tensor](), 0
    for new in chunks:
        positions = torch.arange(start, start + new).expand(tokens.shape[0], new).contiguous()
        chunk = tokens[:, start : start + new].contiguous()
        part = expect(model(chunk, positions, caches=caches, attend=attend), Tensor, "the logits")
        expect(part, Tensor, f"the logits of {new} tokens", shape=(*chunk.shape, *part.shape[-1:]))
        parts.append(part)
        start += new
    return torch.cat(parts, dim=1)


class Spread(oracle.History):
    """Keys and values that make every attention of torch one whose FLOPs are counted."""

    def __init__(self, veil: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self._veil = veil

    def update(self, k: Tensor, v: Tensor) -> tuple[Any, Any]:
        keys, values = super().update(k, v)
        return self._veil(spread(keys)), self._veil(spread(values))


def lent_history(student: Any, make: Callable[[], oracle.History] = oracle.History) -> Any:
    methods, attributes = ("update", "rewind"), ("length",)
    return student.lend(make(), methods=methods, attributes=attributes, keep=True)


@task("attend", contract=32)
def test_every_split_through_attend(student, draw):
    """In a Llama with caches, attend gives the logits of a full recompute for every split."""
    model = small(student, draw)
    tokens = draw.integers(0, VOCAB, BATCH, sum(SPLITS[0]))
    attend = student.lend(student.attend, keep=True)

    for chunks in SPLITS:
        caches = [lent_history(student) for _ in range(model.fields["num_layers"])]
        model.assert_logits(by_chunks(model.inside, tokens, chunks, caches, attend), tokens)


# --- generate --------------------------------------------------------------------------------


class Desk:
    """Prompts of random words, the model that continues them, and what a full recompute says."""

    def __init__(
        self,
        student: Any,
        draw: Any,
        length: int,
        *,
        ends: int | None = None,
        num_eos: int = 1,
        eos: int | None = None,
    ) -> None:
        """``eos`` is the id that ends the story, where it matters which one that is."""
        ids = torch.randperm(VOCAB, generator=draw.generator).tolist()
        if eos is not None:
            ids = [eos, *(token for token in ids if token != eos)]
        self.eos_ids, words = ids[:num_eos], ids[num_eos:]
        self.prompt = [draw.choice(words) for _ in range(length)]
        eos = self.eos_ids[-1] if self.eos_ids else 0
        endings = {} if ends is None else {self.prompt[0]: (length + ends, eos)}
        self.script = MaskedModel(VOCAB, draw.seed, self.eos_ids, endings)
        self.made = 0
        self._methods: tuple[str, ...] = ()
        self._student = student

    def run(
        self, max_new_tokens: int, num_layers: int = 3, *, bare: bool = False, **changes: Any
    ) -> tuple[list[int], oracle.CachedModel]:
        """Generate with our model and our caches, ``bare`` ones with update alone.

        Returns the tokens and the model.
        """
        self._methods = ("update",) if bare else ("update", "rewind")
        model = oracle.CachedModel(self.script, num_layers)
        prompt: Any = changes.get("prompt", self.prompt)
        eos_ids: Any = changes.get("eos_ids", self.eos_ids)
        got = self._student.generate(
            lend_model(self._student, model, num_layers),
            *(prompt, max_new_tokens, eos_ids, self._student.lend(self._make)),
        )
        return expect(got, list[int]), model

    def _make(self) -> Any:
        self.made += 1
        check(self.made <= 100, "make_cache was called more than 100 times")
        names = ("length",) if len(self._methods) > 1 else ()
        return self._student.lend(oracle.History(), self._methods, names, keep=True)

    def want(self, max_new_tokens: int) -> list[int]:
        return batching.solo_run(self.script.logits, self.prompt, max_new_tokens, self.eos_ids)


def lend_model(student: Any, model: Callable[..., Tensor], num_layers: int) -> Any:
    """Lend a model; a call that no model could answer fails the test."""

    class Lent:
        def __init__(self) -> None:
            self.num_layers = num_layers

        def __call__(
            self,
            tokens: Any = None,
            positions: Any = None,
            mask: Any = None,
            caches: Any = None,
            attend: Any = None,
        ) -> Tensor:
            objects = isinstance(caches, list | tuple) and all(isinstance(c, Proxy) for c in caches)
            check(objects, "the model was not given a list of caches")
            check(isinstance(attend, Proxy), "the model was not given attend=attend")
            check(mask is None, "the model was given a mask beside attend")
            try:
                return model(tokens, positions, caches=[*caches], attend=attend)
            except Misuse as misuse:
                raise Mismatch(f"the model was called wrongly: {misuse}") from None

    return student.lend(Lent(), attributes=("num_layers",))


def assert_tokens(got: list[int], want: list[int]) -> None:
    """Fail with the first new token that differs."""
    same = (a == b for a, b in zip(got, want, strict=False))
    step = next((i for i, equal in enumerate(same) if not equal), None)
    if step is not None:
        text = f"new token {step} is {got[step]}, but a full recompute gives {want[step]}"
        raise Mismatch(text)
    check(len(got) == len(want), f"{len(got)} new tokens came back, expected {len(want)}")


def assert_entered(model: oracle.CachedModel, prompt: list[int], output: list[int]) -> None:
    """Fail unless each token entered once, in order; the last may, and need not, enter."""
    whole, entered = prompt + output, model.entered
    what = f"{len(entered)} tokens entered the model, for {len(whole)} of prompt and answer"
    check(len(entered) <= len(whole), f"{what}: each should enter once")
    check(entered == whole[: len(entered)], "other tokens entered the model than those so far")


@task("generate", contract=33, gate=True)
def test_tokens_are_those_of_a_full_recompute(student, draw):
    """generate returns the greedy tokens, which depend on all before them and their positions."""
    desk = Desk(student, draw, 6)

    got, _ = desk.run(9)

    assert_tokens(got, desk.want(9))


@task("generate", contract=36, gate=True)
def test_each_token_enters_the_model_once(student, draw):
    """The prompt enters once, then each new token does: no step goes over the prefix again."""
    desk = Desk(student, draw, 11)

    got, model = desk.run(8)

    assert_entered(model, desk.prompt, got)
    assert_tokens(got, desk.want(8))


@task("generate", contract=34)
@pytest.mark.parametrize(
    ("length", "new", "layers"), [(1, 7, 2), (2, 30, 1), (40, 3, 4), (230, 2, 1)], ids=str
)
def test_prompts_and_models_of_all_sizes(student, draw, length, new, layers):
    """Short and long prompts, few and many layers."""
    desk = Desk(student, draw, length)

    got, _ = desk.run(new, layers)

    assert_tokens(got, desk.want(new))


@task("generate", contract=35)
def test_positions_go_on(student, draw):
    """Positions count on from the prompt through the answer, in every call of the model."""
    desk = Desk(student, draw, 5)

    _, model = desk.run(6)

    for i, place in enumerate(model.places):
        check(place == i, f"token {i} entered at position {place}, expected {i}")


@task("generate", contract=37)
@pytest.mark.parametrize("layers", [2, 5])
def test_layers_do_not_share_a_cache(student, draw, layers):
    """Each layer gets its own keys and values back, and no other's."""
    desk = Desk(student, draw, 4)

    got, _ = desk.run(3, layers)

    assert_tokens(got, desk.want(3))


@task("generate", contract=39)
def test_cache_may_have_nothing_but_update(student, draw):
    """A cache need not have a length, a rewind or anything else beside update."""
    desk = Desk(student, draw, 5)

    got, _ = desk.run(4, bare=True)

    assert_tokens(got, desk.want(4))


@task("generate", contract=40)
@pytest.mark.parametrize(("ends", "num_eos"), [(0, 1), (4, 3), (8, 2)], ids=str)
def test_eos_ends_the_sequence(student, draw, ends, num_eos):
    """Any of eos_ids ends the sequence, and it is not returned."""
    desk = Desk(student, draw, 5, ends=ends, num_eos=num_eos)

    got, _ = desk.run(9)

    assert_tokens(got, desk.want(9))


@task("generate", contract=40)
@pytest.mark.parametrize("eos", [0, 1, VOCAB - 1], ids=["zero", "one", "last"])
def test_an_eos_may_be_any_id(student, draw, eos):
    """The first id of a vocabulary, 0, and its last one can end a sequence like any other."""
    for ends in (0, 3):
        desk = Desk(student, draw, 5, ends=ends, eos=eos)
        got, _ = desk.run(9)
        assert_tokens(got, desk.want(9))


@task("generate", contract=41)
@pytest.mark.parametrize(("ends", "num_eos"), [(0, 2), (3, 1), (5, 3)], ids=str)
def test_eos_does_not_enter(student, draw, ends, num_eos):
    """The tokens before an EOS have entered, and then no other does."""
    desk = Desk(student, draw, 5, ends=ends, num_eos=num_eos)

    _, model = desk.run(9)

    assert_entered(model, desk.prompt, desk.want(9))


@task("generate", contract=42)
def test_eos_inside_the_prompt_ends_nothing(student, draw):
    """Only a generated EOS ends the sequence; in a prompt it is a token like any other."""
    desk = Desk(student, draw, 6, ends=5, num_eos=2)
    desk.prompt[2], desk.prompt[-1] = desk.eos_ids

    got, _ = desk.run(9)

    assert_tokens(got, desk.want(9))


@task("generate", contract=44)
@pytest.mark.parametrize("max_new_tokens", [0, 1, 2])
def test_few_tokens(student, draw, max_new_tokens):
    """max_new_tokens bounds the answer; 0 gives an empty list."""
    desk = Desk(student, draw, 4)

    got, _ = desk.run(max_new_tokens)

    assert_tokens(got, desk.want(max_new_tokens))


@task("generate", contract=43)
@pytest.mark.parametrize("eos_ids", [[], (), (7, 9)], ids=["none", "no tuple", "a tuple"])
def test_eos_ids_may_be_any_collection(student, draw, eos_ids):
    """eos_ids may be empty, and need not be a list."""
    desk = Desk(student, draw, 3, num_eos=0)
    desk.eos_ids = [*eos_ids]

    got, _ = desk.run(6, eos_ids=eos_ids)

    assert_tokens(got, desk.want(6))


@task("generate", contract=38)
def test_two_sequences_share_nothing(student, draw):
    """Each call of generate starts with caches of its own: one sequence leaves nothing behind."""
    desk, other = (Desk(student, draw, length) for length in (7, 4))
    other.script = desk.script

    answers = [(which.run(5)[0], which) for which in (desk, other, desk)]

    for got, which in answers:
        assert_tokens(got, which.want(5))


@task("generate", contract=46)
def test_generate_leaves_the_prompt_alone(student, draw):
    """The lists of the prompt and of the EOS ids are not modified."""
    desk = Desk(student, draw, 5, ends=3, num_eos=4)
    prompt = student.watch([*desk.prompt])
    eos_ids = student.watch(sorted(desk.eos_ids, reverse=True))

    desk.run(4, prompt=prompt, eos_ids=eos_ids)

    assert_unmodified(prompt, "prompt")
    assert_unmodified(eos_ids, "eos_ids")


# --- generate with a Llama -------------------------------------------------------------------


class Step(NamedTuple):
    """A call of the model: T tokens entered, S were there then, and what it cost."""

    new: int
    context: int
    flops: int | None  # None: not counted


@dataclass(slots=True)
class Metered:
    """The given Llama as a model of ours: what enters it, and what each call costs, is noted."""

    student: Any
    inside: Proxy
    steps: list[Step] = field(default_factory=list)

    def __call__(
        self, tokens: Any, positions: Any, caches: list[Proxy], attend: Proxy
    ) -> Tensor:  # [1, T, V]
        for value, name in ((tokens, "tokens"), (positions, "positions")):
            expect(value, Tensor, f"{name}, as the model gets them,")
            integers = value.dtype in INTEGERS and value.dim() == 2
            check(integers, f"{name} must be an integer tensor [1, T]")
            check(0 < value.numel() < 2_000, f"the model was given {value.numel()} {name}")
        context = int(positions.max()) + 1
        counted = self.student.flops() if context % EVERY == 0 or not self.steps else nullcontext()
        with counted as flops:
            out = self.inside(tokens, positions, caches=caches, attend=attend)
        self.steps.append(Step(tokens.shape[1], context, flops.total if flops else None))
        return expect(out, Tensor, "the logits")


def metered_run(
    student: Any, model: Small, prompt: list[int], new: int, *, veiled: bool = False
) -> tuple[list[int], Metered]:
    """Generate with a Llama inside the worker, its FLOPs counted call by call."""
    veil = student.veil if veiled else lambda tensor: tensor
    with student.flops():
        pass  # the first counter imports a lot: not in the submission's time
    meter = Metered(student, model.inside)
    lent = lend_model(student, meter, model.fields["num_layers"])
    make = student.lend(lambda: lent_history(student, lambda: Spread(veil)))
    return expect(student.generate(lent, prompt, new, [], make), list[int]), meter


def assert_greedy(model: Small, prompt: list[int], got: list[int], slack: float) -> None:
    """Fail if a token is not the best, by float64, of all that precede it."""
    wide = {name: weight.double() for name, weight in model.weights.items()}
    inside = all(0 <= token < model.fields["vocab_size"] for token in got)
    check(inside, "the answer holds an id outside the vocabulary")
    regrets = llama.regrets(model.config, wide, prompt, got) if got else []
    worst = next((i for i, regret in enumerate(regrets) if regret > slack), None)
    check(worst is None, f"new token {worst} is not the greedy one")


@task("generate", contract=47)
def test_cost_of_a_step(student, draw):
    """A step costs one token's share of the weights, and attention over the tokens so far."""
    prompt, new = draw.tokens(VOCAB, 17), 48

    with student.torch_alone():
        model = small(student, draw, num_layers=2, veiled=True)
        got, meter = metered_run(student, model, prompt, new, veiled=True)
        assert_greedy(model, prompt, got, 1e-3)

    check(len(got) == new, f"{len(got)} new tokens came back, expected {new}")
    per_token = oracle.weight_flops(model.config)
    for step in meter.steps:
        if step.flops is None:
            continue
        needed = step.new * per_token + step_attention(model, step.new, step.context)
        times = f"{step.flops / needed:.1f} times what it needs"
        check(step.flops <= 1.5 * needed, f"the step to position {step.context} costs {times}")
    entered, tokens = sum(step.new for step in meter.steps), len(prompt) + new
    check(entered <= tokens, f"{entered} tokens entered the model for {tokens} in all")


def step_attention(model: Small, new: int, context: int) -> int:
    """FLOPs of attention in all layers, a second time over: torch may count a detour."""
    sizes = model.config.num_heads, new, context, model.config.head_dim
    return 2 * model.config.num_layers * oracle.attention_flops(1, *sizes)


@task("generate", contract=45)
def test_generate_passes_its_attention(student, draw):
    """The model gets attend: the function of the same file."""
    model = small(student, draw, num_layers=1)
    seen: list[Tensor] = []
    q, k, v = queries_of(draw, 1, 4, 2, 3, 8, 6)

    def call(tokens: Any, positions: Any, caches: list[Proxy], attend: Proxy) -> Tensor:
        seen.append(attend(q, k, v))
        return model.inside(tokens, positions, caches=caches, attend=attend)

    make = student.lend(lambda: lent_history(student))
    lent = lend_model(student, call, 1)
    expect(student.generate(lent, draw.tokens(VOCAB, 4), 2, [], make), list[int])

    for got in seen:
        assert_attended(got, q, k, v, "the result of the attend passed")


@task("generate", contract=48)
def test_trained_model_continues_as_by_full_recompute(student, draw):
    """On the target checkpoint each new token is the best one, given all before it."""
    folder = student.checkpoint("target").host
    model = trained(student, folder)
    prompt = draw.tokens(model.fields["vocab_size"], 9)

    got, meter = metered_run(student, model, prompt, 5)

    check(len(got) == 5, f"{len(got)} new tokens came back, expected 5")
    check(sum(step.new for step in meter.steps) <= 14, "tokens entered more than once")
    assert_greedy(model, prompt, got, 1e-2)


def trained(student: Any, folder: Any) -> Small:
    raw = json.loads((folder / "config.json").read_text())
    fields = FIELDS | {
        **{name: raw[name] for name in ("vocab_size", "hidden_size", "intermediate_size")},
        **{name: raw[name] for name in ("head_dim", "rms_norm_eps", "tie_word_embeddings")},
        **{"num_layers": raw["num_hidden_layers"], "num_heads": raw["num_attention_heads"]},
        **{"num_kv_heads": raw["num_key_value_heads"]},
        "rope_theta": raw.get("rope_parameters", raw)["rope_theta"],
    }
    weights = {name: w.float() for name, w in load_file(folder / "model.safetensors").items()}
    return loaded(student, fields, weights)


# --- bytes -----------------------------------------------------------------------------------


def assert_bytes(student: Any, batch: int, length: int, dtype: torch.dtype, **changes: Any) -> None:
    fields = FIELDS | changes
    got = student.cache_bytes(student.record("LlamaConfig", **fields), batch, length, dtype)

    want = oracle.cache_bytes(SimpleNamespace(**fields), batch, length, dtype.itemsize)
    check(expect(got, int) == want, f"the result is {got}, expected {want}")


@task("bytes", contract=49, gate=True)
def test_bytes_of_all_keys_and_values(student, draw):
    """A token costs keys and values of all key/value heads, in every layer, for each sequence."""
    for _ in range(4):
        groups, per_group, width, layers, batch, length = draw.shuffled([2, 3, 5, 7, 11, 13])
        sizes = {"num_kv_heads": groups, "num_heads": groups * per_group, "head_dim": 2 * width}
        assert_bytes(student, batch, length, torch.float32, num_layers=layers, **sizes)


@task("bytes", contract=50)
def test_bytes_follow_the_kept_heads(student):
    """Neither the heads of the queries nor the width of the model change what is kept."""
    for heads, width in ((2, 12), (8, 12), (6, 48), (4, 8)):
        assert_bytes(student, 2, 9, torch.float32, num_heads=heads, hidden_size=width)


@task("bytes", contract=51)
@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, BF16, torch.float16, torch.int8, torch.float8_e4m3fn],
    ids=str,
)
def test_bytes_of_other_dtypes(student, dtype):
    """A number takes the bytes of its dtype."""
    assert_bytes(student, 3, 17, dtype)


@task("bytes", contract=52)
@pytest.mark.parametrize(
    ("batch", "length"), [(1, 1), (5, 0), (64, 131_072), (9_999_991, 999_983)], ids=str
)
def test_bytes_of_few_and_many_tokens(student, batch, length):
    """No token costs nothing, and the bytes of a large model are exact."""
    large = {"num_layers": 79, "num_heads": 35, "num_kv_heads": 7, "head_dim": 127}

    assert_bytes(student, batch, length, BF16, **large)
