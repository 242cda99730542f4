"""Submissions of ``test_device_graphs``: a small decoder, run by graphs in many styles, and not.

Each name takes a weight that may be veiled and what makes a graph, and returns a step that takes
lists of tokens and slots.
"""

import contextlib
import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

SIZE, SLOTS = 4, 5  # rows of the graph, and slots beside scratch


def decode(weight: Tensor, memory: Tensor, tokens: Tensor, slots: Tensor) -> Tensor:
    """Return [B, V] for int64 [B] twice; a slot remembers all that came."""
    x = weight[tokens] + memory[slots] / 2
    memory[slots] = x
    return torch.tanh(x @ weight.t())


class Runner:
    """Captures once, by default in the plainest way; a style replaces a part."""

    def __init__(self, weight: Tensor, make_graph: Any) -> None:
        self.weight = weight
        self.memory = torch.zeros(SLOTS + 1, weight.shape[1])
        self.rows = torch.zeros(2, SIZE, dtype=torch.int64)
        self.rows[1] = SLOTS
        self.graph = make_graph()
        self.prepare()
        self.capture()

    def prepare(self) -> None:
        """Do what comes before the capture."""

    def capture(self) -> None:
        with self.graph.capture():
            self.out = decode(self.weight, self.memory, *self.rows)

    def fill(self, tokens: list[int], slots: list[int]) -> None:
        rest = SIZE - len(tokens)
        self.rows.copy_(torch.tensor([tokens + [0] * rest, slots + [SLOTS] * rest]))

    def result(self, n: int) -> Tensor:
        return self.out[:n].clone()

    def __call__(self, tokens: list[int], slots: list[int]) -> Tensor:
        self.fill(tokens, slots)
        self.graph.replay()
        return self.result(len(tokens))


plain = Runner


# --- how inputs are filled ---------------------------------------------------------------------


class by_numpy(Runner):
    def fill(self, tokens: list[int], slots: list[int]) -> None:
        seen = self.rows.numpy()
        seen[1] = SLOTS
        seen[:, : len(tokens)] = tokens, slots


class by_items(Runner):
    def fill(self, tokens: list[int], slots: list[int]) -> None:
        for place in range(SIZE):
            given = place < len(tokens)
            self.rows[0, place] = tokens[place] if given else 0
            self.rows[1, place] = slots[place] if given else SLOTS


class by_index_copy(Runner):
    def fill(self, tokens: list[int], slots: list[int]) -> None:
        n = len(tokens)
        self.rows.index_copy_(1, torch.arange(n), torch.tensor([tokens, slots]))
        self.rows[0, n:].zero_()
        self.rows[1, n:].fill_(SLOTS)


class by_arithmetic(Runner):
    def fill(self, tokens: list[int], slots: list[int]) -> None:
        self.rows.mul_(0)
        self.rows[1] += SLOTS
        self.rows[0, : len(tokens)] += torch.tensor(tokens)
        self.rows[1, : len(tokens)] += torch.tensor(slots) - SLOTS


class by_out(Runner):
    def fill(self, tokens: list[int], slots: list[int]) -> None:
        rest = SIZE - len(tokens)
        rows = [torch.tensor(tokens + [0] * rest), torch.tensor(slots + [SLOTS] * rest)]
        torch.stack(rows, out=self.rows)


class tensors_apart(Runner):
    def prepare(self) -> None:
        self.tokens, self.slots = (row.clone() for row in self.rows)

    def capture(self) -> None:
        with self.graph.capture():
            self.out = decode(self.weight, self.memory, self.tokens, self.slots)

    def fill(self, tokens: list[int], slots: list[int]) -> None:
        self.slots.fill_(SLOTS)
        self.tokens[: len(tokens)] = torch.tensor(tokens)
        self.slots[: len(slots)] = torch.tensor(slots)


class written_by_the_graph(Runner):
    def capture(self) -> None:
        with self.graph.capture():
            self.out = decode(self.weight, self.memory, *self.rows)
            self.rows[0] = 0
            self.rows[1] = SLOTS

    def fill(self, tokens: list[int], slots: list[int]) -> None:
        self.rows[:, : len(tokens)] = torch.tensor([tokens, slots])


# --- how the result is taken -------------------------------------------------------------------


class by_index_select(Runner):
    def result(self, n: int) -> Tensor:
        return self.out.index_select(0, torch.arange(n))


class by_mask(Runner):
    def result(self, n: int) -> Tensor:
        return self.out[torch.arange(SIZE) < n]


class by_stack(Runner):
    def result(self, n: int) -> Tensor:
        return torch.stack([*self.out][:n])


class by_a_sum(Runner):
    def result(self, n: int) -> Tensor:
        return self.out[:n] + 0


class into_new_memory(Runner):
    def result(self, n: int) -> Tensor:
        made = torch.empty(n, self.out.shape[1])
        made[:] = self.out.narrow(0, 0, n)
        return made


class by_double(Runner):
    def result(self, n: int) -> Tensor:
        return self.out.split([n, SIZE - n])[0].double().float()


class by_deepcopy(Runner):
    def result(self, n: int) -> Tensor:
        return copy.deepcopy(self.out[:n])


class into_a_buffer(Runner):
    def prepare(self) -> None:
        self.buffer = torch.zeros(SIZE, self.weight.shape[0])

    def capture(self) -> None:
        with self.graph.capture():
            self.buffer.copy_(decode(self.weight, self.memory, *self.rows))
        self.out = self.buffer


class looked_at(Runner):
    def result(self, n: int) -> Tensor:
        out = self.out[:n].clone()
        assert out.isfinite().all(), "the logits are not finite"
        return out


# --- how it is captured ------------------------------------------------------------------------


class warmed_up(Runner):
    def prepare(self) -> None:
        with torch.no_grad():
            for _ in range(3):
                decode(self.weight, self.memory, *self.rows)
        self.memory[-1].zero_()


class without_gradients(Runner):
    @torch.inference_mode()
    def capture(self) -> None:
        super().capture()

    @torch.inference_mode()
    def __call__(self, tokens: list[int], slots: list[int]) -> Tensor:
        return super().__call__(tokens, slots)


class when_needed(Runner):
    def prepare(self) -> None:
        self.later = super().capture

    def capture(self) -> None:
        """Wait for the first step."""

    def fill(self, tokens: list[int], slots: list[int]) -> None:
        self.later()
        self.later = lambda: None
        super().fill(tokens, slots)


class after_a_failure(Runner):
    def prepare(self) -> None:
        with contextlib.suppress(RuntimeError), self.graph.capture():
            decode(self.weight, self.memory, *self.rows).sum().item()


class of_a_compiled_step(Runner):
    def capture(self) -> None:
        step = torch.compile(decode, backend="eager")
        with self.graph.capture():
            self.out = step(self.weight, self.memory, *self.rows)


class of_a_traced_step(Runner):
    def capture(self) -> None:
        from torch.fx.experimental.proxy_tensor import make_fx

        given = self.weight, self.memory, *self.rows
        step = make_fx(decode)(*(tensor.clone() for tensor in given))
        with self.graph.capture():
            self.out = step(*given)


class of_attention(Runner):
    """What fuses operators gives more than one result."""

    def capture(self) -> None:
        with self.graph.capture():
            out = decode(self.weight, self.memory, *self.rows)
            rows = out[None, None].expand(1, 2, *out.shape)
            alone = torch.eye(SIZE, dtype=torch.bool)
            attention = torch.nn.functional.scaled_dot_product_attention
            self.out = attention(rows, rows, rows, attn_mask=alone)[0, 1]


class with_changed_shapes(Runner):
    def capture(self) -> None:
        tokens, slots = self.rows
        with self.graph.capture():
            out = decode(self.weight, self.memory, tokens.unsqueeze_(1)[:, 0], slots)
            out.unsqueeze_(0).squeeze_(0).t_()
            self.out = out.t()


class by_two_graphs(Runner):
    """One embeds, the other does the rest."""

    made = None

    def __init__(self, weight: Tensor, make_graph: Any) -> None:
        self.second = make_graph()
        super().__init__(weight, make_graph)

    def capture(self) -> None:
        with self.graph.capture():
            x = self.weight[self.rows[0]] + self.memory[self.rows[1]] / 2
        with self.second.capture():
            self.memory[self.rows[1]] = x
            self.out = torch.tanh(x @ self.weight.t())

    def result(self, n: int) -> Tensor:
        self.second.replay()
        return super().result(n)


# --- what is none of a graph's work ------------------------------------------------------------


class eager(Runner):
    def capture(self) -> None:
        """Capture nothing."""

    def __call__(self, tokens: list[int], slots: list[int]) -> Tensor:
        self.fill(tokens, slots)
        self.graph.replays += 1
        with torch.no_grad():
            return decode(self.weight, self.memory, *self.rows)[: len(tokens)]


class eager_beside(Runner):
    @torch.no_grad()
    def result(self, n: int) -> Tensor:
        return decode(self.weight, self.memory, *self.rows)[:n]


class eager_by_elements(Runner):
    """Products as sums, a few elements at a time."""

    @torch.no_grad()
    def result(self, n: int) -> Tensor:
        x = self.memory[self.rows[1, :n]]
        scores = [[(row * column).sum() for column in self.weight] for row in x]
        return torch.stack([torch.stack(row) for row in scores]).tanh()


class empty(Runner):
    def capture(self) -> None:
        with self.graph.capture():
            self.out = torch.zeros(SIZE, self.weight.shape[0])


class numpys(Runner):
    def result(self, n: int) -> Tensor:
        weight, memory = self.weight.detach().numpy(), self.memory.numpy()
        return torch.from_numpy(np.tanh(memory[self.rows[1, :n].numpy()] @ weight.T))


class never_replayed(Runner):
    def __call__(self, tokens: list[int], slots: list[int]) -> Tensor:
        self.fill(tokens, slots)
        return self.result(len(tokens))


class by_a_patched_tape(Runner):
    def prepare(self) -> None:
        @torch.no_grad()
        def replay(graph: Any) -> None:
            graph.replays += 1
            self.out = decode(self.weight, self.memory, *self.rows)

        for kind in type(self.graph).__mro__[:-1]:
            kind.replay = replay


# --- what a graph refuses ----------------------------------------------------------------------


def read_in_a_capture(weight: Tensor, make_graph: Any, look: str) -> Any:
    with make_graph().capture():
        return getattr(weight.sum(), look)()


def captured_twice(_: Tensor, make_graph: Any) -> None:
    graph = make_graph()
    for _turn in range(2):
        with graph.capture():
            torch.zeros(1)


def replayed_before(_: Tensor, make_graph: Any) -> None:
    make_graph().replay()


def replayed_in_a_capture(weight: Tensor, make_graph: Any) -> None:
    runner = Runner(weight, make_graph)
    with make_graph().capture():
        runner.graph.replay()


def captured_in_a_capture(_: Tensor, make_graph: Any) -> None:
    with make_graph().capture(), make_graph().capture():
        torch.zeros(1)


@torch.library.custom_op("runners::own", mutates_args=())
def own(x: Tensor) -> Tensor:
    return x * 2


def own_operator(weight: Tensor, make_graph: Any) -> None:
    with make_graph().capture():
        own(weight)


def unread(weight: Tensor, make_graph: Any) -> Tensor:
    """Return what a capture has made before any replay."""
    with make_graph().capture():
        out = weight @ weight.t()
    return out
