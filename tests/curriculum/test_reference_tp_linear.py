"""The oracle of lab 08 against torch's own layers in float64, and rings that are walked through."""

from itertools import product

import pytest
import torch
from torch import Tensor, nn

from reference.tp_linear import (
    communication_bytes,
    head_rows,
    kv_heads,
    linear,
    linear_gradients,
    mlp,
    mlp_gradients,
    part,
    ring_shares,
)

LEADS = [(), (4,), (2, 3), (2, 1, 3)]


def draw(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("lead", LEADS, ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_linear_and_its_gradients_are_those_of_torch(lead: tuple[int, ...], bias: bool) -> None:
    layer = nn.Linear(7, 5, bias=bias, dtype=torch.float64)
    x, dy = draw(*lead, 7).requires_grad_(), draw(*lead, 5)
    want = layer(x)
    want.backward(dy)

    got = linear(x.detach(), layer.weight.detach(), layer.bias.detach() if bias else None)
    dx, dweight, dbias = linear_gradients(x.detach(), layer.weight.detach(), dy)

    torch.testing.assert_close(got, want.detach())
    torch.testing.assert_close(dx, x.grad)
    torch.testing.assert_close(dweight, layer.weight.grad)
    if bias:
        torch.testing.assert_close(dbias, layer.bias.grad)


@pytest.mark.parametrize("lead", LEADS, ids=str)
def test_mlp_and_its_gradients_are_those_of_torch(lead: tuple[int, ...]) -> None:
    leaves = [draw(*shape).requires_grad_() for shape in ((*lead, 4), (9, 4), (9, 4), (4, 9))]
    dy = draw(*lead, 4) + 0.5
    x, gate, up, down = leaves
    hidden = nn.functional.silu(nn.functional.linear(x, gate)) * nn.functional.linear(x, up)
    want = nn.functional.linear(hidden, down)

    arguments = [leaf.detach() for leaf in leaves]
    torch.testing.assert_close(mlp(*arguments), want.detach())
    wanted = torch.autograd.grad(want, leaves, dy)
    for got, gradient in zip(mlp_gradients(*arguments, dy), wanted, strict=True):
        torch.testing.assert_close(got, gradient)


def test_low_precision_is_widened_first() -> None:
    x, weight = draw(3, 6).bfloat16(), draw(4, 6).bfloat16()

    torch.testing.assert_close(linear(x, weight, None), x.double() @ weight.double().T)


@pytest.mark.parametrize("world", [1, 2, 3, 4, 6])
def test_parts_are_those_of_chunk(world: int) -> None:
    values = torch.arange(36)

    for rank, chunk in enumerate(values.chunk(world)):
        assert torch.equal(values[part(36, rank, world)], chunk)


def test_key_value_heads_of_the_handout() -> None:
    assert [kv_heads(rank, 4, 8, 2) for rank in range(4)] == [[0], [0], [1], [1]]
    assert [kv_heads(rank, 2, 6, 6) for rank in range(2)] == [[0, 1, 2], [3, 4, 5]]
    assert [kv_heads(rank, 3, 6, 1) for rank in range(3)] == [[0], [0], [0]]
    assert [kv_heads(rank, 2, 8, 4) for rank in range(2)] == [[0, 1], [2, 3]]


def test_key_value_heads_are_those_that_repetition_pairs() -> None:
    for world, num_kv_heads, each in product((1, 2, 3, 4), (1, 2, 3, 4, 6), (1, 2, 4)):
        num_heads = num_kv_heads * each
        if num_heads % world:
            continue
        pairs = torch.arange(num_kv_heads).repeat_interleave(each).chunk(world)
        want = [sorted(set(heads.tolist())) for heads in pairs]
        assert [kv_heads(r, world, num_heads, num_kv_heads) for r in range(world)] == want


def test_rows_of_heads() -> None:
    assert head_rows([2, 0], 3) == [6, 7, 8, 0, 1, 2]


# --- rings -----------------------------------------------------------------------------------


def reduce_scatter(chunks: list[list[set[int]]]) -> list[int]:
    """Let each rank pass a chunk on and add what arrives; return how many each rank has sent."""
    world = len(chunks)
    for step in range(world - 1):
        sent = [(rank, (rank - step) % world) for rank in range(world)]
        moving = {rank: chunks[rank][index] for rank, index in sent}
        for rank, index in sent:
            chunks[(rank + 1) % world][index] = chunks[(rank + 1) % world][index] | moving[rank]
    return [world - 1] * world


def all_gather(owners: list[set[int]]) -> list[int]:
    """Let each rank pass on what came last; return how many chunks each rank has sent."""
    world, last, sent = len(owners), [set(own) for own in owners], [0] * len(owners)
    while any(len(own) < world for own in owners):
        sent = [count + 1 for count in sent]
        last = [last[rank - 1] for rank in range(world)]
        for own, new in zip(owners, last, strict=True):
            own |= new
    return sent


def broadcast(world: int) -> list[int]:
    """Pipe the root's chunks along the ring; the last rank has nobody to send to."""
    sent = [0] * world
    for _chunk, rank in product(range(world), range(world - 1)):
        sent[rank] += 1
    return sent


@pytest.mark.parametrize("world", [1, 2, 3, 4, 7])
def test_shares_are_those_of_a_ring_that_is_walked_through(world: int) -> None:
    terms = [[{rank} for _ in range(world)] for rank in range(world)]
    scattered = reduce_scatter(terms)
    # Rank r ends with the whole sum of one chunk, and gathers the others.
    whole = [[len(chunk) for chunk in own].index(world) for own in terms]
    assert sorted(whole) == list(range(world))
    gathered = all_gather([{index} for index in whole])

    assert ring_shares("reduce_scatter", world) == max(scattered)
    assert ring_shares("all_gather", world) == max(gathered)
    both = [a + b for a, b in zip(scattered, gathered, strict=True)]
    assert ring_shares("all_reduce", world) == max(both)
    assert ring_shares("broadcast", world) == max(broadcast(world))


def test_bytes_of_the_handout() -> None:
    ops = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")

    assert [communication_bytes(op, 1000, 4, 4) for op in ops] == [6000, 3000, 3000, 4000]
    assert [communication_bytes(op, 1000, 4, 1) for op in ops] == [0, 0, 0, 0]
    assert communication_bytes("all_reduce", 7, 2, 3) == pytest.approx(14 * 4 / 3)
