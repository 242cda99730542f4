"""The oracles of lab 05 against transformers' cache and torch's counter; the model on caches."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from reference.batching import solo_run
from reference.kv_cache import (
    GROUPS,
    MAX_CALLS,
    WIDTH,
    CachedModel,
    History,
    attention_flops,
    cache_bytes,
    weight_flops,
)
from reference.scripted.masked import MaskedModel, Misuse

VOCAB = 23


class Sizes:
    vocab_size, hidden_size, intermediate_size = 29, 42, 36
    num_layers, num_heads, num_kv_heads, head_dim = 3, 6, 2, 8


def transformer() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=Sizes.vocab_size,
        hidden_size=Sizes.hidden_size,
        intermediate_size=Sizes.intermediate_size,
        num_hidden_layers=Sizes.num_layers,
        num_attention_heads=Sizes.num_heads,
        num_key_value_heads=Sizes.num_kv_heads,
        head_dim=Sizes.head_dim,
        attn_implementation="eager",
    )
    return LlamaForCausalLM(config).eval()


# --- costs -----------------------------------------------------------------------------------


def test_cache_bytes_are_those_of_a_cache_of_transformers():
    cache = DynamicCache()
    with torch.no_grad():
        transformer()(torch.zeros(5, 7, dtype=torch.int64), past_key_values=cache)

    held = sum(x.nbytes for layer in cache.layers for x in (layer.keys, layer.values))

    assert cache_bytes(Sizes(), 5, 7, 4) == held


@pytest.mark.parametrize(("before", "new"), [(0, 1), (0, 9), (11, 1), (4, 3)])
def test_flops_are_those_that_torch_counts(before, new):
    model, cache = transformer(), DynamicCache()
    with torch.no_grad():
        if before:
            model(torch.zeros(1, before, dtype=torch.int64), past_key_values=cache)
        with FlopCounterMode(display=False) as counter:
            model(torch.zeros(1, new, dtype=torch.int64), past_key_values=cache)

    attention = attention_flops(1, Sizes.num_heads, new, before + new, Sizes.head_dim)
    assert counter.get_total_flops() == new * weight_flops(Sizes()) + Sizes.num_layers * attention


# --- the cache -------------------------------------------------------------------------------


def test_history_keeps_copies_in_order():
    history, k = History(), torch.arange(12.0).view(1, 1, 4, 3)
    v = -k

    history.update(k[:, :, :3], v[:, :, :3])
    keys, values = history.update(k[:, :, 3:], v[:, :, 3:])
    k.zero_()

    assert torch.equal(keys.flatten(), torch.arange(12.0))
    assert torch.equal(values, -keys)
    assert history.length == 4


def test_history_rewinds_into_a_chunk():
    history, k = History(), torch.randn(2, 3, 5, 4)
    history.update(k, k)
    with pytest.raises(ValueError, match="n is 6"):
        history.rewind(6)
    history.rewind(3)

    keys, _ = history.update(k[:, :, 4:], k[:, :, 4:])

    assert torch.equal(keys, k[:, :, [0, 1, 4]])


# --- the model -------------------------------------------------------------------------------


def cached_run(model: CachedModel, prompt: list[int], new: int, chunk: int) -> list[int]:
    caches, tokens, done = [History() for _ in range(model.num_layers)], list(prompt), 0
    while len(tokens) < len(prompt) + new:
        stop = min(done + chunk, len(tokens))
        ids, places = torch.tensor([tokens[done:stop]]), torch.arange(done, stop)[None]
        logits, done = model(ids, places, caches=caches, attend=len), stop
        if done == len(tokens):
            tokens.append(int(logits[0, -1].argmax()))
    return tokens[len(prompt) :]


@pytest.mark.parametrize("chunk", [1, 3, 99])
def test_cached_model_says_what_a_full_recompute_says(chunk):
    script = MaskedModel(VOCAB, 3)
    model = CachedModel(script, 2)

    got = cached_run(model, [5, 1, 7, 2], 6, chunk)

    assert got == solo_run(script.logits, [5, 1, 7, 2], 6, [])
    assert model.entered == [5, 1, 7, 2, *got[:-1]]
    assert sum(model.calls) == 9


class Broken(History):
    """A cache that spoils what it returns."""

    def __init__(self, spoil):
        super().__init__()
        self.spoil = spoil

    def update(self, k, v):
        return self.spoil(*super().update(k, v))


def answer(layers=2, spoil=lambda k, v: (k, v), **changes):
    model = CachedModel(MaskedModel(VOCAB, 3), layers)
    arguments = {
        "tokens": torch.tensor([[4, 9]]),
        "positions": torch.tensor([[0, 1]]),
        "caches": [Broken(spoil) for _ in range(layers)],
    }
    return model(**(arguments | changes))


SPOILS = {
    "nothing": lambda k, v: None,
    "one tensor": lambda k, v: k,
    "numbers": lambda k, v: (1, 2),
    "whole numbers": lambda k, v: (k.long(), v.long()),
    "complex numbers": lambda k, v: (k.to(torch.complex64), v),
    "NaN": lambda k, v: (k * torch.nan, v),
    "flat": lambda k, v: (k.flatten(), v),
    "too few": lambda k, v: (k[:, :, :1], v[:, :, :1]),
    "values one longer": lambda k, v: (k, torch.cat((v, v[:, :, :1]), 2)),
    "tokens out of range": lambda k, v: (torch.cat((k[..., :1] + 99, k[..., 1:]), -1), v),
    "other heads": lambda k, v: (k.flip(1), v),
    "two sequences": lambda k, v: (k.repeat(2, 1, 1, 1), v),
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS)
def test_a_broken_cache_is_a_misuse(spoil):
    with pytest.raises(Misuse):
        answer(spoil=spoil)


NONSENSE = {
    "list of tokens": {"tokens": [[4, 9]]},
    "two rows": {"tokens": torch.tensor([[4], [9]])},
    "no tokens": {"tokens": torch.zeros(1, 0, dtype=torch.int64)},
    "token out of range": {"tokens": torch.tensor([[4, VOCAB]])},
    "float positions": {"positions": torch.tensor([[0.0, 1.0]])},
    "negative positions": {"positions": torch.tensor([[-1, 0]])},
    "positions of another length": {"positions": torch.tensor([[0]])},
    "a mask": {"mask": torch.ones(1, 1, 2, 2, dtype=torch.bool)},
    "no caches": {"caches": None},
    "one cache too few": {"caches": [History()]},
    "no objects": {"caches": [None, 3]},
}


@pytest.mark.parametrize("changes", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_a_misuse(changes):
    with pytest.raises(Misuse):
        answer(**changes)


def test_one_cache_for_two_layers_is_a_misuse():
    with pytest.raises(Misuse):
        answer(caches=[History()] * 2)


def test_calls_are_bounded():
    model = CachedModel(MaskedModel(VOCAB, 3), 1)
    model.calls += [1] * MAX_CALLS

    with pytest.raises(Misuse, match="more than"):
        model(torch.tensor([[1]]), torch.tensor([[0]]), caches=[History()])


def test_keys_tell_layers_and_heads_apart():
    seen = []
    answer(spoil=lambda k, v: (seen.append(k), (k, v))[1])

    first, second = seen
    assert first.shape == (1, GROUPS, 2, WIDTH)
    assert not torch.equal(first[:, 0], first[:, 1])
    assert not torch.equal(first, second)
