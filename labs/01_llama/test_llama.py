"""Public tests of lab 01: the worked examples of the handout, and what you can see by eye."""

import pytest
import torch
from torch import Tensor

from grader.suite import Proxy, assert_close, check, expect, task


def rows(*values: list[float]) -> Tensor:  # float64 numbers as the handout prints them
    return torch.tensor(values, dtype=torch.float64)


def assert_printed(got: object, want: Tensor) -> None:
    """Compare with numbers of four decimals: half a unit of the last one is forgiven."""
    assert_close(got, want, "matmul", trusted=want + 5e-5)


@task("norm")
@pytest.mark.parametrize(
    ("eps", "want"), [(0.0, [0.3333, -0.3333, 2.0, 0.8333]), (7.0, [0.25, -0.25, 1.5, 0.625])]
)
def test_norm_of_the_handout(student, eps, want):
    """The row of mean square 9 is divided by 3, and with eps = 7 by 4, then weighted."""
    x, weight = torch.tensor([[1.0, -1.0, 3.0, 5.0]]), torch.tensor([1.0, 1.0, 2.0, 0.5])

    assert_printed(student.rms_norm(x, weight, eps), rows(want))


@task("norm")
def test_norm_keeps_the_dtype_of_x(student):
    """A bfloat16 x gives a bfloat16 result, also with a float32 weight."""
    x = torch.tensor([[3.0, -3.0]], dtype=torch.bfloat16)

    got = student.rms_norm(x, torch.tensor([1.0, 0.5]), 0.0)

    assert_close(got, rows([1.0, -0.5]), "elementwise", like=x)


@task("rope")
@pytest.mark.parametrize(
    ("position", "want"), [(0, [1.0, 2.0, 3.0, 4.0]), (1, [-1.9841, 1.5907, 2.4624, 4.1797])]
)
def test_rope_of_the_handout(student, position, want):
    """Elements 0 and 2 turn by 1 radian, 1 and 3 by 0.1; position 0 changes nothing."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 1, 1, 4)

    got = student.apply_rope(x, torch.tensor([[position]]), 100.0)

    assert_printed(got, rows(want).view(1, 1, 1, 4))


@task("attention")
def test_attention_of_the_handout(student):
    """Two queries, three keys: the first query does not see the last key, the second does."""
    q = torch.tensor([[1.0, 0.0], [0.0, 2.0]]).view(1, 1, 2, 2)
    k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).view(1, 1, 3, 2)
    v = torch.tensor([[10.0, 0.0], [0.0, 10.0], [0.0, 20.0]]).view(1, 1, 3, 2)

    got = student.attention(q, k, v)

    assert_printed(got, rows([6.6976, 3.3024], [1.0838, 13.3742]).view(1, 1, 2, 2))


@task("attention")
def test_query_heads_share_key_heads_in_order(student):
    """With one key each head returns its value head: 0 0 1 1, not 0 1 0 1."""
    q, k = torch.ones(1, 4, 1, 2), torch.ones(1, 2, 1, 2)
    v = torch.tensor([[5.0, 6.0], [7.0, 8.0]]).view(1, 2, 1, 2)

    got = student.attention(q, k, v)

    want = rows([5, 6], [5, 6], [7, 8], [7, 8]).view(1, 4, 1, 2)
    assert_close(got, want, "attention", like=q)


@task("mlp")
def test_mlp_of_the_handout(student):
    """SiLU acts on w_gate x, here (1, -2, 3), and not on w_up x, here (2, 1, -1)."""
    w_gate = torch.tensor([[1.0, 0.0], [0.0, -1.0], [1.0, 1.0]])
    w_up = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, -1.0]])
    w_down = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])

    got = student.swiglu(torch.tensor([[1.0, 2.0]]), w_gate, w_up, w_down)

    assert_printed(got, rows([-1.3956, -0.2384]))


def config(student, **sizes: int):
    """A configuration with tied embeddings."""
    names = "vocab_size hidden_size intermediate_size num_layers num_heads num_kv_heads head_dim"
    return student.record(
        "LlamaConfig",
        **{name: sizes[name] for name in names.split()},
        rms_norm_eps=1e-6,
        rope_theta=10_000.0,
        rope_scaling=None,
        max_position_embeddings=16,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_ids=(),
    )


@task("model")
def test_model_without_layers(student):
    """No layers: embedding, norm and the tied output matrix are left, as in the handout."""
    sizes = {"vocab_size": 3, "hidden_size": 2, "intermediate_size": 5, "num_layers": 0}
    sizes |= {"num_heads": 1, "num_kv_heads": 1, "head_dim": 2}
    embedding = torch.tensor([[1.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    weights = {"model.embed_tokens.weight": embedding, "model.norm.weight": torch.ones(2)}

    model = expect(student.Llama(config(student, **sizes), weights), Proxy, "Llama(...)")

    assert_printed(model(torch.tensor([[2]])), rows([0.8485, 1.1314, 7.0711]).view(1, 1, 3))


@task("model")
def test_model_is_causal(student, draw):
    """The logits of a position do not change when a later token does."""
    sizes = {"vocab_size": 11, "hidden_size": 6, "intermediate_size": 7, "num_layers": 1}
    sizes |= {"num_heads": 2, "num_kv_heads": 1, "head_dim": 4}
    layer = {
        "input_layernorm": draw.normal(6),
        "self_attn.q_proj": draw.normal(8, 6),
        "self_attn.k_proj": draw.normal(4, 6),
        "self_attn.v_proj": draw.normal(4, 6),
        "self_attn.o_proj": draw.normal(6, 8),
        "post_attention_layernorm": draw.normal(6),
        "mlp.gate_proj": draw.normal(7, 6),
        "mlp.up_proj": draw.normal(7, 6),
        "mlp.down_proj": draw.normal(6, 7),
    }
    weights = {f"model.layers.0.{name}.weight": value for name, value in layer.items()}
    weights["model.embed_tokens.weight"] = draw.normal(11, 6)
    weights["model.norm.weight"] = draw.normal(6)
    model = expect(student.Llama(config(student, **sizes), weights), Proxy, "Llama(...)")

    one = expect(model(torch.tensor([[3, 1, 4, 1]])), Tensor, "the logits")
    two = expect(model(torch.tensor([[3, 1, 4, 9]])), Tensor, "the logits")

    check(one.shape == (1, 4, 11), f"logits of shape {list(one.shape)}, expected [1, 4, 11]")
    check(two.shape == one.shape, "the shape of the logits changes")
    assert_close(one[:, :3], two[:, :3].double(), "matmul")
    check(bool((one[:, 3] != two[:, 3]).any()), "the last token does not matter at all")


@task("engine")
def test_generate_is_a_list_of_new_tokens(student):
    """generate returns at most max_new_tokens ints; a longer result starts with a shorter."""
    engine = expect(student.Engine(student.checkpoint("target").path), Proxy, "Engine(...)")

    short = expect(engine.generate([300, 400, 500], 2), list[int], "the result of generate")
    longer = expect(engine.generate([300, 400, 500], 5), list[int], "the result of generate")

    check(len(short) <= 2, f"{len(short)} tokens, more than max_new_tokens = 2")
    check(len(longer) <= 5, f"{len(longer)} tokens, more than max_new_tokens = 5")
    check(longer[: len(short)] == short, "two greedy results differ")


@task("engine")
def test_execute_is_a_list_of_new_texts(student):
    """execute returns one str per prompt, in order, without the prompt."""
    engine = expect(student.Engine(student.checkpoint("target").path), Proxy, "Engine(...)")
    prompts = ["import os\nimport", "def __init__(self"]

    both = expect(engine.execute(prompts, max_new_tokens=4), list[str], "the result of execute")
    alone = [engine.execute([prompt], max_new_tokens=4) for prompt in prompts]

    check(len(both) == 2, f"{len(both)} texts for 2 prompts")
    check(alone == [both[:1], both[1:]], "two prompts together give other texts than one by one")
    check(not any(t.startswith(p) for t, p in zip(both, prompts, strict=True)), "it has the prompt")
