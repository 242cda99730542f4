"""Several texts at once: the loop around a model in which a scheduler says what a step computes.

The scheduler may be yours, so what it plans is looked at before it is carried out. What computes
a step gets its rows and all texts so far; where keys lie is told by the tables of the rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from labs.pieces import Broken, blamed

SCHEDULER = "scheduler", 12
SIGNS = {"▓": "reads its text", "█": "one token", "✗": "has to go", "·": "waits"}
WIDTH = 80  # steps that are drawn of each text


@dataclass(frozen=True, slots=True)
class Memory:
    """Blocks of so many tokens each."""

    num_blocks: int
    block_size: int


@dataclass(frozen=True, slots=True)
class Row:
    """The tokens ``start`` to ``stop`` - 1 of a request, and the blocks of all up to ``stop``."""

    request: int
    start: int
    stop: int
    table: tuple[int, ...]
    begins: bool  # it was not among the rows of the step before


@dataclass(frozen=True, slots=True)
class Step:
    """What was computed in one step, and who had to go before it."""

    rows: tuple[Row, ...]
    preempted: tuple[int, ...]


Texts = dict[int, list[int]]  # by request: its prompt and what came of it so far
Compute = Callable[[Sequence[Row], Texts], Tensor]  # -> logits [rows, V] of each row's last token
Choose = Callable[[Tensor], int]  # logits [1, V] -> token


class Scheduler(Protocol):
    """What lab 12 asks of a scheduler."""

    def add(
        self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]
    ) -> None: ...
    def plan(self) -> dict[str, Any]: ...
    def commit(self, tokens: list[int]) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Served:
    """The new tokens of each request, without an EOS, and the steps that it took."""

    new: list[list[int]]
    steps: list[Step]

    @property
    def shared(self) -> int:
        """Tokens of prompts that were there already, in blocks of another."""
        return sum(row.start for step in self.steps for row in step.rows if row.begins)

    @property
    def most_blocks(self) -> int:
        """Blocks that were in use at once."""
        used = ({block for row in step.rows for block in row.table} for step in self.steps)
        return max(map(len, used), default=0)


class Serving:
    """Texts that are continued together, and which of them have not ended."""

    def __init__(
        self,
        scheduler: Scheduler,
        memory: Memory,
        prompts: Sequence[list[int]],
        most: int,  # new tokens of each
        ends: Sequence[int],
        rows: int | None = None,  # that may run at once, if the scheduler was told
    ) -> None:
        self._scheduler, self._memory, self._rows = scheduler, memory, rows
        self._most, self._ends = most, ends
        self._prompts = prompts
        self.texts = {request: list(prompt) for request, prompt in enumerate(prompts)}
        self._living = set(self.texts)
        self._running: set[int] = set()
        self._steps: list[Step] = []
        with blamed(*SCHEDULER):
            for request, prompt in enumerate(prompts):
                scheduler.add(request, list(prompt), most, list(ends))

    def serve(self, compute: Compute, chooser: Callable[[list[int]], Choose]) -> Served:
        """Continue all texts; ``Broken`` where the scheduler does what no step can carry out.

        ``chooser`` gets a text that grows, and returns what picks its next token.
        """
        choose = {request: chooser(text) for request, text in self.texts.items()}
        while self._living:
            step = self._plan()
            logits = compute(step.rows, self.texts) if step.rows else ()
            pairs = zip(step.rows, logits, strict=True)
            self._commit(step, [choose[row.request](one[None]) for row, one in pairs])
        new = [self.texts[i][len(prompt) :] for i, prompt in enumerate(self._prompts)]
        return Served(new, self._steps)

    def _plan(self) -> Step:
        with blamed(*SCHEDULER):
            plan = self._scheduler.plan()
        step = self._checked(plan)
        if not step.rows and (not self._steps or not self._steps[-1].rows):
            left = ", ".join(map(str, sorted(self._living)))
            raise Broken(*SCHEDULER, f"plan() has no rows, but requests have not ended: {left}")
        self._steps.append(step)
        self._running = {row.request for row in step.rows}
        return step

    def _checked(self, plan: Any) -> Step:
        try:
            rows, tables, preempted = (list(plan[key]) for key in ("rows", "tables", "preempted"))
            found = tuple(
                Row(int(i), int(start), int(stop), tuple(map(int, table)), i not in self._running)
                for (i, start, stop), table in zip(rows, tables, strict=True)
            )
            step = Step(found, tuple(map(int, preempted)))
        except (TypeError, ValueError, KeyError):
            shape = "rows of [request, start, stop], with a table each, and preempted"
            raise Broken(*SCHEDULER, f"plan() gave {plan!r:.120}, not {shape}") from None
        for row in step.rows:
            if fault := self._fault(row):
                said = f"plan() gave the row [{row.request}, {row.start}, {row.stop}]"
                raise Broken(*SCHEDULER, f"{said} with table {[*row.table]!r:.60}: {fault}")
        if len({row.request for row in step.rows}) < len(step.rows):
            raise Broken(*SCHEDULER, f"plan() gave two rows of one request: {rows!r:.120}")
        if self._rows is not None and len(step.rows) > self._rows:
            raise Broken(*SCHEDULER, f"plan() gave {len(rows)} rows, max_running is {self._rows}")
        return step

    def _fault(self, row: Row) -> str:
        """Say why a row cannot be computed; "" if it can."""
        if row.request not in self.texts:
            return "there is no such request"
        if row.request not in self._living:
            return "this request has ended"
        length, size = len(self.texts[row.request]), self._memory.block_size
        if row.stop != length or not 0 <= row.start < row.stop:
            return f"its text has {length} tokens"
        if len(row.table) < -(-row.stop // size):
            return f"{row.stop} tokens need {-(-row.stop // size)} blocks of {size}"
        if not all(0 <= block < self._memory.num_blocks for block in row.table):
            return f"blocks are 0 to {self._memory.num_blocks - 1}"
        return ""

    def _commit(self, step: Step, tokens: list[int]) -> None:
        with blamed(*SCHEDULER):
            ended = self._scheduler.commit(list(tokens))
        done: list[int] = []
        for row, token in zip(step.rows, tokens, strict=True):
            text = self.texts[row.request]
            if token not in self._ends:
                text.append(token)
            if token in self._ends or len(text) == len(self._prompts[row.request]) + self._most:
                done.append(row.request)
        if not isinstance(ended, list) or sorted(ended) != sorted(done):
            said = f"commit({tokens}) says that {ended!r:.80} have ended: {done} have"
            raise Broken(*SCHEDULER, said)
        self._living -= {*done}


def drawn(served: Served) -> list[str]:
    """Draw a line for each request, with a sign for each step, and say what the signs mean."""
    lines = ["".join(_sign(step, i) for step in served.steps) for i in range(len(served.new))]
    lines = [line.rstrip("·") for line in lines]  # who has ended waits for nothing
    used = [f"{sign} {means}" for sign, means in SIGNS.items() if any(sign in x for x in lines)]
    shown = [line if len(line) <= WIDTH else f"{line[:WIDTH]} …" for line in lines]
    return [*(f"  text {i + 1}  {line}" for i, line in enumerate(shown)), f"  {'   '.join(used)}"]


def _sign(step: Step, request: int) -> str:
    for row in step.rows:
        if row.request == request:
            return "▓" if row.begins else "█"
    return "✗" if request in step.preempted else "·"
