"""Texts that are served together: whose pieces do it, and what is said of faults."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from stand_ins.model_answers import solution

from labs import chat, ways
from labs.assembly import Assembly
from labs.common import LlamaConfig, load_weights
from labs.decoding import Unfit
from labs.one_by_one import OneByOne
from labs.pieces import Broken, Work
from labs.serving import Memory, Row, Served, Serving, Step, drawn
from labs.ways import Way, given_way, paged_way, slots_way

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "labs" / "checkpoints" / "target"
LAYERS = 2  # of the checkpoint: enough to tell one from another
CONFIG = dataclasses.replace(LlamaConfig.from_pretrained(TARGET), num_layers=LAYERS)
LEFT_OUT = tuple(f"model.layers.{i}." for i in range(LAYERS, 8))
WEIGHTS = {
    name: weight.float()
    for name, weight in load_weights(TARGET).items()
    if not name.startswith(LEFT_OUT)
}
SHARED = [5, 9, 301, 7, 88, 14, 250, 31, 6]  # a block and a token
PROMPTS = [[*SHARED, 12], [*SHARED, 40, 3], [17, 4, 250]]
OPTIONS = chat.parse(["", "--max-new-tokens", "7"])
BLOCKS = Memory(12, 8)
EVERY = {"blocks", "sharing", "torch", "triton", "scheduler"}


def works(**passed: set[str]) -> dict[int, Work]:
    """Work on labs, by names such as ``lab4``, of which these tasks pass."""
    return {
        int(name[3:]): Work(int(name[3:]), frozenset(tasks), solution(int(name[3:])))
        for name, tasks in passed.items()
    }


OTHERS = works(lab1={"norm", "mlp", "attention"}, lab4={"frequencies", "rotate"}, lab5={"static"})


def model(mine: dict[int, Work]) -> Assembly:
    return Assembly(mine, CONFIG, WEIGHTS)


def served(way: Way, mine: dict[int, Work]) -> Served:
    return way.serve(PROMPTS, OPTIONS, mine)


@pytest.fixture(scope="module")
def expected() -> list[list[int]]:
    """What plain decoding says of each prompt alone."""
    return [chat.generate(model({}), prompt, OPTIONS, {}) for prompt in PROMPTS]


@pytest.fixture(autouse=True)
def _eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ways, "BACKEND", "eager")  # inductor takes a minute
    torch.compiler.reset()


# --- the ways --------------------------------------------------------------------------------


def test_given_code_lets_one_text_follow_another(expected: list[list[int]]) -> None:
    found = served(given_way(model({}), BLOCKS), {})

    assert found.new == expected
    order = [request for request, new in enumerate(expected) for _ in new]
    assert [row.request for step in found.steps for row in step.rows] == order


@pytest.mark.parametrize(
    ("tasks", "steps"),
    [
        ({"torch"}, 21),
        ({"torch", "blocks"}, 21),
        ({"scheduler"}, 7),
        ({"torch", "scheduler"}, 7),
        (EVERY, 7),
    ],
    ids=lambda value: " ".join(sorted(value)) if isinstance(value, set) else "",
)
@pytest.mark.parametrize("others", [{}, OTHERS], ids=["alone", "with others"])
def test_pieces_of_lab_12_change_no_text(
    tasks: set[str], steps: int, others: dict[int, Work], expected: list[list[int]]
) -> None:
    mine = others | works(lab12=tasks)
    way = paged_way(model(mine), mine, BLOCKS, 3, kernel=False)

    found = served(way, mine)

    assert found.new == expected
    assert len(found.steps) == steps
    assert found.shared == (8 if "sharing" in tasks else 0)
    yours = {name for name, owner in way.model.owners.items() if owner == "yours, lab 12"}
    names = {"torch": {"cache in blocks", "attention"}, "scheduler": {"scheduler"}}
    names["blocks"] = set() if "scheduler" in tasks else {"blocks"}
    assert yours == set().union(*(names.get(task, set()) for task in tasks))
    assert ("rotation", "yours, lab 04") in way.model.owners.items() or not others


def test_kernel_of_lab_12_attends(
    monkeypatch: pytest.MonkeyPatch, expected: list[list[int]]
) -> None:
    mine = works(lab12=EVERY)
    module = solution(12)
    calls: list[int] = []

    def kernel(*tensors: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return module.paged_attention_torch(*tensors)

    monkeypatch.setattr(module, "paged_attention", kernel)
    way = paged_way(model(mine), mine, BLOCKS, 3, kernel=True)

    assert served(way, mine).new == expected
    assert len(calls) == 7 * CONFIG.num_layers


def test_few_blocks_and_rows_change_no_text(expected: list[list[int]]) -> None:
    mine = works(lab12=EVERY - {"sharing"})
    found = served(paged_way(model(mine), mine, Memory(5, 8), 2, kernel=False), mine)

    assert found.new == expected
    assert max(len(step.rows) for step in found.steps) == 2
    assert found.most_blocks <= 5


@pytest.mark.parametrize("compiled", [False, True], ids=["graphs", "compiled"])
@pytest.mark.parametrize(
    ("tasks", "scheduler", "others"),
    [
        ({"prefill"}, set(), {}),
        (set(), {"scheduler"}, OTHERS),
        ({"prefill"}, {"scheduler"}, OTHERS),
    ],
    ids=["prefill", "scheduler", "all"],
)
def test_pieces_of_lab_11_change_no_text(
    compiled: bool,
    tasks: set[str],
    scheduler: set[str],
    others: dict[int, Work],
    expected: list[list[int]],
) -> None:
    step = "step" if compiled else "graphs"
    mine = others | works(lab11={"cache", step, *tasks}, lab12=scheduler)
    way = slots_way(model(mine), mine, Memory(3, 24), compiled=compiled)

    first, second = served(way, mine), served(way, mine)

    assert first.new == second.new == expected  # slots hold what the first time has left
    assert len(first.steps) == (7 if scheduler else 21)
    owners = way.model.owners
    assert owners["cache in slots"] == "yours, lab 11"
    assert owners["compiled step" if compiled else "graphs"] == "yours, lab 11"
    assert owners["prefill"] == ("yours, lab 11" if tasks else "given: token by token")
    assert owners["scheduler"] == (
        "yours, lab 12" if scheduler else "given: one text after another"
    )


def test_without_a_compiler_operators_run_one_by_one(
    monkeypatch: pytest.MonkeyPatch, expected: list[list[int]]
) -> None:
    def none(graph: Any, examples: Any) -> Callable[..., Any]:
        raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found")

    monkeypatch.setattr(ways, "BACKEND", none)
    mine = works(lab11={"cache", "step"}, lab12={"scheduler"})

    way = slots_way(model(mine), mine, Memory(3, 24), compiled=True)

    assert "no C++ compiler is here" in way.model.owners["compiled step"]
    assert served(way, mine).new == expected


def test_what_lacks_is_named() -> None:
    left = Work(12, frozenset(), None, {"torch": "2 of 9 public tests fail, first x"})
    with pytest.raises(Unfit, match="needs your lab 12, task torch; torch: 2 of 9 public"):
        paged_way(model({12: left}), {12: left}, BLOCKS, 3, kernel=False)
    with pytest.raises(Unfit, match=r"needs your lab 11, tasks cache and step$"):
        slots_way(model({}), {}, BLOCKS, compiled=True)


def test_stand_in_is_told_before_what_keeps_yours_out() -> None:
    left = Work(12, frozenset({"scheduler"}), solution(12), {"torch": "2 of 9 tests fail"})
    mine = {12: left}

    owners = paged_way(model(mine), mine, BLOCKS, 3, kernel=False).model.owners

    told = "none: every step repeats the whole text; yours, lab 12: 2 of 9 tests fail"
    assert owners["cache in blocks"] == told


@pytest.mark.parametrize("slots", [False, True])
def test_text_without_room_is_refused(slots: bool) -> None:
    mine = works(lab11={"cache", "graphs"}, lab12=EVERY)
    if slots:
        way = slots_way(model(mine), mine, Memory(3, 17), compiled=False)
    else:
        way = paged_way(model(mine), mine, Memory(2, 8), 3, kernel=False)

    with pytest.raises(Unfit, match=r"a text of 18 tokens does not fit: there is room for 1[67]"):
        served(way, mine)


# --- faults ----------------------------------------------------------------------------------


class Odd(OneByOne):
    """A scheduler whose plans can be changed."""

    change: Callable[[dict[str, Any]], Any] = staticmethod(lambda plan: plan)

    def plan(self) -> Any:
        return self.change(super().plan())


def one_token(rows: Any, texts: Any) -> torch.Tensor:
    return torch.eye(50)[[9 for _ in rows]]


def serve(scheduler: Any, rows: int | None = None) -> None:
    serving = Serving(scheduler, Memory(3, 2), [[5, 6, 7], [8]], 2, (1,), rows)
    serving.serve(one_token, lambda _: lambda logits: int(logits.argmax(-1)))


def said(scheduler: Any, rows: int | None = None) -> str:
    with pytest.raises(Broken) as caught:
        serve(scheduler, rows)
    return str(caught.value)


def planning(rows: Any, tables: Any = ((0, 1, 2), (2,))) -> Odd:
    scheduler = Odd(Memory(3, 2))
    scheduler.change = lambda _: {"rows": rows, "tables": tables, "preempted": []}
    return scheduler


@pytest.mark.parametrize(
    ("rows", "tables", "fault"),
    [
        ([[7, 0, 3]], [[0, 1]], "the row [7, 0, 3] with table [0, 1]: there is no such request"),
        ([[0, 0, 2]], [[0, 1]], "its text has 3 tokens"),
        ([[0, 3, 3]], [[0, 1]], "its text has 3 tokens"),
        ([[0, 0, 3]], [[0]], "3 tokens need 2 blocks of 2"),
        ([[0, 0, 3]], [[0, 3]], "blocks are 0 to 2"),
        ([[0, 0, 3], [0, 0, 3]], [[0, 1], [0, 1]], "two rows of one request"),
        ([[0, 0, 3], [1, 0, 1]], [[0, 1], [2]], "gave 2 rows, max_running is 1"),
        ([[0, 0, 3]], [], "not rows of [request, start, stop], with a table each"),
        ([[0, 3]], [[0, 1]], "not rows of [request, start, stop], with a table each"),
        (None, [[0, 1]], "not rows of [request, start, stop], with a table each"),
        ([], [], "plan() has no rows, but requests have not ended: 0, 1"),
    ],
)
def test_plan_that_cannot_be_carried_out_is_told(rows: Any, tables: Any, fault: str) -> None:
    told = said(planning(rows, tables), rows=1)

    assert told.startswith("your scheduler (lab 12): plan() ")
    assert fault in told


def test_request_that_has_ended_is_told() -> None:
    scheduler = Odd(Memory(3, 2))
    again = {"rows": [[0, 2, 3]]}
    scheduler.change = lambda plan: plan if scheduler._line else plan | again

    assert "the row [0, 2, 3] with table [0, 1, 2]: this request has ended" in said(scheduler)


def test_wrong_ends_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Odd, "commit", lambda self, tokens: [4])

    assert "commit([9]) says that [4] have ended: [] have" in said(Odd(Memory(3, 2)))


def test_exception_of_yours_names_piece_and_line(tmp_path: Path) -> None:
    file = tmp_path / "12_paged" / "paged.py"
    file.parent.mkdir()
    file.write_text("class Scheduler:\n    def add(self, *_):\n        return [][3]\n")
    scope: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)

    told = said(scope["Scheduler"]())

    index = "IndexError: list index out of range"
    assert told == f"your scheduler (lab 12): {index}, line 3 of paged.py"


def test_attention_of_another_shape_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = works(lab12=EVERY)
    monkeypatch.setattr(solution(12), "paged_attention_torch", lambda q, *_: q[:, :1])
    way = paged_way(model(mine), mine, BLOCKS, 3, kernel=False)

    with pytest.raises(Broken, match=r"your paged attention \(lab 12\): returned \[16, 1, 32\]"):
        served(way, mine)


# --- the picture -----------------------------------------------------------------------------


def test_steps_are_drawn() -> None:
    first = Row(0, 0, 3, (0, 1), True)
    steps = [
        Step((first,), ()),
        Step((Row(0, 3, 4, (0, 1), False),), (1,)),
        Step((Row(1, 0, 2, (2,), True),), ()),
    ]

    assert drawn(Served([[9, 9], [9]], steps)) == [
        "  text 1  ▓█",
        "  text 2  ·✗▓",
        "  ▓ reads its text   █ one token   ✗ has to go   · waits",
    ]
