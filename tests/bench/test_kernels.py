"""``lab bench kernels`` where there is no GPU: the loop, the check, the table, the command."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from torch import Generator, Tensor

from bench.kernels import attention, layernorm, quantized, run, table
from bench.kernels.case import COPY, Case, Peer, copy_of, difference, disagreement, load, peer
from bench.kernels.lines import Line, lines_of
from bench.kernels.rounds import calls_for, run_rounds, speedup, summarize
from bench.page import BEGIN, END, into_page
from grader.cli.app import main
from grader.errors import CannotGrade, UsageError

MACHINE = {"date": "2026-03-01", "GPU": "Example GPU 80", "command": "lab bench kernels"}


class Ticks:
    """A clock that stands still but for what the work itself adds."""

    def __init__(self) -> None:
        self.now = 0.0

    def costs(
        self, seconds: float, log: list[Any] | None = None, tag: str = ""
    ) -> Callable[[Any], None]:
        def call(slot: Any) -> None:
            self.now += seconds
            if log is not None:
                log.append((tag, slot))

        return call

    def timer(self, work: Callable[[], None]) -> float:
        started = self.now
        work()
        return self.now - started


# The loop


def test_the_loop_finds_the_cost_of_each_peer() -> None:
    ticks = Ticks()
    calls = {"slow": ticks.costs(0.003), "fast": ticks.costs(0.001)}

    times = run_rounds(calls, lambda: ["a", "b"], ticks.timer, 5)

    assert times["slow"] == pytest.approx([0.003] * 5)
    assert speedup(times["fast"], times["slow"]) == pytest.approx(3.0)


def test_peers_take_turns_and_every_round_has_fresh_inputs() -> None:
    ticks, log, made = Ticks(), [], []

    def refill() -> list[str]:
        made.append(len(made))
        return [f"{made[-1]}{slot}" for slot in "xyz"]

    run_rounds({tag: ticks.costs(1.0, log, tag) for tag in "ABC"}, refill, ticks.timer, 3)

    measured = [entry for entry in log if not entry[1].startswith("0")]  # 0: the warm-up's
    rounds = ["ABC", "CBA", "ABC"]
    expected = [
        (tag, f"{n}{s}") for n, order in enumerate(rounds, 1) for tag in order for s in "xyz"
    ]
    assert measured == expected
    warm = [slot for tag, slot in log if tag == "A" and slot.startswith("0")]
    assert warm[:3] == ["0x", "0y", "0z"]  # all are touched before anything is timed


@given(st.floats(0, 10), st.integers(1, 9))
def test_a_block_is_whole_turns_through_the_slots(seconds: float, slots: int) -> None:
    count = calls_for(seconds, slots)

    assert count % slots == 0
    assert slots <= count <= 1000 + slots
    assert count in (slots, 1000, 1000 // slots * slots + slots) or count * seconds >= 0.02 * 0.999


def test_a_summary_is_the_median_and_the_middle_half() -> None:
    summary = summarize([4.0, 1.0, 2.0, 100.0, 3.0])

    assert (summary.median, summary.spread) == (3.0, pytest.approx(2 / 3))
    assert summarize([7.0]).spread == 0.0


def test_a_speedup_is_taken_within_each_round() -> None:
    # The clock halves meanwhile: the medians alone would say 2 / 1.5.
    assert speedup([1.0, 1.0, 2.0, 2.0], [2.0, 2.0, 4.0, 4.0]) == 2.0


# The check


def case_of(*peers: Peer, **rest: Any) -> Case:
    """Doubling 3 x 5 numbers."""
    rest.setdefault("baseline", "torch")
    return Case(
        kernel="double",
        name="3 x 5",
        inputs=lambda generator: (torch.randn(3, 5, generator=generator),),
        trusted=lambda slot: (slot[0].double() * 2,),
        peers=peers,
        compare="elementwise",
        inner=1,
        **rest,
    )


def measured(case: Case, ticks: Ticks) -> list[Line]:
    return run.measure(case, lambda: [case.inputs(Generator())] * 2, ticks.timer, 4)


def test_a_wrong_peer_is_shown_as_wrong_and_never_timed() -> None:
    ticks, calls = Ticks(), []

    def wrong(slot: tuple[Tensor, ...]) -> Tensor:
        calls.append(slot)
        return slot[0] * 2.01

    def right(slot: tuple[Tensor, ...]) -> Tensor:
        ticks.now += 1e-3
        return slot[0] * 2

    lines = measured(case_of(Peer("wrong", wrong), Peer("torch", right), bytes=10**6), ticks)

    assert lines[0].problem == "wrong, not timed: output 0 is off in 15 of 15 values"
    assert (lines[0].us, lines[0].ratio) == (None, None)
    assert len(calls) == 1
    assert (lines[1].us, lines[1].rate, lines[1].unit) == (
        pytest.approx(1000.0),
        pytest.approx(1.0),
        "GB/s",
    )


def test_a_peer_that_raises_or_is_missing_says_so_and_the_others_go_on() -> None:
    def refuse(slot: object) -> None:
        raise RuntimeError("width 100003 is too large\nand more")

    ticks = Ticks()

    def right(slot: tuple[Tensor, ...]) -> Tensor:
        ticks.now += 1e-3
        return slot[0] * 2

    missing = peer(
        "Other", None, lambda call, slot: call(slot), missing="not installed: pip install other"
    )
    lines = measured(case_of(Peer("no", refuse), missing, Peer("torch", right)), ticks)

    assert [line.problem for line in lines] == [
        "cannot: RuntimeError: width 100003 is too large … and more",
        "not installed: pip install other",
        "",
    ]


@pytest.mark.parametrize(
    ("got", "told"),
    [
        (torch.full((2, 3), float("nan")), "off in 6 of 6"),
        (torch.ones(2, 3) * (1 + 9e-6), "of its size"),
        (torch.ones(2, 3) * (1 + 1e-7), ""),
        (torch.tensor([[1.0, 1, 1], [1, 1, 2]]), "off in 1 of 6"),
    ],
)
def test_a_difference_is_held_against_the_table(got: Tensor, told: str) -> None:
    problem = difference(got, torch.ones(2, 3), "elementwise", 1)

    assert told in problem
    assert bool(problem) is bool(told)


def test_a_value_is_held_against_its_own_row() -> None:
    want = torch.tensor([[1.0, -1.0], [1e-3, -1e-3]])

    assert (
        difference(want + torch.tensor([[1e-5, 0.0], [0.0, 0.0]]), want, "elementwise", 10**6) == ""
    )
    small_row = want + torch.tensor([[0.0, 0.0], [1e-5, 0.0]])
    assert difference(small_row, want, "elementwise", 10**6) == "is off in 1 of 4 values"


def test_a_wrong_shape_is_named() -> None:
    bad = Peer("bad", lambda slot: slot[0].T)
    case = case_of(bad)
    slot = case.inputs(Generator())

    assert (
        disagreement(case, bad, slot, case.trusted(slot)) == "output 0 has shape [5, 3], not [3, 5]"
    )


def test_a_copy_moves_as_many_elements_as_asked() -> None:
    first, second = torch.arange(6.0).reshape(2, 3), torch.arange(6.0) + 10

    copies = copy_of((first, second), 9)

    assert [copy.tolist() for copy in copies] == [[0, 1, 2, 3, 4, 5], [10, 11, 12]]
    assert copies[0].data_ptr() != first.data_ptr()


# The cases


@pytest.mark.parametrize("direction", [layernorm.forward, layernorm.backward])
def test_torch_passes_the_check_of_layer_norm_and_a_wrong_answer_does_not(direction: Any) -> None:
    def no_eps(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, ...]:
        y, mean, rstd = torch.native_layer_norm(x, [37], weight, bias, 10 * eps)
        return y, mean.flatten(), rstd.flatten()

    def no_weight(dy: Tensor, x: Tensor, weight: Tensor, mean: Tensor, rstd: Tensor) -> Any:
        one = torch.ones_like(weight)
        arguments = (dy, x, [37], mean[:, None], rstd[:, None], one, one, [True] * 3)
        return torch.ops.aten.native_layer_norm_backward(*arguments)

    bad = SimpleNamespace(layer_norm_forward=no_eps, layer_norm_backward=no_weight)
    case = direction((11, 37), bad, None, None)
    drawn = case.inputs(Generator().manual_seed(1))
    slot = tuple(tensor.float() for tensor in drawn)  # a CPU keeps the mean of bf16 in bf16
    expected = case.trusted(slot)

    told = {p.name: disagreement(case, p, slot, expected) for p in case.peers if p.call}

    assert told["torch"] == ""
    assert "output" in told["solution"]
    assert {p.name: p.missing for p in case.peers if not p.call} == {
        "variants/simple": "there is no such file or function",
        "Liger-Kernel": "not installed: pip install liger-kernel",
    }
    (copy,) = (p for p in case.peers if p.name == COPY)
    moved = sum(part.nbytes for part in copy.call(drawn))  # type: ignore[misc]
    assert abs(2 * moved - case.bytes) <= 2 * 2  # read and written; half an element may be lost


def attend(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> tuple[Tensor, Tensor]:
    o, lse = attention.trusted_attention(causal, (q, k, v))
    return o.to(q.dtype), lse


def attend_packed(q: Tensor, k: Tensor, v: Tensor, at: Tensor, _: Tensor, causal: bool) -> Tensor:
    parts = [
        attend(*(x[a:b].transpose(0, 1)[None] for x in (q, k, v)), causal)[0][0].transpose(0, 1)
        for a, b in zip(at[:-1].tolist(), at[1:].tolist(), strict=True)
    ]
    return torch.cat(parts)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention of two or three heads over a few dozen tokens."""
    for name, value in (("TOKENS", 48), ("MODEL_WIDTH", 48), ("PACKED_LENGTH", 16)):
        monkeypatch.setattr(attention, name, value)
    monkeypatch.setattr(attention, "WIDTHS", (16, 24))
    monkeypatch.setattr(attention, "LENGTHS", (16, 24))


@pytest.mark.usefixtures("small")
def test_attention_padded_and_packed_is_checked_against_the_same_values() -> None:
    answers = SimpleNamespace(flash_attention=attend, flash_attention_varlen=attend_packed)
    wrong = SimpleNamespace(
        flash_attention=lambda q, k, v, causal: attend(q, k, v, not causal),
        flash_attention_varlen=lambda q, k, v, a, b, causal: attend_packed(q, k, k, a, b, causal),
    )

    for case in attention.cases(answers, wrong):
        slot = case.inputs(Generator().manual_seed(1))
        expected = case.trusted(slot)
        told = {
            p.name: disagreement(case, p, slot, expected)
            for p in case.peers
            if "cuDNN" not in p.name
        }
        assert "off" in told.pop("variants/simple")
        assert set(told.values()) == {""}, (case.name, told)


@pytest.mark.usefixtures("small")
def test_attention_counts_half_the_work_under_a_causal_mask() -> None:
    cases = {case.name: case for case in attention.cases(None, None) if "varlen" not in case.kernel}

    assert cases["3 x 3 x 16 x 16, full"].flops == 4 * 3 * 3 * 16 * 16 * 16
    assert cases["3 x 3 x 16 x 16, causal"].flops == 2 * 3 * 3 * 16 * 16 * 16


def unpacked(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    codes = torch.stack((packed & 15, packed >> 4), dim=2).flatten(1).float()
    column = torch.arange(codes.shape[1]) // group
    return (codes - zero[:, column]) * scale[:, column]


def multiplied(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    return (x.float() @ unpacked(packed, scale, zero, group).T).to(x.dtype)


def one_group(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    return multiplied(x, packed, scale[:, :1].expand_as(scale), zero, group)


class Layer(torch.nn.Module):
    """Rounds weights to a number of steps of each row's largest."""

    STEPS = 127

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        scale = weight.float().abs().amax(1, keepdim=True) / self.STEPS
        self.weight = (weight.float() / scale).round() * scale

    @classmethod
    def from_float(cls, linear: torch.nn.Linear) -> "Layer":
        return cls(linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        return (x.float() @ self.weight.T).to(x.dtype)


class Coarse(Layer):
    STEPS = 31


@pytest.fixture
def few_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantized, "SIZES", ((44, 96, 32), (21, 256, 128)))
    monkeypatch.setattr(quantized, "ROWS", (1, 6))


def told_of(answers: Any, simple: Any) -> dict[str, dict[str, str]]:
    """What the check says of each peer that is there, by kernel and peer."""
    found: dict[str, dict[str, str]] = {}
    for case in quantized.cases(answers, simple):
        slot = case.inputs(Generator().manual_seed(3))
        expected = case.trusted(slot)
        for p in case.peers:
            told = disagreement(case, p, slot, expected) if p.call else p.missing
            found.setdefault(case.kernel, {}).setdefault(p.name, told)
    return found


@pytest.mark.usefixtures("few_weights")
def test_quantized_layers_are_checked_and_wrong_ones_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchao.quantization", None)
    answers = SimpleNamespace(int4_matmul=multiplied, Int8Linear=Layer)

    told = told_of(answers, SimpleNamespace(int4_matmul=one_group, Int8Linear=Coarse))

    assert {kernel: list(peers) for kernel, peers in told.items()} == {
        kernel: ["solution", "variants/simple", "torch bf16", "torchao", COPY]
        for kernel in ("int4_matmul", "Int8Linear")
    }
    for peers in told.values():
        assert "is off in" in peers.pop("variants/simple")
        assert peers.pop("torchao") == "not installed: pip install torchao"
        assert set(peers.values()) == {""}


@pytest.mark.usefixtures("few_weights")
@pytest.mark.parametrize(("steps", "told"), [(127.5, ""), (20, "of its size")])
def test_torchao_may_round_weights_its_own_way_but_not_coarsely(
    monkeypatch: pytest.MonkeyPatch, steps: float, told: str
) -> None:
    configs = []

    def quantize(model: torch.nn.Sequential, config: Any) -> None:
        configs.append(config)
        model[0] = type("Made", (Layer,), {"STEPS": steps if config is None else 127})(
            model[0].weight
        )

    fake = SimpleNamespace(
        quantize_=quantize, Int8WeightOnlyConfig=lambda: None, Int4WeightOnlyConfig=dict
    )
    monkeypatch.setitem(sys.modules, "torchao.quantization", fake)

    found = told_of(None, None)

    assert told in found["Int8Linear"]["torchao"]
    assert bool(found["Int8Linear"]["torchao"]) is bool(told)
    assert found["Int8Linear"]["solution"] == "there is no such file or function"
    four = {"group_size": 32, "int4_packing_format": "tile_packed_to_4d"}
    assert configs[0] == four
    assert len(configs) == 8  # a model for each set of weights, not for each call


@pytest.mark.usefixtures("few_weights")
def test_quantized_weights_count_as_they_are_stored_and_take_turns_in_all_rounds() -> None:
    cases = {case.kernel + case.name: case for case in quantized.cases(None, None)}
    generator = Generator().manual_seed(4)

    one, six = (cases[f"int4_matmul{rows}, 44 x 96, group 32"] for rows in ("1 row", "6 rows"))
    slots = [one.inputs(generator), one.inputs(generator), six.inputs(generator)]

    weights = 44 * 96 // 2 + 44 * 3 * 5
    assert (one.bytes, six.bytes) == (weights + 2 * 140, weights + 2 * 6 * 140)
    assert not torch.equal(slots[0][0], slots[1][0])
    assert slots[2][1] is slots[0][1]
    assert not torch.equal(slots[0][1], slots[1][1])
    _, w, *stored = slots[0]
    assert torch.equal(unpacked(*stored, 32), w.float())  # bf16 holds them all
    groups = w.float().unflatten(1, (-1, 32))
    whole = (groups.amax(2) - groups.amin(2)) / stored[1]
    assert torch.equal(whole, torch.full_like(whole, 15.0))
    (copy,) = (p for p in one.peers if p.name == COPY)
    (moved,) = copy.call(slots[0])  # type: ignore[misc]
    assert abs(2 * moved.nbytes - one.bytes) <= 4  # read and written
    eight = cases["Int8Linear1 row, 44 x 96"].inputs(generator)[1].float()
    assert torch.equal(Layer(eight).weight, eight)


def test_an_answer_is_loaded_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "answer.py"
    file.write_text("def double(x):\n    return 2 * x\n")

    assert load(file, "bench_0_0").double(3) == 6
    assert load(tmp_path / "none.py", "bench_0_1") is None


# The table


def sample() -> list[Line]:
    peers = (
        Peer("solution", None), Peer("torch", None), Peer("Liger-Kernel", None), Peer(COPY, None)
    )  # fmt: skip
    case = case_of(*peers, bytes=2_000_000)
    times = {"solution": [1e-3, 1e-3], "torch": [2e-3, 2e-3], COPY: [0.5e-3, 0.5e-3]}
    return lines_of(case, times, {"Liger-Kernel": "not installed: pip install liger-kernel"})


def test_the_table_has_one_row_per_peer() -> None:
    text = table.render_markdown(sample(), MACHINE)

    assert text.splitlines() == [
        "- date: 2026-03-01",
        "- GPU: Example GPU 80",
        "- command: lab bench kernels",
        "",
        "| case | peer | time | spread | rate | of copy | ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| double, 3 x 5; ratio to torch | solution | 1000 µs | 0.0 % | 2 GB/s | 50 % | 2.00 |",
        "|  | torch | 2000 µs | 0.0 % | 1 GB/s | 25 % | 1.00 |",
        "|  | Liger-Kernel | not installed: pip install liger-kernel |  |  |  |  |",
        "|  | device copy | 500 µs | 0.0 % | 4 GB/s | 100 % | 4.00 |",
    ]


def test_a_terminal_of_80_columns_shows_every_row_on_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Console(width=80).print(table.render_terminal(sample(), MACHINE))

    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert "double, 3 x 5; ratio to torch" in lines
    assert "  peer                    time   spread          rate  of copy   ratio" in lines
    assert "  solution             1000 µs    0.0 %        2 GB/s     50 %    2.00" in lines
    assert "  Liger-Kernel      not installed: pip install liger-kernel" in lines


def test_the_command_is_shown_without_the_folders_of_one_machine() -> None:
    told = run.command(["bench", "kernels", "6", "--json", "/home/me/t.json", "--rounds", "4"])

    assert told == "lab bench kernels 6 --json t.json --rounds 4"


def test_a_case_without_its_baseline_has_no_ratio() -> None:
    (line,) = lines_of(case_of(Peer("solution", None), flops=10**9), {"solution": [1e-3] * 3}, {})

    assert (line.ratio, line.of_copy, line.unit) == (None, None, "TFLOP/s")
    assert line.rate == pytest.approx(1.0)
    assert table.cells(line)[-2:] == ("-", "-")


def test_json_holds_the_numbers() -> None:
    data = json.loads(table.render_json(sample(), MACHINE))

    assert data["machine"] == MACHINE
    assert data["lines"][0]["us"] == pytest.approx(1000.0)
    assert data["lines"][2]["problem"].startswith("not installed")


def put(page: str, measured: str) -> str:
    return into_page(page, measured, table.TITLE)


def test_only_the_part_between_the_marks_of_a_page_is_replaced() -> None:
    page = f"# Ours\n\nWhy.\n\n{BEGIN}\nold\n{END}\n\nAfter.\n"

    once = put(page, "new\n")

    assert once == f"# Ours\n\nWhy.\n\n{BEGIN}\n\nnew\n\n{END}\n\nAfter.\n"
    assert put(once, "new\n") == once
    assert put(put("", "a\n"), "b\n") == put("", "b\n")
    with pytest.raises(UsageError, match="no place for the table"):
        put("# Mine\n", "new\n")


def test_the_committed_page_has_a_place_for_the_table() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "kernels.md"

    assert "new table" in put(page.read_text(encoding="utf-8"), "new table\n")


# The command


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.usefixtures("no_gpu")
def test_a_machine_without_a_gpu_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "kernels"]) == 3

    first, second = capsys.readouterr().err.splitlines()
    assert first == "error: kernels are timed on a GPU, and torch sees none here"
    assert second.startswith("hint: run it on a machine with a GPU")


def test_interpreted_kernels_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("TRITON_INTERPRET", "1")

    with pytest.raises(CannotGrade, match="interpreted"):
        run.need_gpu()


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["1"], "lab 1 has no kernels to time"),
        (["77"], "77"),
        (["--rounds", "1"], "--rounds"),
        (["--json", "/nowhere/at/all.json"], "cannot write"),
        (["--markdown", __file__], "no place for the table"),
    ],
)
def test_a_mistake_is_found_before_anything_runs(
    arguments: Sequence[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "kernels", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_the_command_prints_one_table_and_writes_both_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "need_gpu", lambda: None)
    monkeypatch.setattr(run, "machine", lambda: MACHINE)
    monkeypatch.setattr(
        run, "run_kernels", lambda labs, rounds, tell: iter(sample() * (rounds == 4))
    )
    page, data = tmp_path / "page.md", tmp_path / "table.json"

    files = ["--json", str(data), "--markdown", str(page)]
    assert main(["bench", "kernels", "--rounds", "4", *files]) == 0

    assert "Example GPU 80" in capsys.readouterr().out
    assert "| double, 3 x 5; ratio to torch | solution |" in page.read_text()
    assert len(json.loads(data.read_text())["lines"]) == 4


def test_bench_alone_measures_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("grader.cli.commands.bench", lambda: asked.append("judge") or 0)

    assert main(["bench"]) == 0
    assert main(["bench", "judge"]) == 0
    assert asked == ["judge", "judge"]
