"""Hidden suite of lab 04. Attention does not see a shift of all positions: look at keys and masks.

No verdict is drawn: comparisons are exact or within the tolerance table, whatever the seed.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Mismatch,
    Proxy,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    check_within,
    expect,
    task,
)
from reference import rope as oracle
from reference.limits import conditions
from reference.rope import Update

BF16, FP16 = torch.bfloat16, torch.float16
QUAD = tuple[Tensor, Tensor, Tensor, Tensor]
Part = tuple[Tensor, Tensor, Tensor]  # k, v, positions of one update
NAMES = ("k", "v", "positions")
BOTH = pytest.mark.parametrize("kind", ["PostRopeCache", "PreRopeCache"])
# A tensor in one block of memory, and one whose rows are the same memory.
LAYOUTS = pytest.mark.parametrize("layout", ["one block", "expanded"])


def formed(value: Any, shape: tuple[int, ...], dtype: torch.dtype, what: str) -> Tensor:
    """Return a reply that is a tensor of this shape and dtype, else fail."""
    tensor = expect(value, Tensor, what)
    found, wanted = list(tensor.shape), list(shape)
    check(found == wanted, f"{what} should have shape {wanted}, not {found}")
    check(tensor.dtype is dtype, f"{what} should be {dtype}, not {tensor.dtype}")
    return tensor


def laid_out(x: Tensor, layout: str) -> Tensor:
    return x.contiguous() if layout == "one block" else x[:1].expand(x.shape)


# --- frequencies -----------------------------------------------------------------------------


def assert_frequencies(
    got: Any,
    dim: int,
    theta: float,
    scaling: dict[str, Any] | None = None,
    turns: tuple[float, float] = (0.0, float("inf")),
) -> None:
    """Compare, by ratio, the pairs that turn so often: the last is a millionth of the first.

    Forgiven is what a plain frequency that is off by 2e-6, and by four roundings of its logarithm,
    makes of the result: a blend near the low bound is ``factor`` times as sensitive.
    """
    ratios = formed(got, (dim // 2,), torch.float32, "the result").double()
    wrong: list[str] = []
    exact = oracle.rope_frequencies(dim, theta)
    offs = 1e-6 + 2 * conditions.frequencies_off(exact) / exact
    for i, (plain, off) in enumerate(zip(exact.tolist(), offs.tolist(), strict=True)):
        if scaling and not turns[0] < oracle.turns_of(plain, scaling) < turns[1]:
            continue
        want = oracle.scaled(plain, scaling)
        near = [oracle.scaled(plain * (1 + way), scaling) / want for way in (-off, off)]
        limit = 2 * max(abs(ratio - 1) for ratio in near)
        if not abs(float(ratios[i]) / want - 1) <= limit:
            wrong.append(f"frequency {i} is {float(ratios[i]):.7g}, expected {want:.7g}")
    check(not wrong, f"{len(wrong)} of {dim // 2} frequencies are wrong: {' '.join(wrong[:1])}")


def llama3(draw: Any, **fixed: float) -> dict[str, Any]:
    """Draw a scaling that no model has, far from the numbers that every example has."""
    return {
        "rope_type": "llama3",
        "factor": draw.choice([3.0, 5.5, 20.0]),
        "low_freq_factor": draw.choice([1.5, 2.0, 3.0]),
        "high_freq_factor": draw.choice([7.0, 11.0, 30.0]),
        "original_max_position_embeddings": draw.choice([1500, 5000, 70_000]),
    } | fixed


@task("frequencies", contract=1, gate=True)
@pytest.mark.parametrize(("dim", "theta"), [(6, 10_000.0), (34, 37.0), (128, 500_000.0)])
def test_plain_frequencies(student, dim, theta):
    """Frequency i of D/2 is theta ** (-2i / D), as float32; the first is 1."""
    assert_frequencies(student.rope_frequencies(dim, theta), dim, theta)


@task("frequencies", contract=2)
@pytest.mark.parametrize("dim", [2, 4, 10, 80, 254])
def test_every_even_width(student, dim):
    """D may be any even number, 2 too; without scaling the third argument is None."""
    assert_frequencies(student.rope_frequencies(dim, 1_000_000.0, None), dim, 1_000_000.0)


@task("frequencies", contract=7)
@pytest.mark.parametrize("factor", [8.0, 32.0])
@pytest.mark.parametrize("dim", [64, 128])
def test_scaling_of_llama_3(student, dim, factor):
    """With the numbers of Llama 3.1 and 3.2 the frequencies are those of Hugging Face."""
    scaling = {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }

    got = student.rope_frequencies(dim, 500_000.0, scaling)

    assert_frequencies(got, dim, 500_000.0, scaling)


@task("frequencies", contract=3)
@pytest.mark.parametrize("theta", [1.5, 10_000.0, 1e9, 2.0**64], ids="theta {:g}".format)
def test_frequencies_are_float32(student, theta):
    """The frequencies are float32, and each is as right as that allows, the last one too."""
    assert_frequencies(student.rope_frequencies(256, theta), 256, theta)


def assert_band(student: Any, draw: Any, least: str, most: str) -> None:
    """Compare the pairs whose turns lie between two of the bounds of a scaling."""
    scaling = llama3(draw)
    bounds = {"none": 0.0, "any": 1e9} | scaling
    dim = draw.choice([106, 150, 202])  # wide enough for several pairs in each band

    got = student.rope_frequencies(dim, 10_000.0, scaling=scaling)

    assert_frequencies(got, dim, 10_000.0, scaling, (bounds[least], bounds[most]))


@task("frequencies", contract=4)
def test_fast_pairs_keep_their_frequency(student, draw):
    """A pair that turns more often than high_freq_factor in the original context is not scaled."""
    assert_band(student, draw, "high_freq_factor", "any")


@task("frequencies", contract=5)
def test_slow_pairs_are_divided(student, draw):
    """A pair that turns less often than low_freq_factor in the original context is divided."""
    assert_band(student, draw, "none", "low_freq_factor")


@task("frequencies", contract=6)
def test_between_the_bounds_frequencies_are_mixed(student, draw):
    """Between the bounds the share of the plain frequency grows evenly with the turns."""
    assert_band(student, draw, "low_freq_factor", "high_freq_factor")


@task("frequencies", contract=7)
def test_all_numbers_are_read_from_the_dict(student, draw):
    """The numbers come from the dict, ints or floats; other keys in it change nothing."""
    scaling = llama3(draw, factor=6, low_freq_factor=2, high_freq_factor=9)
    more = {"attention_factor": 3.0, "beta_fast": 32.0, "rope_theta": 7.0}

    got = student.rope_frequencies(90, 10_000.0, scaling | more)

    assert_frequencies(got, 90, 10_000.0, scaling)


@task("frequencies", contract=8)
def test_scaling_does_not_stay(student, draw):
    """Each call is for itself: no scaling reaches the next; all pairs may be fast, or slow."""
    fast, slow = (llama3(draw, original_max_position_embeddings=n) for n in (10**9, 3))

    for scaling in (llama3(draw, factor=2.5), None, fast, slow):
        got = student.rope_frequencies(70, 10_000.0, scaling)
        assert_frequencies(got, 70, 10_000.0, scaling)


@task("frequencies", contract=9)
def test_scaling_is_left_alone(student, draw):
    """The caller's dictionary is as it was, and serves again."""
    scaling = llama3(draw)
    watched = student.watch(scaling)

    got = student.rope_frequencies(70, 10_000.0, watched)

    assert_frequencies(got, 70, 10_000.0, scaling)
    assert_unmodified(watched, "scaling")


# --- rotate ----------------------------------------------------------------------------------


def some_frequencies(draw: Any, width: int) -> Tensor:  # float32 [D/2]
    """Draw frequencies that belong to no theta: a slow one, the others anywhere."""
    found = torch.rand(width // 2, generator=draw.generator) * 0.9 + 0.05
    found[-1] /= 50 if width > 2 else 1
    return found


def assert_rotated(
    got: Any, x: Tensor, positions: Tensor, frequencies: Tensor, what: str = "the result"
) -> None:
    want = oracle.rotate(x.double(), positions, frequencies)
    # In 16 bits, x * cos may be rounded before it is added, as Hugging Face does.
    trusted = oracle.rotate(x, positions, frequencies)
    assert_close(got, want, "elementwise", like=x, trusted=trusted, inner=4096, what=what)


@task("rotate", contract=10, gate=True)
@pytest.mark.parametrize(
    "shape", [(3, 5, 7, 6), (4, 2, 3, 16), (3, 1, 1, 2), (1, 4, 1, 14), (2, 1, 70, 4)], ids=str
)
def test_pairs_half_a_head_apart_turn(student, draw, shape):
    """Element i pairs with element i + D/2 and turns by position * frequencies[i]."""
    x, positions = draw.normal(*shape), draw.integers(1, 40, shape[0], shape[2])
    frequencies = some_frequencies(draw, shape[3])

    got = student.rotate(x, positions, frequencies)

    assert_rotated(got, x, positions, frequencies)


@task("rotate", contract=11)
def test_each_row_has_its_own_positions(student, draw):
    """Positions differ from row to row, repeat, jump, and come in any order; 0 turns nothing."""
    x, positions = draw.normal(4, 2, 9, 10), draw.integers(0, 300, 4, 9)
    positions[0, 2:5] = 0
    positions[1, 3] = positions[1, 0]
    positions[2] = positions[2].sort(descending=True).values
    positions[3, 1:] = positions[3, 0]
    frequencies = some_frequencies(draw, 10)

    assert_rotated(student.rotate(x, positions, frequencies), x, positions, frequencies)


@task("rotate", contract=12)
@pytest.mark.parametrize("offset", [1, 7, 30])
def test_only_differences_count_in_dot_products(student, draw, offset):
    """The dot product of a query and a key depends on how far apart they are, not on where."""
    starts, frequencies = draw.integers(0, 60, 3, 5), some_frequencies(draw, 12)
    q, k = (draw.normal(1, 1, 1, 12) for _ in NAMES[:2])

    turned = [
        formed(student.rotate(x, at, frequencies), (3, 4, 5, 12), x.dtype, "the result").double()
        for x, at in ((q.repeat(3, 4, 5, 1), starts + offset), (k.repeat(3, 4, 5, 1), starts))
    ]

    want = float((oracle.rotate(q.double(), torch.tensor([[offset]]), frequencies) * k).sum())
    found = (turned[0] * turned[1]).sum(-1).flatten()
    worst = float(found[(found - want).abs().argmax()])
    far = abs(worst - want) / float(q.norm() * k.norm())
    text = f"of tokens {offset} apart a dot product is {worst:.5f}, expected {want:.5f} anywhere"
    check_within(far, 1e-4, text, "a dot product")


@task("rotate", contract=13)
@pytest.mark.parametrize("dtype", [torch.float32, BF16, FP16], ids=str)
@pytest.mark.parametrize("start", [2_000, 100_000, 15_000_000])
def test_angles_are_float32_far_out(student, draw, dtype, start):
    """Far out angles are still products in float32, in whatever dtype x comes and leaves."""
    x, positions = draw.normal(3, 2, 7, 12, dtype=dtype), start + draw.integers(0, 9_000, 3, 7)
    frequencies = oracle.rope_frequencies(12, 10_000.0).float()

    assert_rotated(student.rotate(x, positions, frequencies), x, positions, frequencies)


@task("rotate", contract=14)
@pytest.mark.parametrize("dtype", [BF16, FP16], ids=str)
def test_rotation_in_sixteen_bits(student, draw, dtype):
    """x in 16 bits comes back in its dtype, and no less precise than that can be."""
    x, positions = draw.normal(3, 2, 11, 14, dtype=dtype), draw.integers(0, 50, 3, 11)
    frequencies = some_frequencies(draw, 14)

    assert_rotated(student.rotate(x, positions, frequencies), x, positions, frequencies)


@task("rotate", contract=15)
@pytest.mark.parametrize("dtype", [torch.float32, BF16], ids=str)
def test_rotate_reads_views_and_leaves_its_arguments_alone(student, draw, dtype):
    """A [B, T, H, D] tensor seen as [B, H, T, D] gives the same; nothing is modified."""
    x = draw.normal(3, 5, 2, 13, dtype=dtype)[..., 1:].transpose(1, 2)
    positions = draw.integers(0, 50, 5, 6).t()[:3, :]
    frequencies = some_frequencies(draw, 28)[1:13:2]
    watched = [student.watch(value) for value in (x, positions, frequencies)]

    got = student.rotate(*watched)

    assert_rotated(got, x, positions, frequencies)
    for value, name in zip(watched, ("x", "positions", "frequencies"), strict=True):
        assert_unmodified(value, name)


@task("rotate", contract=15)
@LAYOUTS
@pytest.mark.parametrize("dtype", [torch.float32, BF16], ids=str)
def test_rotate_leaves_every_layout_alone(student, draw, dtype, layout):
    """However x and the positions lie in memory, the result is new and they stay as they were."""
    x = laid_out(draw.normal(3, 2, 5, 8, dtype=dtype), layout)
    positions, frequencies = laid_out(draw.integers(1, 50, 3, 5), layout), some_frequencies(draw, 8)
    watched = [student.watch(value) for value in (x, positions, frequencies)]

    got = student.rotate(*watched)

    assert_rotated(got, x, positions, frequencies)
    for value, name in zip(watched, ("x", "positions", "frequencies"), strict=True):
        assert_unmodified(value, name)


# --- what a cache returns --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tokens:
    """Un-rotated keys and values [B, G, T, D] with positions [B, T], and the frequencies."""

    k: Tensor
    v: Tensor
    positions: Tensor
    frequencies: Tensor

    def split(self, sizes: tuple[int, ...]) -> list[Part]:
        parts = (self.k.split(sizes, 2), self.v.split(sizes, 2), self.positions.split(sizes, 1))
        return list(zip(*parts, strict=True))


def tokens_of(
    draw: Any,
    count: int,
    shape: tuple[int, int, int] = (3, 2, 6),  # B, G, D
    low: int = 0,
    high: int = 80,
    dtype: torch.dtype = torch.float32,
) -> Tokens:
    """Draw tokens: positions jump and come in any order, and the last one of a row is its first."""
    batch, groups, width = shape
    k, v = (draw.normal(batch, groups, count, width, dtype=dtype) for _ in NAMES[:2])
    positions = draw.integers(low, high, batch, count)
    positions[0, -1] = positions[0, 0]
    return Tokens(k, v, positions, some_frequencies(draw, width))


def assert_places(got: Any, want: Tensor, what: str) -> None:
    """Compare positions; int32 will do."""
    tensor = expect(got, Tensor, what)
    integers = tensor.dtype in (torch.int64, torch.int32)
    check(integers, f"{what} should be integers, not {tensor.dtype}")
    assert_equal(tensor.long(), want, what)


def assert_told(reply: Update, want: Update) -> None:
    """Compare all that a cache hands back as it came."""
    assert_equal(reply[1], want[1], "values")
    assert_places(reply[2], want[2], "key_positions")
    assert_places(reply[3], want[3], "query_positions")


def assert_update(got: Any, truth: Any, part: Part) -> None:
    """Hold what an update with ``part`` returned against the oracle's cache, which gets it too."""
    reply = expect(got, QUAD, "what update returns")
    want = truth.update(*part)
    assert_told(reply, want)
    assert_rotated(reply[0], truth.raw_keys, want[2], truth.frequencies, "keys")


def veiled(student: Any, part: Part) -> tuple[Any, Any, Tensor]:
    """Return a part of whose keys and values torch's operators alone see the numbers."""
    return student.veil(part[0]), student.veil(part[1]), part[2]


def assert_length(cache: Any, want: int) -> None:
    length = expect(cache.length, int, "length")
    check(length == want, f"length is {length} where the cache holds {want} tokens")


def open_cache(student: Any, kind: str, frequencies: Any, *settings: int) -> Proxy:
    cache = getattr(student, kind)(frequencies, *settings)
    return expect(cache, Proxy, f"{kind}(...)")


def truth_of(kind: str, frequencies: Tensor, *settings: int) -> Any:
    truths = {"SinkCache": oracle.SinkCache}
    return truths.get(kind, oracle.RopeCache)(frequencies, *settings)


def assert_updates(
    student: Any, kind: str, tokens: Tokens, sizes: tuple[int, ...], *settings: int
) -> None:
    """Feed the tokens to a new cache, and to the oracle's, in parts of these sizes."""
    cache = open_cache(student, kind, tokens.frequencies, *settings)
    truth = truth_of(kind, tokens.frequencies, *settings)
    for part in tokens.split(sizes):
        assert_update(cache.update(*part), truth, part)


# --- caches ----------------------------------------------------------------------------------


@task("caches", contract=16, gate=True)
@BOTH
@pytest.mark.parametrize("sizes", [(7,), (5, 4)], ids=["one update", "two updates"])
def test_each_key_is_rotated_by_its_own_position(student, draw, kind, sizes):
    """update returns all tokens so far: keys, each rotated by its own position, and values."""
    assert_updates(student, kind, tokens_of(draw, sum(sizes), (4, 3, 8)), sizes)


@task("caches", contract=18)
@BOTH
@pytest.mark.parametrize(
    ("shape", "sizes"),
    [
        pytest.param((3, 2, 4), (6, 1, 1, 1, 1, 1), id="prefill and decode"),
        pytest.param((1, 5, 2), (1,) * 8, id="one row from nothing"),
        pytest.param((4, 1, 10), (4, 4, 4), id="equal chunks"),
        pytest.param((3, 2, 4), (3, 1, 7, 2, 11, 1), id="any chunks"),
    ],
)
def test_decode_and_chunks(student, draw, kind, shape, sizes):
    """However a sequence is cut into updates, each returns what one prefill of all would."""
    assert_updates(student, kind, tokens_of(draw, sum(sizes), shape), sizes)


@task("caches", contract=20)
@BOTH
@pytest.mark.parametrize("dtype", [torch.float32, BF16, FP16], ids=str)
def test_keys_far_out(student, draw, kind, dtype):
    """Beyond position 100,000 the keys of both caches are as precise; dtypes are kept."""
    tokens = tokens_of(draw, 9, (3, 2, 10), low=14_000_000, high=16_000_000, dtype=dtype)

    assert_updates(student, kind, tokens, (6, 1, 2))


def assert_lengths(student: Any, draw: Any, kind: str, *settings: int) -> None:
    """Look at length before any update and after each."""
    tokens = tokens_of(draw, 12)
    cache = open_cache(student, kind, tokens.frequencies, *settings)
    truth = truth_of(kind, tokens.frequencies, *settings)
    assert_length(cache, 0)

    for part in tokens.split((3, 2, 5, 1, 1)):
        expect(cache.update(*part), QUAD, "what update returns")
        truth.update(*part)
        assert_length(cache, truth.length)


def assert_independent(student: Any, draw: Any, kind: str, *settings: int) -> None:
    """Fill two caches of a class in turns; tokens, frequencies and settings are their own."""
    pair = tokens_of(draw, 8), tokens_of(draw, 8, (2, 3, 4))
    others = tuple(setting + 1 for setting in settings)
    made = [
        (open_cache(student, kind, one.frequencies, *own), truth_of(kind, one.frequencies, *own))
        for one, own in zip(pair, (settings, others), strict=True)
    ]

    for parts in zip(*(tokens.split((3, 1, 2, 2)) for tokens in pair), strict=True):
        for (cache, truth), part in zip(made, parts, strict=True):
            assert_update(cache.update(*part), truth, part)


def assert_views_will_do(student: Any, draw: Any, kind: str, *settings: int) -> None:
    """Fill a cache with views, and look at all arguments afterwards."""
    frequencies = student.watch(some_frequencies(draw, 8))
    cache = open_cache(student, kind, frequencies, *settings)
    assert_unmodified(frequencies, "frequencies")
    truth = truth_of(kind, frequencies.value, *settings)

    for count in (5, 1, 2):
        k, v = (draw.normal(3, count, 2, 9)[..., 1:].transpose(1, 2) for _ in NAMES[:2])
        positions = draw.integers(0, 60, count + 2, 3).t()[:, 1:-1]
        watched = [student.watch(value) for value in (k, v, positions)]
        assert_update(cache.update(*watched), truth, (k, v, positions))
        for value, name in zip(watched, NAMES, strict=True):
            assert_unmodified(value, name)


@task("caches", contract=21)
@BOTH
def test_length_counts_the_tokens(student, draw, kind):
    """length is 0 at first, then the number of tokens that the cache holds."""
    assert_lengths(student, draw, kind)


def assert_zeros_count(student: Any, draw: Any, kind: str, *settings: int) -> None:
    """Add tokens of zeros, at position 0: first of all, between others, and last of all."""
    tokens = tokens_of(draw, 9)
    for value in (tokens.k, tokens.v, tokens.positions[:, None, :, None]):
        value[:, :, [0, 1, 4, 8]] = 0
    cache = open_cache(student, kind, tokens.frequencies, *settings)
    truth = truth_of(kind, tokens.frequencies, *settings)

    for part in tokens.split((2, 1, 1, 3, 1, 1)):
        assert_update(cache.update(*part), truth, part)
        assert_length(cache, truth.length)


@task("caches", contract=21)
@BOTH
def test_tokens_of_zeros_count(student, draw, kind):
    """A token whose key and value are zeros, at position 0, is a token like any other."""
    assert_zeros_count(student, draw, kind)


@task("caches", contract=23)
@BOTH
@LAYOUTS
def test_caches_leave_every_layout_alone(student, draw, kind, layout):
    """However k, v and positions lie in memory, they stay as they were."""
    tokens = tokens_of(draw, 7, (3, 2, 8))
    cache, truth = open_cache(student, kind, tokens.frequencies), truth_of(kind, tokens.frequencies)

    for part in tokens.split((4, 1, 2)):
        k, v, positions = (laid_out(value, layout) for value in part)
        watched = [student.watch(value) for value in (k, v, positions)]
        assert_update(cache.update(*watched), truth, (k, v, positions))
        for value, name in zip(watched, NAMES, strict=True):
            assert_unmodified(value, name)


@task("caches", contract=22)
@BOTH
def test_caches_are_independent(student, draw, kind):
    """Two caches of a class share neither tokens nor frequencies."""
    assert_independent(student, draw, kind)


@task("caches", contract=23)
@BOTH
def test_caches_read_views_and_leave_arguments_alone(student, draw, kind):
    """Keys and values may be views; no argument is modified, the constructor's neither."""
    assert_views_will_do(student, draw, kind)


@task("caches", contract=17)
@BOTH
def test_values_and_positions_come_back(student, draw, kind):
    """values and key_positions are what came in, query_positions those of the last update."""
    tokens = tokens_of(draw, 11, (4, 3, 6), high=9000)
    cache, truth = open_cache(student, kind, tokens.frequencies), truth_of(kind, tokens.frequencies)

    for part in tokens.split((5, 1, 3, 2)):
        reply = expect(cache.update(*part), QUAD, "what update returns")
        assert_told(reply, truth.update(*part))


@task("caches", contract=19)
@BOTH
@pytest.mark.parametrize("sizes", [(5000, 1), (2100, 2100)], ids=str)
def test_room_for_thousands(student, draw, kind, sizes):
    """No number of tokens is too many."""
    assert_updates(student, kind, tokens_of(draw, sum(sizes), (3, 1, 2)), sizes)


ARITHMETIC = "mul add sub neg div cos sin polar addcmul addcdiv rsub mm bmm baddbmm".split()


@task("caches", contract=24)
def test_each_cache_rotates_when_its_name_says(student, draw):
    """PostRopeCache computes nothing on old keys; PreRopeCache, which rotates them all, must."""
    first, last = tokens_of(draw, 42, (3, 2, 8)).split((41, 1))
    seen: dict[str, dict[str, int]] = {}
    for kind in ("PostRopeCache", "PreRopeCache"):
        frequencies = some_frequencies(draw, 8)
        cache, truth = open_cache(student, kind, frequencies), truth_of(kind, frequencies)
        with student.torch_alone():
            assert_update(cache.update(*veiled(student, first)), truth, first)
            with student.operators() as operators:
                got = cache.update(*veiled(student, last))
            assert_update(got, truth, last)
        seen[kind] = operators.seen

    post = {name.rstrip("_"): size for name, size in seen["PostRopeCache"].items()}
    most = max((post.get(name, 0) for name in ARITHMETIC), default=0)
    # The cosines of all tokens, [B, S, D/2], are the least that rotating old keys again would make.
    few = 3 * 42 * 4
    made = f"to add a token to 41 PostRopeCache computes on tensors of {most} elements"
    check(most < few, f"{made}, expected fewer than {few}: old keys are rotated already")
    same = seen["PostRopeCache"] == seen["PreRopeCache"]
    check(not same, "PreRopeCache does for one more token exactly what PostRopeCache does")


# --- attend ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Told:
    """A cache of the judge: it notes what comes in, and returns what it was told to."""

    update_: Update
    calls: list[dict[str, Any]] = field(default_factory=list)

    @property
    def length(self) -> int:
        return self.update_[0].shape[2] if self.calls else 0

    def update(self, *args: Any, **named: Any) -> Update:
        given = dict(zip(NAMES, args, strict=False)) | named
        right = len(args) + len(named) == 3 and set(given) == set(NAMES)
        check(right, "cache.update takes k, v and positions")
        check(not self.calls, "attend calls cache.update more than once")
        self.calls.append(given)
        return self.update_


@dataclass(frozen=True, slots=True)
class Question:
    """Arguments of ``attend``, and an update that has nothing to do with them but its shape."""

    q: Tensor
    k: Tensor
    v: Tensor
    positions: Tensor
    frequencies: Tensor
    update: Update

    def ask(self, student: Any, cache: Any, *flags: str) -> Any:
        lent = student.lend(cache, methods=("update",), attributes=("length", *flags))
        return student.attend(self.q, self.k, self.v, self.positions, lent, self.frequencies)

    def answer(self, student: Any) -> Told:
        """Ask with a cache that knows the update, hold the result against the oracle."""
        cache = Told(self.update)
        assert_attended(self.ask(student, cache), self.q, self.update, self.frequencies)
        return cache


def question(
    draw: Any,
    heads: int = 6,
    groups: int = 2,
    new: int = 5,
    context: int = 9,
    dtype: torch.dtype = torch.float32,
    scale: float = 1.0,
    far: int = 0,
) -> Question:
    """Draw a question for B = 3, D = 8; each query may see a key, and most may not see some."""
    q = draw.normal(3, heads, new, 8, dtype=dtype, scale=scale)
    k, v = (draw.normal(3, groups, new, 8, dtype=dtype) for _ in NAMES[:2])
    keys, values = (draw.normal(3, groups, context, 8, dtype=dtype) for _ in NAMES[:2])
    key_positions, query_positions = draw.integers(0, 40, 3, context), draw.integers(9, 45, 3, new)
    for row, column in enumerate(draw.integers(0, context, 3).tolist()):
        if context > 1:
            key_positions[row, column - 1] = query_positions[row, 0]  # "<=" at equality
        key_positions[row, column] = row
    update = keys, values + 0.5, key_positions + far, query_positions + far
    positions = draw.integers(50, 5000, 3, new)
    return Question(q, k, v, positions, some_frequencies(draw, 8), update)


def assert_attended(got: Any, q: Tensor, update: Update, frequencies: Tensor) -> None:
    exact = update[0].double(), update[1].double(), *update[2:]
    want = oracle.attend(q.double(), exact, frequencies)
    trusted = oracle.attend(q, update, frequencies)
    turned = oracle.rotate(q.double(), update[3], frequencies)
    seen = update[2][:, None, None, :] <= update[3][:, None, :, None]
    off, _ = conditions.attention_off(turned, *exact[:2], seen)
    assert_close(got, want, "attention", like=q, trusted=trusted, inner=4096, off=off)


@task("attend", contract=26, gate=True)
def test_a_cache_never_seen_before(student, draw):
    """attend works with any cache: its keys, values and positions are what update returns."""
    question(draw).answer(student)


@task("attend", contract=25, gate=True)
@pytest.mark.parametrize("dtype", [torch.float32, BF16], ids=str)
def test_the_cache_gets_un_rotated_keys(student, draw, dtype):
    """attend calls cache.update once, with k, v and positions exactly as they came."""
    asked, cache = (found := question(draw, dtype=dtype)), Told(found.update)

    expect(asked.ask(student, cache), Tensor)

    check(len(cache.calls) == 1, "attend should call cache.update once")
    assert_equal(cache.calls[0]["k"], asked.k, "k, as the cache gets it,")
    assert_equal(cache.calls[0]["v"], asked.v, "v, as the cache gets it,")
    places = cache.calls[0]["positions"]
    assert_places(places, asked.positions, "positions, as the cache gets them,")


@task("attend", contract=27)
@pytest.mark.parametrize("apart", [5_000, 200_000])
def test_no_key_is_too_far_away(student, draw, apart):
    """A query sees the keys behind it, however many positions lie between: there is no window."""
    asked = question(draw, new=2, context=7)
    keys, values, key_positions, query_positions = asked.update
    update = keys, values, key_positions, query_positions + apart

    got = replace(asked, update=update).ask(student, Told(update))

    assert_attended(got, asked.q, update, asked.frequencies)


@task("attend", contract=33)
@LAYOUTS
def test_attend_leaves_every_layout_alone(student, draw, layout):
    """However what comes in lies in memory, it stays as it was."""
    asked = question(draw)
    given = [laid_out(x, layout) for x in (asked.q, asked.k, asked.v, asked.positions)]
    watched = [student.watch(value) for value in (*given, asked.frequencies)]
    lent = student.lend(Told(asked.update), methods=("update",), attributes=("length",))

    got = student.attend(*watched[:4], lent, watched[4])

    assert_attended(got, given[0], asked.update, asked.frequencies)
    for value, name in zip(watched, ("q", *NAMES, "frequencies"), strict=True):
        assert_unmodified(value, name)


@task("attend", contract=28)
@pytest.mark.parametrize(("new", "context"), [(1, 1), (1, 17), (7, 3), (6, 6), (2, 40)])
def test_the_cache_decides_how_many_keys_there_are(student, draw, new, context):
    """S is whatever comes back, more or fewer than T; so are the positions of the mask."""
    question(draw, new=new, context=context).answer(student)


@task("attend", contract=29)
@pytest.mark.parametrize(("heads", "groups"), [(6, 3), (5, 5), (4, 1), (12, 4)])
def test_consecutive_query_heads_share_a_key_head(student, draw, heads, groups):
    """Query head h reads key head h // (H / G)."""
    question(draw, heads=heads, groups=groups).answer(student)


@task("attend", contract=31)
@pytest.mark.parametrize("dtype", [BF16, FP16], ids=str)
def test_attention_in_low_precision(student, draw, dtype):
    """The result has q's dtype, and its precision."""
    question(draw, dtype=dtype, context=23, far=5_000).answer(student)


@task("attend", contract=30)
def test_large_scores(student, draw):
    """Scores of a hundred and more do not overflow the softmax."""
    question(draw, scale=60.0).answer(student)


@task("attend", contract=26)
def test_queries_far_out(student, draw):
    """query_positions may be large, and need not be those that attend was called with."""
    question(draw, far=100_000).answer(student)


FLAGS = (
    *("rotated", "is_rotated", "keys_rotated", "stores_rotated", "pre_rotated", "already_rotated"),
    *("needs_rotation", "needs_rope", "rotate_keys", "rotate_on_read", "apply_rope", "use_rope"),
    *("rope", "pre_rope", "post_rope", "is_pre_rope", "is_post_rope", "pre", "post", "is_pre"),
    *("sink", "is_sink", "sinks", "window", "has_sinks", "relative", "reindex", "reindexed"),
    *("kind", "type", "mode", "name", "causal", "evicts", "evicted", "is_post", "stored_rotated"),
)


class Flagged(Told):
    """A cache with every flag that one may think of."""

    answer = False

    def __getattr__(self, name: str) -> bool:
        if name not in FLAGS:
            raise AttributeError(name)
        return self.answer


@task("attend", contract=32)
@pytest.mark.parametrize("answer", [True, False])
def test_flags_of_a_cache_decide_nothing(student, draw, answer):
    """attend reads nothing of a cache but what update returns, whatever else it may say."""
    asked, cache = (found := question(draw)), Flagged(found.update)
    cache.answer = answer

    got = asked.ask(student, cache, *FLAGS)

    assert_attended(got, asked.q, asked.update, asked.frequencies)


@dataclass(slots=True)
class NewestFirst:
    """A cache with a policy of its own: the newest first, every third forgotten, places doubled."""

    frequencies: Tensor
    tokens: list[Part] = field(default_factory=list)
    coming: Part | None = None
    last: Update | None = None

    @property
    def length(self) -> int:
        return len(self.tokens)

    def update(self, k: Any = None, v: Any = None, positions: Any = None) -> Update:
        coming, self.coming = self.coming, None
        if coming is None:
            raise Mismatch("attend calls cache.update more than once")
        for got, want, name in zip((k, v, positions), coming, NAMES, strict=True):
            assert_equal(got, want, f"{name}, as the cache gets it,")
        for t in range(k.shape[2]):
            self.tokens.insert(0, (k[:, :, t], v[:, :, t], 2 * positions[:, t]))
        del self.tokens[k.shape[2] + 2 :: 3]
        stacks = zip(zip(*self.tokens, strict=True), (2, 2, 1), strict=True)
        keys, values, places = (torch.stack(parts, axis) for parts, axis in stacks)
        turned = oracle.rotate(keys, places, self.frequencies)
        self.last = turned, values, places, 2 * positions
        return self.last


@task("attend", contract=27)
def test_a_cache_with_a_policy_of_its_own(student, draw):
    """Over prefill, chunks and decode attend follows a cache that reorders, drops and renumbers."""
    tokens = tokens_of(draw, 13, (3, 2, 8))
    cache = NewestFirst(tokens.frequencies)
    lent = student.lend(cache, methods=("update",), attributes=("length",))

    for part in tokens.split((6, 1, 4, 1, 1)):
        cache.coming, q = part, draw.normal(3, 4, part[0].shape[2], 8)
        got = student.attend(q, *part, lent, tokens.frequencies)
        if cache.coming is not None or cache.last is None:
            raise Mismatch("attend does not call cache.update")
        assert_attended(got, q, cache.last, tokens.frequencies)


def assert_no_favour(
    student: Any, draw: Any, kind: str, sizes: tuple[int, ...], *settings: int
) -> None:
    """Run attend with a cache of the submission, then with a stranger that returns the same."""
    tokens = tokens_of(draw, sum(sizes), (3, 2, 8), high=30)
    tokens.positions[:] = tokens.positions.sort(-1).values
    used, asked = (open_cache(student, kind, tokens.frequencies, *settings) for _ in NAMES[:2])

    for k, v, positions in tokens.split(sizes):
        q = draw.normal(3, 6, k.shape[2], 8)
        got = student.attend(q, k, v, positions, used, tokens.frequencies)
        update = expect(asked.update(k, v, positions), QUAD, "what update returns")
        again = Question(q, k, v, positions, tokens.frequencies, update)
        want = expect(again.ask(student, Told(update)), Tensor)
        assert_close(got, want.double(), "attention", like=q, inner=4096)


@task("attend", contract=32)
@BOTH
def test_own_caches_are_caches_like_any_other(student, draw, kind):
    """With the caches of this lab attend does what it does with any that returns the same."""
    assert_no_favour(student, draw, kind, (5, 1, 1, 3, 2))


@task("attend", contract=33)
@pytest.mark.parametrize("dtype", [torch.float32, BF16], ids=str)
def test_attend_reads_views_and_leaves_its_arguments_alone(student, draw, dtype):
    """What comes in and what the cache returns may be views; attend modifies no argument."""
    asked = question(draw, new=4, dtype=dtype, far=5_000)
    q = draw.normal(3, 4, 6, 9, dtype=dtype)[..., 1:].transpose(1, 2)
    k, v = (draw.normal(3, 4, 2, 9, dtype=dtype)[..., :-1].transpose(1, 2) for _ in NAMES[:2])
    keys, values = (
        draw.normal(3, 9, 2, 9, dtype=dtype)[..., 1:].transpose(1, 2) for _ in NAMES[:2]
    )
    update = keys, values, *asked.update[2:]
    names = ("q", "k", "v", "positions", "frequencies")
    places = draw.integers(0, 90, 4, 3).t()
    watched = [student.watch(value) for value in (q, k, v, places, asked.frequencies)]
    lent = student.lend(Told(update), methods=("update",), attributes=("length",))

    got = student.attend(*watched[:4], lent, watched[4])

    assert_attended(got, q, update, asked.frequencies)
    for value, name in zip(watched, names, strict=True):
        assert_unmodified(value, name)


@task("attend", contract=34, gate=True)
def test_attention_is_written_out(student, draw):
    """attend does not call torch's scaled_dot_product_attention."""
    with student.guard():
        question(draw).answer(student)


# --- sink ------------------------------------------------------------------------------------


@task("sink", contract=35, gate=True)
def test_sinks_and_window_are_kept(student, draw):
    """update keeps the first sinks and the last window tokens, numbered from 0 after eviction."""
    tokens = tokens_of(draw, 14, low=1000, high=2000)

    assert_updates(student, "SinkCache", tokens, (3, 4, 1, 5, 1), 2, 5)


@task("sink", contract=38)
@pytest.mark.parametrize(
    ("sinks", "window", "sizes"),
    [
        pytest.param(0, 4, (3, 1, 1, 4, 2, 1), id="no sinks"),
        pytest.param(3, 1, (1,) * 7, id="window of one"),
        pytest.param(9, 4, (4, 4, 1, 3, 2, 1, 4), id="more sinks than window"),
        pytest.param(1, 6, (6, 6, 6, 1, 6), id="whole windows"),
        pytest.param(30, 7, (7, 5, 1, 2), id="never full"),
        pytest.param(0, 1, (1, 1, 1, 1), id="one token"),
        pytest.param(3, 4, (4, 3, 1, 1), id="exact fit and one more"),
        pytest.param(4, 8, (5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), id="decode"),
    ],
)
def test_eviction_at_every_size(student, draw, sizes, sinks, window):
    """The rule holds for every number of sinks, every window, and every cut into updates."""
    tokens = tokens_of(draw, sum(sizes), (4, 3, 4))

    assert_updates(student, "SinkCache", tokens, sizes, sinks, window)


@task("sink", contract=36)
def test_positions_are_indices(student, draw):
    """Positions count what is left from 0, new tokens last; the argument does not matter."""
    tokens = tokens_of(draw, 15, low=500, high=90_000)
    cache = open_cache(student, "SinkCache", tokens.frequencies, 2, 4)
    truth = oracle.SinkCache(tokens.frequencies, 2, 4)

    for part in tokens.split((4, 1, 3, 4, 1, 2)):
        reply = expect(cache.update(*part), QUAD, "what update returns")
        want = truth.update(*part)
        assert_places(reply[2], want[2], "key_positions")
        assert_places(reply[3], want[3], "query_positions")


def refuse(student: Any, tokens: Tokens, before: int) -> tuple[Proxy, Any, Part]:
    """Let a cache with a window of 4 refuse 5 tokens; return it, the oracle's, and what is left."""
    *parts, refused, rest = tokens.split((*(3,) * before, 5, 3))
    cache = open_cache(student, "SinkCache", tokens.frequencies, 6, 4)
    truth = oracle.SinkCache(tokens.frequencies, 6, 4)
    for part in parts:
        expect(cache.update(*part), QUAD, "what update returns")
        truth.update(*part)
    with student.raises(ValueError, naming="window"):
        cache.update(*refused)
    return cache, truth, rest


BEFORE = pytest.mark.parametrize("before", [0, 1, 3], ids="{} updates before".format)


@task("sink", contract=39)
@BEFORE
def test_more_than_the_window_is_refused(student, draw, before):
    """An update of more tokens than the window is a ValueError that names window."""
    refuse(student, tokens_of(draw, 3 * before + 8, (3, 2, 4)), before)


@task("sink", contract=40)
@BEFORE
def test_refused_update_changes_nothing(student, draw, before):
    """After an update that was refused the cache goes on as if it had never been asked."""
    cache, truth, rest = refuse(student, tokens_of(draw, 3 * before + 8, (3, 2, 4)), before)

    assert_length(cache, truth.length)
    assert_update(cache.update(*rest), truth, rest)


@task("sink", contract=41)
def test_length_of_sinks_and_window(student, draw):
    """length is 0 at first, then grows to sinks + window and stays there."""
    assert_lengths(student, draw, "SinkCache", 2, 5)


@task("sink", contract=41)
def test_tokens_of_zeros_count_in_a_sink_cache(student, draw):
    """A token whose key and value are zeros is a token like any other, kept and evicted alike."""
    assert_zeros_count(student, draw, "SinkCache", 2, 4)


@task("sink", contract=43)
def test_sink_caches_are_independent(student, draw):
    """Two sink caches share neither tokens nor frequencies nor settings."""
    assert_independent(student, draw, "SinkCache", 2, 5)


@task("sink", contract=44)
def test_sink_cache_reads_views_and_leaves_arguments_alone(student, draw):
    """Keys and values may be views; no argument is modified, the constructor's neither."""
    assert_views_will_do(student, draw, "SinkCache", 2, 5)


@task("sink", contract=37)
@pytest.mark.parametrize("dtype", [torch.float32, BF16], ids=str)
def test_keys_do_not_wear_out(student, draw, dtype):
    """A key that has moved a hundred times is as precise as a new one: it is kept un-rotated."""
    tokens = tokens_of(draw, 250, (2, 1, 4), dtype=dtype)
    cache = open_cache(student, "SinkCache", tokens.frequencies, 3, 120)
    truth = oracle.SinkCache(tokens.frequencies, 3, 120)

    *parts, last = tokens.split((100, *(1,) * 150))
    for part in parts:
        expect(cache.update(*part), QUAD, "what update returns")
        truth.update(*part)

    assert_update(cache.update(*last), truth, last)


@task("sink", contract=42)
def test_evicted_tokens_take_no_memory(student, draw):
    """However long the text, an update handles no more than what is kept and what is new."""
    tokens = tokens_of(draw, 1500, (4, 3, 6))
    cache = open_cache(student, "SinkCache", tokens.frequencies, 2, 30)
    truth = truth_of("SinkCache", tokens.frequencies, 2, 30)
    most: list[int] = []

    with student.torch_alone():
        for part in tokens.split((30,) * 50):
            with student.operators() as operators:
                got = cache.update(*veiled(student, part))
            assert_update(got, truth, part)
            most.append(max(operators.seen.values(), default=0))

    text = f"after 1500 tokens an update handles tensors of {most[-1]} elements"
    check(most[-1] <= 4 * most[4], f"{text}, expected as after 150, when these had {most[4]}")


@task("sink", contract=45)
def test_attend_knows_nothing_of_sinks(student, draw):
    """With SinkCache attend does what it does with any cache that returns the same."""
    assert_no_favour(student, draw, "SinkCache", (3, 4, 1, 1, 4, 1), 2, 4)
