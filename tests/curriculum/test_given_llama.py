"""The given Llama computes what transformers' Llama computes, by every way through it."""

from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from labs.common import LlamaConfig, load_weights
from labs.llama import Llama, attention

CHECKPOINTS = Path(__file__).parents[2] / "labs" / "checkpoints"
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,  # with it the three bands of the scaling all hold some pair
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
VARIANTS = {
    "untied": {},
    "tied": {"tie_word_embeddings": True},
    "one key head": {"num_key_value_heads": 1},
    "as many key heads": {"num_key_value_heads": 6},
    "wide heads": {"head_dim": 22},
    "llama3 scaling": {"rope_parameters": LLAMA3},
}


class GrowingCache:
    """The least that a layer asks of its cache; records the lengths it was given."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.added: list[int] = []

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self.added.append(k.shape[2])
        self.keys = k if self.keys is None else torch.cat((self.keys, k), dim=2)
        self.values = v if self.values is None else torch.cat((self.values, v), dim=2)
        return self.keys, self.values


def random_pair(folder: Path, **change) -> "tuple[Llama, transformers.LlamaForCausalLM]":
    """Save a random model of theirs and load it as ours."""
    torch.manual_seed(11)
    sizes = {
        "vocab_size": 53,
        "hidden_size": 60,
        "intermediate_size": 77,
        "num_hidden_layers": 3,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "rope_parameters": PLAIN,
        "initializer_range": 0.3,  # far from uniform logits, so that errors show
    }
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes | change)).eval()
    for name, parameter in theirs.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(parameter, 1.0, 0.3)
    theirs.save_pretrained(folder)
    return Llama(LlamaConfig.from_pretrained(folder), load_weights(folder)), theirs


def tokens_and_positions(vocab: int, batch: int = 3, length: int = 37) -> tuple[Tensor, Tensor]:
    tokens = torch.randint(vocab, (batch, length), generator=torch.Generator().manual_seed(5))
    return tokens, torch.arange(length).expand(batch, length)


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4 * float(theirs.std()))


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_logits_of_random_models_equal_those_of_transformers(tmp_path: Path, variant: str) -> None:
    ours, theirs = random_pair(tmp_path, **VARIANTS[variant])
    tokens, positions = tokens_and_positions(53)

    assert_same(ours(tokens, positions), theirs(tokens).logits)


@torch.no_grad()
def test_positions_are_used_per_row(tmp_path: Path) -> None:
    ours, theirs = random_pair(tmp_path, rope_parameters=LLAMA3)
    tokens, positions = tokens_and_positions(53)
    positions = positions * torch.tensor([[1], [3], [2]]) + torch.tensor([[0], [7], [300]])

    assert_same(ours(tokens, positions), theirs(tokens, position_ids=positions).logits)


@pytest.mark.parametrize("name", ["target", "draft"])
@torch.no_grad()
def test_logits_of_the_checkpoints_equal_those_of_transformers(name: str) -> None:
    folder = CHECKPOINTS / name
    ours = Llama(LlamaConfig.from_pretrained(folder), load_weights(folder)).float()
    theirs = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokens, positions = tokens_and_positions(2048, batch=2, length=91)

    assert_same(ours(tokens, positions), theirs(tokens).logits)


@torch.no_grad()
def test_bfloat16_checkpoint_runs_in_bfloat16() -> None:
    folder = CHECKPOINTS / "draft"
    ours = Llama(LlamaConfig.from_pretrained(folder), load_weights(folder))
    theirs = transformers.LlamaForCausalLM.from_pretrained(
        folder, dtype=torch.bfloat16, attn_implementation="eager"
    )
    tokens, positions = tokens_and_positions(2048, batch=2, length=29)

    logits = ours(tokens, positions)

    assert logits.dtype == torch.bfloat16
    expected = theirs(tokens).logits.float()
    assert (logits.float() - expected).norm() < 0.02 * expected.norm()


@torch.no_grad()
def test_padding_behind_a_mask_changes_nothing(tmp_path: Path) -> None:
    ours, _ = random_pair(tmp_path)
    (long, short), positions = tokens_and_positions(53, batch=2, length=9)[0], torch.arange(9)
    padded = torch.cat((torch.full((4,), 52), short[:5]))
    causal = torch.ones(9, 9, dtype=torch.bool).tril()
    mask = causal.expand(2, 1, 9, 9).clone()
    mask[1, :, :, :4] = False
    mask[1, :, range(4), range(4)] = True  # a padding query sees itself
    both = torch.stack((positions, torch.cat((torch.zeros(4, dtype=torch.int64), positions[:5]))))

    logits = ours(torch.stack((long, padded)), both, mask=mask)

    assert_same(logits[0], ours(long[None], positions[None])[0])
    assert_same(logits[1, 4:], ours(short[None, :5], positions[None, :5])[0])


@pytest.mark.parametrize("chunks", [[37], [1] * 37, [5, 1, 30, 1]])
@torch.no_grad()
def test_caches_give_the_logits_of_one_pass(tmp_path: Path, chunks: list[int]) -> None:
    ours, theirs = random_pair(tmp_path)
    tokens, positions = tokens_and_positions(53)
    caches = [GrowingCache() for _ in range(ours.num_layers)]

    parts = zip(tokens.split(chunks, dim=1), positions.split(chunks, dim=1), strict=True)
    logits = torch.cat([ours(t, p, caches=caches) for t, p in parts], dim=1)

    assert_same(logits, theirs(tokens).logits)
    assert all(cache.added == chunks for cache in caches)


@torch.no_grad()
def test_mask_over_a_cache_hides_what_it_holds(tmp_path: Path) -> None:
    ours, _ = random_pair(tmp_path, num_hidden_layers=1)
    tokens, positions = tokens_and_positions(53, length=6)
    caches = [GrowingCache()]
    ours(tokens[:, :4], positions[:, :4], caches=caches)
    mask = torch.zeros(3, 1, 2, 6, dtype=torch.bool)
    mask[..., 4:] = torch.ones(2, 2, dtype=torch.bool).tril()

    logits = ours(tokens[:, 4:], positions[:, 4:], mask=mask, caches=caches)

    # In one layer, hiding the past is the same as not having it.
    assert_same(logits, ours(tokens[:, 4:], positions[:, 4:]))


@torch.no_grad()
def test_attend_replaces_the_attention_and_sees_the_cache(tmp_path: Path) -> None:
    ours, theirs = random_pair(tmp_path)
    tokens, positions = tokens_and_positions(53)
    seen = []

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        seen.append((tuple(q.shape), tuple(k.shape), tuple(v.shape)))
        return attention(q, k, v, None)

    caches = [GrowingCache() for _ in range(ours.num_layers)]
    ours(tokens[:, :30], positions[:, :30], caches=caches, attend=attend)
    logits = ours(tokens[:, 30:], positions[:, 30:], caches=caches, attend=attend)

    assert_same(logits, theirs(tokens).logits[:, 30:])
    assert (
        seen
        == [((3, 6, 30, 10), (3, 2, 30, 10), (3, 2, 30, 10))] * 3
        + [((3, 6, 7, 10), (3, 2, 37, 10), (3, 2, 37, 10))] * 3
    )
    zeros = ours(tokens, positions, attend=lambda q, k, v: torch.zeros_like(q))
    assert not torch.allclose(zeros, ours(tokens, positions), atol=0.1)


@torch.no_grad()
def test_a_compiler_follows_an_attention_that_is_made_in_what_it_compiles(tmp_path: Path) -> None:
    ours, theirs = random_pair(tmp_path)
    tokens, positions = tokens_and_positions(53)

    @torch.compile(backend="eager", fullgraph=True)
    def step(tokens: Tensor, positions: Tensor) -> Tensor:
        seen = (positions[:, None] <= positions[..., None])[:, None]

        def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return attention(q, k, v, seen)

        return ours(tokens, positions, attend=attend)

    assert_same(step(tokens, positions), theirs(tokens).logits)


def test_arguments_that_contradict_are_refused(tmp_path: Path) -> None:
    ours, _ = random_pair(tmp_path)
    tokens, positions = tokens_and_positions(53, length=4)
    mask = torch.ones(3, 1, 4, 4, dtype=torch.bool)

    with pytest.raises(ValueError, match="mask"):
        ours(tokens, positions, mask=mask, attend=lambda q, k, v: q)
    with pytest.raises(ValueError, match="caches"):
        ours(tokens, positions, caches=[GrowingCache()])
    with pytest.raises(ValueError, match="positions"):
        ours(tokens, positions[0])


def test_weights_that_do_not_fit_are_named(tmp_path: Path) -> None:
    random_pair(tmp_path)
    config, weights = LlamaConfig.from_pretrained(tmp_path), load_weights(tmp_path)
    lost = {name: w for name, w in weights.items() if name != "model.norm.weight"}

    with pytest.raises(ValueError, match=r"norm\.weight"):
        Llama(config, lost)
    with pytest.raises(ValueError, match=r"lm_head\.weight"):
        Llama(config, weights | {"lm_head.weight": torch.zeros(9, 60)})


def test_scaling_that_is_not_supported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="linear"):
        random_pair(
            tmp_path, rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}
        )


def test_projections_are_linears_and_nothing_needs_a_gradient(tmp_path: Path) -> None:
    ours, theirs = random_pair(tmp_path, tie_word_embeddings=True)

    linears = [name for name, m in ours.named_modules() if isinstance(m, torch.nn.Linear)]

    assert len(linears) == 7 * 3 + 1
    assert not any(parameter.requires_grad for parameter in ours.parameters())
    assert sum(p.numel() for p in ours.parameters()) == theirs.num_parameters()
    assert ours.lm_head.weight is ours.embed_tokens.weight
