"""The oracle of lab 04 against transformers, complex numbers and torch's own attention."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from reference.rope import RopeCache, SinkCache, attend, rope_frequencies, rotate, turns_of

LLAMA_31 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
OTHER = LLAMA_31 | {"factor": 32.0, "low_freq_factor": 1.5, "high_freq_factor": 9.0}
DOUBLE = torch.float64


def normal(*shape: int, dtype: torch.dtype = DOUBLE) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=dtype)


def places(low: int, high: int, *shape: int) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(high))


def config(dim: int, theta: float, scaling: dict | None) -> LlamaConfig:
    parameters = {"rope_theta": theta, **(scaling or {"rope_type": "default"})}
    return LlamaConfig(head_dim=dim, rope_parameters=parameters, max_position_embeddings=131_072)


# --- frequencies and rotation ----------------------------------------------------------------


@pytest.mark.parametrize("dim", [2, 6, 64, 128])
@pytest.mark.parametrize("theta", [10_000.0, 500_000.0])
def test_plain_frequencies_are_those_of_transformers(dim, theta):
    want = LlamaRotaryEmbedding(config(dim, theta, None)).inv_freq

    torch.testing.assert_close(rope_frequencies(dim, theta), want.double(), rtol=2e-6, atol=0)


@pytest.mark.parametrize("scaling", [LLAMA_31, OTHER], ids=["Llama 3.1", "other"])
@pytest.mark.parametrize("theta", [10_000.0, 500_000.0])
def test_scaled_frequencies_are_those_of_transformers(scaling, theta):
    want, _ = ROPE_INIT_FUNCTIONS["llama3"](config(128, theta, scaling), torch.device("cpu"))

    got = rope_frequencies(128, theta, scaling)

    torch.testing.assert_close(got, want.double(), rtol=2e-6, atol=0)
    bands = [turns_of(plain, scaling) for plain in rope_frequencies(128, theta).tolist()]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    assert min(bands) < low < high < max(bands)
    assert any(low < turns < high for turns in bands)


@pytest.mark.parametrize("high", [50, 131_072])
def test_rotation_is_that_of_transformers(high):
    x, positions = normal(3, 2, 5, 64, dtype=torch.float32), places(0, high, 3, 5)
    rope = LlamaRotaryEmbedding(config(64, 500_000.0, LLAMA_31))

    want, _ = apply_rotary_pos_emb(x, x, *rope(x, positions))

    torch.testing.assert_close(rotate(x, positions, rope.inv_freq), want, rtol=1e-5, atol=1e-5)


def test_rotation_multiplies_by_a_complex_number():
    x, positions, frequencies = normal(2, 3, 4, 10), places(-20, 20, 2, 4), normal(5).float()
    angles = (positions[:, None, :, None].float() * frequencies).double()

    turned = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones_like(angles), angles)

    want = torch.cat((turned.real, turned.imag), -1)
    torch.testing.assert_close(rotate(x, positions, frequencies), want)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rotation_keeps_the_dtype(dtype):
    x, positions = normal(1, 2, 3, 4).to(dtype), places(99_000, 100_000, 1, 3)
    frequencies = rope_frequencies(4, 10_000.0).float()

    got = rotate(x, positions, frequencies)

    assert got.dtype is dtype
    torch.testing.assert_close(got, rotate(x.double(), positions, frequencies).to(dtype))


# --- caches and attention --------------------------------------------------------------------


def test_cache_in_chunks_is_the_whole_at_once():
    k, v, positions = normal(3, 2, 7, 6), normal(3, 2, 7, 6), places(0, 30, 3, 7)
    frequencies = rope_frequencies(6, 100.0).float()
    cache = RopeCache(frequencies)

    for start, end in [(0, 4), (4, 5), (5, 7)]:
        piece = slice(start, end)
        keys, values, key_positions, query_positions = cache.update(
            k[:, :, piece], v[:, :, piece], positions[:, piece]
        )
        assert cache.length == end
        assert torch.equal(keys, rotate(k[:, :, :end], positions[:, :end], frequencies))
        assert torch.equal(values, v[:, :, :end])
        assert torch.equal(key_positions, positions[:, :end])
        assert torch.equal(query_positions, positions[:, piece])


@pytest.mark.parametrize(("sinks", "window"), [(0, 3), (2, 4), (1, 3), (9, 3)])
def test_sink_cache_is_a_list_with_a_hole(sinks, window):
    """Values name their tokens; the list is cut after each update, the oracle selects from all."""
    cache, kept, told = SinkCache(torch.zeros(1), sinks, window), [], 0
    for new in (2, 1, 3, 3, 1, 1, 2, 3):
        names = list(range(told, told + new))
        told += new
        kept = kept + names
        while len(kept) > sinks + window:
            del kept[sinks]
        v = torch.tensor(names, dtype=DOUBLE)[None, None, :, None].expand(2, 1, new, 2)

        _, values, key_positions, query_positions = cache.update(
            v, v, torch.full((2, new), 1_000_000)
        )

        assert values[1, 0, :, 0].tolist() == kept
        assert key_positions.tolist() == [list(range(len(kept)))] * 2
        assert query_positions.tolist() == [list(range(len(kept)))[-new:]] * 2
        assert cache.length == len(kept)


def test_sink_cache_rotates_by_the_new_index():
    frequencies, k = torch.tensor([0.3, 0.01]), normal(1, 2, 6, 4)
    cache = SinkCache(frequencies, 1, 2)
    for t in range(6):
        keys = cache.update(k[:, :, t : t + 1], k[:, :, t : t + 1], torch.tensor([[t]]))[0]

    assert torch.equal(keys, rotate(k[:, :, [0, 4, 5]], torch.arange(3)[None], frequencies))


def test_sink_cache_refuses_more_than_the_window():
    cache = SinkCache(torch.zeros(1), 4, 2)
    with pytest.raises(ValueError, match="window"):
        cache.update(torch.ones(1, 1, 3, 2), torch.ones(1, 1, 3, 2), torch.zeros(1, 3).long())
    assert cache.length == 0


def test_attention_is_that_of_torch():
    q, keys, values = normal(3, 6, 5, 8), normal(3, 2, 9, 8), normal(3, 2, 9, 8) + 1
    key_positions, query_positions = places(0, 12, 3, 9), places(4, 12, 3, 5)
    key_positions[:, 0] = 3
    frequencies = rope_frequencies(8, 100.0).float()

    got = attend(q, (keys, values, key_positions, query_positions), frequencies)

    want = scaled_dot_product_attention(
        rotate(q, query_positions, frequencies),
        keys,
        values,
        attn_mask=(key_positions[:, None, :] <= query_positions[:, :, None])[:, None],
        enable_gqa=True,
    )
    torch.testing.assert_close(got, want)


def test_a_common_shift_of_all_positions_does_not_show_in_attention():
    """Why the hidden suite looks at keys and positions, not at outputs alone."""
    q, k, v = normal(1, 2, 5, 8), normal(1, 2, 5, 8) * 2, normal(1, 2, 5, 8)
    frequencies = torch.tensor([1.0, 0.5, 0.25, 0.125])  # products with small ints are exact
    positions = torch.arange(5)[None]

    near, far = (
        attend(q, RopeCache(frequencies).update(k, v, positions + shift), frequencies)
        for shift in (0, 1000)
    )

    torch.testing.assert_close(near, far)
