"""``lab bench engine``: the cases, the check, the lines, the table, the command."""

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch
from rich.console import Console

from bench.engine import cases as cases_module
from bench.engine import peers, run, table
from bench.engine.cases import EAGER, ENGINE, INT4, STATIC, Case, cases, chosen, make
from bench.engine.lines import Line, lines_of, with_copies
from bench.engine.peers import Ours, Theirs, disagreement, hugging_face
from bench.engine.roof import bandwidth, step_bytes
from bench.page import BEGIN_ON, END, into_page
from grader.__main__ import main
from grader.errors import CannotGrade, UsageError
from reference.engine.engine import Setting
from reference.models.checkpoint import Model

MACHINE = {"date": "2026-03-01", "device": "Example GPU 80", "command": "lab bench engine"}
TINY = {
    "num_layers": 2,
    "hidden_size": 24,
    "num_heads": 6,
    "num_kv_heads": 2,
    "head_dim": 8,
    "intermediate_size": 40,
    "vocab_size": 61,
}
CASE = Case("tiny", "float32", 3, 7, 5, (ENGINE, EAGER))
NOWHERE = Path("nowhere")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model so small that nothing is worth compiling."""
    monkeypatch.setitem(cases_module.RANDOM, "tiny", TINY)
    monkeypatch.setattr(peers, "Setting", partial(Setting, compiled=False))
    monkeypatch.setattr(run, "bandwidth", lambda device: 2e9)


# The run


def test_a_case_is_checked_and_timed() -> None:
    lines = run.measure(CASE, "cpu", 2, NOWHERE)

    assert [(line.case, line.peer, line.problem) for line in lines] == [
        (CASE.name, ENGINE, ""),
        (CASE.name, EAGER, ""),
    ]
    assert all(line.rate is not None and line.rate > 0 for line in lines)
    assert lines[0].ratio == 1.0  # without a static cache the engine is the baseline
    assert lines[0].roof == lines[1].roof


def test_both_say_the_same_logits() -> None:
    model = make("tiny", torch.float32, "cpu", NOWHERE)
    prompts = run._prompts(CASE, model, NOWHERE)

    ours = Ours(model, CASE, "cpu", ENGINE, None).last_logits(prompts)
    theirs = Theirs(hugging_face(model, torch.float32, "cpu"), CASE, "cpu", False)

    torch.testing.assert_close(ours, theirs.last_logits(prompts), rtol=1e-4, atol=1e-4)


def test_int4_is_held_against_a_model_of_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = TINY | {"hidden_size": 64, "intermediate_size": 96, "num_heads": 8}
    monkeypatch.setitem(cases_module.RANDOM, "wide", wide)
    case = Case("wide", "float32", 1, 7, 5, (ENGINE, INT4))

    lines = run.measure(case, "cpu", 1, NOWHERE)
    monkeypatch.setattr(run, "in_int4", lambda model, dtype: model)
    unrounded = run.measure(case, "cpu", 1, NOWHERE)

    assert [line.problem for line in lines] == ["", ""]
    assert "off by" in unrounded[1].problem


def test_who_is_wrong_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(model: Model, dtype: torch.dtype, device: str) -> object:
        weights = {name: weight.flip(0) for name, weight in model.weights.items()}
        return hugging_face(Model(model.fields, weights), dtype, device)

    monkeypatch.setattr(run, "hugging_face", spoil)

    ours, theirs = run.measure(CASE, "cpu", 2, NOWHERE)

    # The engine is held against transformers, so here it is the one that looks wrong.
    assert ours.problem.startswith("wrong, not timed: its logits are off by")
    assert theirs.rate is not None
    assert theirs.roof is None


def test_who_breaks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such kernel\nmore of it")

    monkeypatch.setattr(run, "Ours", broken)

    ours, theirs = run.measure(CASE, "cpu", 2, NOWHERE)

    assert ours.problem == "cannot: RuntimeError: no such kernel"
    assert theirs.rate is not None


def test_without_transformers_the_engine_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)

    ours, theirs = run.measure(CASE, "cpu", 2, NOWHERE)

    assert ours.rate is not None
    assert theirs.problem == "not installed: pip install transformers"


def test_no_case_is_begun_too_late() -> None:
    told: list[str] = []

    lines = list(run.run_cases([CASE, CASE], "cpu", 2, 1e-9, told.append))

    assert [line.problem for line in lines] == [run.LATE] * 4
    assert told == []


def test_guesses_are_told() -> None:
    checkpoints = Path(__file__).parents[2] / "labs" / "checkpoints"
    case = Case("target", "float32", 1, 40, 10, (ENGINE, cases_module.DRAFT, cases_module.LOOKUP))

    plain, draft, _ = run.measure(case, "cpu", 2, checkpoints)

    assert plain.note == ""
    assert "guesses stayed" in draft.note


def test_prompts_of_guesses_are_text() -> None:
    checkpoints = Path(__file__).parents[2] / "labs" / "checkpoints"
    case = Case("target", "float32", 1, 40, 10, (cases_module.DRAFT,))

    prompts = run._prompts(case, make("target", torch.float32, "cpu", checkpoints), checkpoints)

    assert [len(prompt) for prompt in prompts] == [40]
    assert prompts[0][0] != prompts[0][1]


@pytest.mark.parametrize("value", [float("nan"), 3.0])
def test_logits_that_are_off_are_found(value: float) -> None:
    right = torch.ones(2, 5)
    wrong = right.clone()
    wrong[1, 2] = value

    assert disagreement(right, right, 1e-6) == ""
    assert "off by" in disagreement(wrong, right, 0.1)


# The roof


def test_a_step_reads_weights_and_rows() -> None:
    model = make("tiny", torch.float32, "cpu", NOWHERE)

    # 3 sequences, 7 + 2 rows in the middle, 2 layers, keys and values, 2 heads of 8, 4 bytes.
    assert step_bytes(model, CASE, 1000) == 1000 + 3 * 9 * 2 * 2 * 2 * 8 * 4


def test_the_engine_reads_all_weights_but_the_embedding() -> None:
    model = make("tiny", torch.float32, "cpu", NOWHERE)
    read = sum(w.nbytes for name, w in model.weights.items() if "embed" not in name)

    assert Ours(model, CASE, "cpu", ENGINE, None).num_bytes == read


def test_the_bandwidth_is_one_of_a_machine() -> None:
    assert 1e8 < bandwidth("cpu") < 1e13


def test_all_peers_get_the_threads_asked_for() -> None:
    before = torch.get_num_threads()

    run.use_threads(1)
    given = torch.get_num_threads()
    run.use_threads(before)
    run.use_threads(0)

    assert given == 1
    assert torch.get_num_threads() == before


# The cases


def test_the_goals_of_a_gpu_are_measured() -> None:
    found = {(case.batch, case.context): case.peers for case in cases("cuda")}

    assert {ENGINE, INT4, STATIC, EAGER} <= {*found[1, 256]}
    assert ENGINE in found[64, 256]
    assert ENGINE in found[8, 256]
    assert ENGINE in found[1, 1024]


def test_each_case_of_a_cpu_stands_beside_the_static_cache() -> None:
    plain = [case for case in cases("cpu") if ENGINE in case.peers and STATIC in case.peers]

    kinds = {(case.model, case.dtype, case.batch) for case in plain}
    assert kinds == {
        (model, dtype, batch)
        for model in ("target", "100M")
        for dtype in ("float32", "bfloat16")
        for batch in (1, 8)
    }


def test_cases_can_be_chosen() -> None:
    (case,) = chosen("cpu", ["100M"], ["bfloat16"], [8], 5)

    assert (case.model, case.dtype, case.batch, case.steps) == ("100M", "bfloat16", 8, 5)
    assert chosen("cpu", ["9B"], [], [], 0) == ()
    assert chosen("cpu", [], [], [], 0) == cases("cpu")


@pytest.mark.parametrize(("name", "millions"), [("100M", 101), ("1.1B", 1100)])
def test_random_models_are_as_large_as_they_are_called(name: str, millions: int) -> None:
    f = cases_module.RANDOM[name]
    heads = f["num_heads"] + f["num_kv_heads"]
    layer = f["hidden_size"] * (2 * heads * f["head_dim"] + 3 * f["intermediate_size"])
    count = f["num_layers"] * layer + 2 * f["vocab_size"] * f["hidden_size"]

    assert count / 1e6 == pytest.approx(millions, rel=0.01)


# The table


def lines() -> list[Line]:
    rates = {ENGINE: [400.0, 420.0, 380.0], STATIC: [200.0, 200.0, 200.0]}
    problems = {EAGER: "cannot: RuntimeError: | <b>"}
    roofs = {ENGINE: 800.0, STATIC: 800.0}
    names = (ENGINE, STATIC, EAGER)
    return lines_of("m", names, rates, roofs, problems, STATIC, {ENGINE: "9 guesses"})


def test_lines_tell_rate_share_and_ratio() -> None:
    ours, theirs, eager = lines()

    assert (ours.rate, ours.share, ours.ratio) == (400.0, 0.5, 2.0)
    assert ours.ratio_spread == pytest.approx(0.05)
    assert (theirs.ratio, theirs.ratio_spread) == (1.0, 0.0)
    assert (eager.rate, eager.share) == (None, None)


def test_the_table_fits_a_terminal() -> None:
    console = Console(width=80, record=True, file=None)

    with console.capture() as shown:
        console.print(table.render_terminal(lines(), MACHINE))

    told = shown.get()
    assert "m; ratio to transformers, static" in told
    assert "  engine                        400      5 %     50 %    2.00      5 %\n" in told
    assert "9 guesses" in told
    assert "cannot: RuntimeError" in told
    assert max(map(len, told.splitlines())) <= 80


def test_the_table_is_safe_in_markdown() -> None:
    text = table.render_markdown(lines(), MACHINE)

    assert "| m; ratio to transformers, static | engine (9 guesses) | 400 |" in text
    assert "\\| &lt;b>" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {8}


def test_the_table_is_strict_json() -> None:
    data = json.loads(table.render_json(lines(), MACHINE))

    assert data["schema"] == 1
    assert data["lines"][0]["share"] == 0.5
    assert data["lines"][2]["rate"] is None


def test_the_copy_that_is_told_is_that_of_the_rounds() -> None:
    measured = with_copies(lines(), 3e9) + with_copies(lines(), 5e9) + with_copies(lines(), 4e9)

    assert run.machine("cpu", measured)["copy"] == "4 GB/s read and written"


def test_each_device_has_its_part_of_the_page() -> None:
    marks = "\n\n".join(f"{BEGIN_ON.format(device)}\n{END}" for device in ("cuda", "cpu"))

    page = into_page(f"# T\n\n{marks}\nend\n", "on a GPU", "T", "cuda")
    page = into_page(page, "on a CPU", "T", "cpu")
    page = into_page(page, "on a CPU again", "T", "cpu")

    assert page.index("on a GPU") < page.index("on a CPU again")
    assert page.count("on a CPU") == 1
    assert page.endswith("end\n")
    with pytest.raises(UsageError, match="no place"):
        into_page("# T\n", "x", "T", "cpu")


# The command


def test_the_command_prints_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cases_module, "cases", lambda device: (CASE,))
    file = tmp_path / "table.json"

    code = main(["bench", "engine", "--device", "cpu", "--rounds", "2", "--json", str(file)])

    out, err = capsys.readouterr()
    assert code == 0
    assert "tiny, float32, batch 3, context 7; ratio to engine" in out
    assert "tiny, float32, batch 3, context 7\n  engine: " in err
    assert json.loads(file.read_text())["machine"]["command"].startswith("lab")


def test_who_stops_it_gets_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def until_stopped(*_: object) -> Iterator[Line]:
        yield lines()[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "run_cases", until_stopped)

    assert main(["bench", "engine", "--device", "cpu"]) == 0

    out, err = capsys.readouterr()
    assert "m; ratio to transformers, static" in out
    assert "stopped" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--device", "tpu"], "there is no device 'tpu'"),
        (["--device", "cpu", "--model", "9B"], "there is no such case"),
        (["--device", "cpu", "--json", "/nowhere/x"], "no folder /nowhere"),
    ],
)
def test_what_cannot_be_measured_is_said(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "engine", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_gpu_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    assert run.need_device("auto") == "cpu"
    with pytest.raises(CannotGrade, match="torch sees no GPU"):
        run.need_device("cuda")


def test_a_students_tree_has_no_engine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith(("bench.engine.", "reference"))]:
        if name != "bench.engine.command":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("bench.engine.run")  # of the package, which an import would find
    monkeypatch.setitem(sys.modules, "reference", None)

    assert main(["bench", "engine", "--device", "cpu"]) == 2

    assert "this tree has no engine to time" in capsys.readouterr().err
