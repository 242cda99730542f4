"""Counters and the guard that run beside a submission."""

import contextlib
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

from grader.wire.channel import MAX_OPERATORS
from grader.worker.operators.counters import Launches
from grader.worker.operators.guard import resolve
from grader.worker.probes import Probes

SDPA = "torch.nn.functional.scaled_dot_product_attention"
RULES = {
    "names": [SDPA, "torch.nn.MultiheadAttention", "torch.nn.functional.rms_norm"],
    "aten": ["_scaled_dot_product_*", "native_layer_norm*"],
    "packages": ["transformers"],
    "audit": True,
}
Q = torch.ones(1, 1, 3, 4)


@pytest.fixture
def probes() -> Probes:
    return Probes()


@contextlib.contextmanager
def reading(probes: Probes, name: str, config: Any = None) -> Iterator[list[Any]]:
    found: list[Any] = []
    probes.run(name, "start", config or {})
    try:
        yield found
    finally:
        found.append(probes.run(name, "stop", {}))


def test_largest_storage_counts_not_the_view(probes: Probes) -> None:
    with reading(probes, "largest") as got:
        (torch.ones(6, 5) + 1)[0]
        torch.ones(7)

    assert got == [30]


def test_largest_sees_tuples_and_lists(probes: Probes) -> None:
    with reading(probes, "largest") as got:
        torch.ones(3, 4).topk(2)
        torch.ones(20).split(7)

    assert got == [20]


def test_expanded_tensor_is_as_large_as_its_storage(probes: Probes) -> None:
    with reading(probes, "largest") as got:
        torch.ones(3, 1).expand(3, 1000)

    assert got == [3]


def test_flops_of_a_matmul(probes: Probes) -> None:
    with reading(probes, "flops") as got:
        torch.ones(2, 3) @ torch.ones(3, 5)
        torch.ones(4, 2, 3).bmm(torch.ones(4, 3, 5))

    assert got == [2 * 2 * 3 * 5 * (1 + 4)]


@pytest.mark.parametrize("groups", [4, 2])
def test_fused_attention_costs_what_its_products_cost(probes: Probes, groups: int) -> None:
    q, k = torch.ones(3, 4, 5, 16), torch.ones(3, groups, 7, 16)

    with reading(probes, "flops") as got:
        scaled_dot_product_attention(q, k, k, enable_gqa=groups < 4)

    assert got == [2 * (2 * 3 * 4 * 5 * 7 * 16)]


def test_what_is_unobserved_does_not_count(probes: Probes) -> None:
    with reading(probes, "largest") as largest, reading(probes, "flops") as flops:
        with probes.unobserved():
            torch.ones(90) + 1
            torch.ones(9, 9) @ torch.ones(9, 9)
        torch.ones(2)

    assert (largest, flops) == ([2], [0])


def checkpointed() -> torch.Tensor:
    x = torch.ones(3, 2, requires_grad=True)
    checkpoint(torch.mm, x, torch.ones(2, 2), use_reentrant=False).sum().backward()
    assert x.grad is not None
    return x.grad


def nested() -> torch.Tensor:
    rows = torch.nested.nested_tensor([torch.ones(2, 2), torch.ones(1, 2)], layout=torch.jagged)
    return nn.functional.linear(rows, torch.ones(2, 2)).values()


class Own(torch.Tensor):
    pass


# Each computes [3, 2] twos by a product that costs 24 operations or 48, or by none; products and
# sums of elements cost 6 more.
KINDS: dict[str, tuple[Callable[[], torch.Tensor], int]] = {
    "mask of torch's": (
        lambda: scaled_dot_product_attention(
            *(torch.ones(1, 1, 3, 2), torch.ones(1, 1, 3, 2), 2 * torch.ones(1, 1, 3, 2)),
            attn_mask=causal_lower_right(3, 3),
        )[0, 0],
        72 + 6,
    ),
    "nested": (nested, 24),
    "parameter": (lambda: nn.Parameter(torch.ones(3, 2)) @ nn.Parameter(torch.ones(2, 2)), 24),
    "vmap": (lambda: torch.vmap(lambda row: row @ torch.ones(2, 2))(torch.ones(3, 2)), 24),
    "grad": (
        lambda: torch.func.grad(lambda x: (x @ torch.ones(2, 2)).sum())(torch.ones(3, 2)),
        48 + 6,
    ),
    "checkpoint": (checkpointed, 48 + 6),
    "own": (lambda: Own([[2.0, 2.0]] * 3) + Own(3, 2).zero_(), 0),
    "compiler": (
        lambda: nn.Embedding(3, 2, device="meta").to_empty(device="cpu").weight * 0 + 2,
        6,
    ),
}


@pytest.mark.parametrize("probe", ["flops", "largest", "operators"])
@pytest.mark.parametrize("kind", KINDS)
def test_tensors_of_every_kind_live_beside_a_probe(probes: Probes, probe: str, kind: str) -> None:
    compute, flops = KINDS[kind]
    with reading(probes, probe) as got:
        made = compute()

    assert made.tolist() == [[2.0, 2.0]] * 3
    if probe == "flops":
        assert got == [flops]


def test_own_kind_of_tensor_does_not_hide_what_it_computes(probes: Probes) -> None:
    with reading(probes, "operators") as seen:
        nested()

    assert {"linear", "mm", "addmm"} & {*seen[0]}


def test_operators_are_told_by_base_name_with_the_most_elements(probes: Probes) -> None:
    x = torch.ones(6, 5)
    with reading(probes, "operators") as got:
        x.sum()
        x[0].sum(0)
        x[:2].mul(x[:1])
        x[0].add_(1.0)

    (seen,) = got
    assert {seen[name] for name in ("sum", "select", "slice")} == {30}
    assert (seen["mul"], seen["add_"]) == (10, 5)


def test_operators_look_into_lists_and_at_what_is_made(probes: Probes) -> None:
    with reading(probes, "operators") as got:
        torch.cat([torch.ones(3), torch.ones(4)])
        torch.ones(20).split(7)
        torch.ones(9).topk(2)

    assert {name: got[0][name] for name in ("cat", "split", "topk")} == {
        "cat": 7,
        "split": 20,
        "topk": 9,
    }


def test_operators_that_gradients_need_are_seen(probes: Probes) -> None:
    x = torch.ones(3, 4, requires_grad=True)
    with reading(probes, "operators") as got:
        nn.functional.layer_norm(x, (4,)).sum().backward()

    assert got[0]["native_layer_norm_backward"] == 12


def test_operators_of_no_space_of_torch_keep_their_space(probes: Probes) -> None:
    with torch.library._scoped_library("inferlab_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        with reading(probes, "operators") as got:
            torch.ops.inferlab_test.twice(torch.ones(8))

    assert got[0]["inferlab_test.twice"] == 8


def test_no_reading_of_operators_is_endless(probes: Probes) -> None:
    probes.run("operators", "start", {})
    probes.running["operators"].seen = {f"{index}": 1 for index in range(MAX_OPERATORS)}
    torch.ones(4).add_(1)

    seen = probes.run("operators", "stop", {})

    assert len(seen) == MAX_OPERATORS
    assert "add_" not in seen


def test_unobserved_operators_are_not_told(probes: Probes) -> None:
    with reading(probes, "operators") as got:
        with probes.unobserved():
            torch.ones(90).exp()
        torch.ones(2)

    assert got == [{"ones": 2}]


def test_counting_launches_leaves_triton_as_it_was() -> None:
    runtime = pytest.importorskip("triton.runtime")
    before = (runtime.JITFunction.run, runtime.Autotuner._bench)

    launches = Launches()
    during = (runtime.JITFunction.run, runtime.Autotuner._bench)
    count = launches.stop()

    assert count == 0
    assert not set(before) & set(during)
    assert (runtime.JITFunction.run, runtime.Autotuner._bench) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.functional.scaled_dot_product_attention(Q, Q, Q),
        lambda: getattr(nn.functional, "scaled_dot_" + "product_attention")(Q, Q, Q),
        lambda: torch._C._nn.scaled_dot_product_attention(Q, Q, Q),
        lambda: torch.ops.aten.scaled_dot_product_attention(Q, Q, Q),
        lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(Q, Q, Q),
        lambda: nn.functional.rms_norm(Q, (4,)),
        lambda: nn.LayerNorm(4)(Q),
        lambda: nn.MultiheadAttention(4, 1)(Q[0], Q[0], Q[0]),
        lambda: type("Mine", (nn.MultiheadAttention,), {})(4, 1)(Q[0], Q[0], Q[0]),
    ],
    ids=["plain", "getattr", "binding", "operator", "low", "rms", "aten", "module", "subclass"],
)
def test_guard_sees_a_forbidden_call_however_it_is_reached(probes: Probes, call: Any) -> None:
    with reading(probes, "guard", RULES) as got:
        call()

    assert got[0], "not seen"


@pytest.mark.parametrize("kind", [threading.Thread, type("Own", (threading.Thread,), {})])
def test_guard_sees_a_call_in_another_thread(probes: Probes, kind: type[threading.Thread]) -> None:
    with reading(probes, "guard", RULES) as got:
        thread = kind(target=torch.ops.aten.scaled_dot_product_attention, args=(Q, Q, Q))
        thread.start()
        thread.join()

    assert got[0], "not seen"


def test_guard_sees_another_process(probes: Probes) -> None:
    with reading(probes, "guard", RULES) as got:
        subprocess.run([sys.executable, "-c", ""], check=True)

    assert got == [["another process"]]


def test_guard_sees_a_process_from_before(probes: Probes) -> None:
    command = [sys.executable, "-c", "print(flush=True); input()"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline()  # it has started: its command line can be read
        with reading(probes, "guard", RULES) as got:
            pass
        other.kill()

    assert got == [["another process"]]


def test_guard_lets_libraries_start_processes(probes: Probes) -> None:
    asking = types.FunctionType(
        compile("subprocess.run(['true'])", "/usr/lib/site-packages/triton/build.py", "exec"),
        {"__name__": "triton.runtime.build", "subprocess": subprocess},
    )

    with reading(probes, "guard", RULES) as got:
        asking()

    assert got == [[]]


def test_guard_lets_honest_code_pass(probes: Probes) -> None:
    with reading(probes, "guard", RULES) as got:
        scores = Q @ Q.transpose(-1, -2) * Q.shape[-1] ** -0.5
        (scores.softmax(-1) @ Q) * torch.rsqrt(Q.square().mean(-1, keepdim=True) + 1e-5)
        nn.Linear(4, 3)(Q)
        nn.functional.silu(Q)

    assert got == [[]]


def test_guard_sees_a_module_of_a_forbidden_package(probes: Probes) -> None:
    kind = type("LlamaMLP", (nn.Linear,), {"__module__": "transformers.models.llama"})

    with reading(probes, "guard", RULES) as got:
        kind(4, 2)(Q)

    assert got == [["transformers.models.llama.LlamaMLP"]]


def test_guard_is_gone_after_its_block(probes: Probes) -> None:
    with reading(probes, "guard", RULES) as got:
        pass
    nn.functional.rms_norm(Q, (4,))

    assert got == [[]]
    assert not torch.nn.modules.module._global_forward_pre_hooks


def test_each_hit_is_told_once(probes: Probes) -> None:
    with reading(probes, "guard", RULES) as got:
        for _ in range(50):
            nn.functional.rms_norm(Q, (4,))

    assert len(got[0]) == len(set(got[0])) <= 20


def test_names_resolve_to_what_they_stand_for() -> None:
    assert resolve(SDPA) is nn.functional.scaled_dot_product_attention
    assert resolve("torch.nn.MultiheadAttention") is nn.MultiheadAttention
    assert resolve("torch.nothing.of.the.kind") is None
    assert resolve("unheard_of.thing") is None


def test_unknown_probe_is_our_own_mistake(probes: Probes) -> None:
    with pytest.raises(ValueError, match="unknown probe"):
        probes.run("mind", "start", {})
