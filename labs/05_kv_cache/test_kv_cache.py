"""Public tests of lab 05: the examples of the handout, to try your code on as you go."""

import torch
from torch import Tensor

from grader.suite import Proxy, assert_close, assert_equal, check, expect, task


def column(*numbers: float) -> Tensor:
    """Keys or values of one sequence, one head, one number a token: [1, 1, T, 1]."""
    return torch.tensor(numbers, dtype=torch.float32)[None, None, :, None]


def filled(cache: Proxy, k: Tensor, v: Tensor) -> list[list[float]]:
    keys, values = expect(cache.update(k, v), tuple[Tensor, Tensor], "what update returns")
    return [keys.flatten().tolist(), values.flatten().tolist()]


@task("growing")
def test_example_of_a_growing_cache(student):
    """update returns all tokens so far; rewind drops the last ones."""
    cache = expect(student.GrowingCache(), Proxy, "GrowingCache()")

    assert_equal(filled(cache, column(1, 2), column(5, 6)), [[1.0, 2.0], [5.0, 6.0]])
    assert_equal(filled(cache, column(3), column(7)), [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]])
    cache.rewind(2)
    assert_equal(cache.length, 1, "length after rewind(2)")
    assert_equal(filled(cache, column(9), column(8)), [[1.0, 9.0], [5.0, 8.0]])


@task("static")
def test_example_of_a_static_cache(student, device):
    """A cache for 3 tokens takes 2 and 1, but not 2 and 2."""
    cache = student.StaticCache(1, 1, 3, 1, torch.float32, torch.device(device))
    expect(cache, Proxy, "StaticCache(...)")

    assert_equal(filled(cache, column(1, 2), column(5, 6)), [[1.0, 2.0], [5.0, 6.0]])
    with student.raises(ValueError, naming="max_len"):
        cache.update(column(3, 4), column(7, 8))
    assert_equal(cache.length, 2, "length after a refused update")
    assert_equal(filled(cache, column(3), column(7)), [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]])
    cache.reset()
    assert_equal(filled(cache, column(4), column(8)), [[4.0], [8.0]])


@task("attend")
def test_example_of_attention_over_a_cache(student):
    """With keys of zeros each query gets the mean of the values that it may see."""
    q, k, v = torch.ones(1, 1, 2, 1), torch.zeros(1, 1, 4, 1), column(4, 0, 8, 16)

    got = student.attend(q, k, v)

    assert_close(got, column(4, 7).double(), "attention", like=q)


class Kept:
    """A cache of our own: generate takes any."""

    def __init__(self) -> None:
        self.keys, self.values = torch.zeros(2, 1, 1, 0, 1)

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self.keys, self.values = torch.cat((self.keys, k), 2), torch.cat((self.values, v), 2)
        return self.keys, self.values


class Counter:
    """A model of two layers that says how many tokens its caches hold, modulo 7."""

    num_layers = 2

    def __init__(self) -> None:
        self.entered: list[list[int]] = []

    def __call__(
        self,
        tokens: object,
        positions: object,
        mask: object = None,
        caches: object = None,
        attend: object = None,
    ) -> Tensor:  # [1, T, 7]
        for value, name in ((tokens, "tokens"), (positions, "positions")):
            expect(value, Tensor, f"{name}, as the model gets them,")
            check(value.dim() == 2 and value.numel() > 0, f"{name} are not [1, T]")
        both = expect(caches, list[Proxy] | tuple[Proxy, Proxy], "caches, as the model gets them,")
        check(len(both) == 2, f"{len(both)} caches came for 2 layers")
        self.entered += tokens.flatten().tolist()
        k = tokens[:, None, :, None].float()
        for cache in both:
            keys, _ = expect(cache.update(k, k), tuple[Tensor, Tensor], "what update returns")
            check(keys.dim() == 4, "the keys that update returns are not [B, G, S, D]")
        says = torch.zeros(1, tokens.shape[1], 7)
        says[0, -1, keys.shape[2] % 7] = 1
        return says


@task("generate")
def test_example_of_generation(student):
    """The prompt enters once, then each new token does; an EOS ends the sequence."""
    model = Counter()
    lent = student.lend(model, attributes=("num_layers",))

    def make_cache() -> object:
        return student.lend(Kept(), methods=("update",), keep=True)

    got = student.generate(lent, [2, 2, 2], 9, [6], student.lend(make_cache))

    assert_equal(got, [3, 4, 5])
    assert_equal(model.entered, [2, 2, 2, 3, 4, 5], "the tokens that entered the model")


@task("bytes")
def test_example_of_a_cache_in_bytes(student):
    """Two layers, 3 key/value heads of width 4, 5 tokens in float32: 960 bytes."""
    config = student.record(
        "LlamaConfig",
        vocab_size=11,
        hidden_size=24,
        intermediate_size=32,
        num_layers=2,
        num_heads=6,
        num_kv_heads=3,
        head_dim=4,
        rms_norm_eps=1e-5,
        rope_theta=10_000.0,
        rope_scaling=None,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_ids=(),
    )

    assert_equal(student.cache_bytes(config, 1, 5, torch.float32), 960)
