"""The loop above the model: who waits, who runs in which slot, and what the next pass is.

A pass is one of four: the prompt of a request that gets a slot, one token of every running
request, a chunk of greedy tokens that are fed back on the device, or one sequence's guesses.
Greedy tokens of a request do not depend on its company, but for ties within the rounding of
the passes.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.engine.guessers import Draft, Guesser, Lookup, best_of
from reference.engine.requests import Ending, Output, Request, Running, check
from reference.engine.runner import Runner
from reference.engine.sampling import draw, settle
from reference.models.checkpoint import Model

CHUNK = 16  # greedy tokens between two looks at the host


@dataclass(frozen=True, slots=True)
class Setting:
    """How an engine is built; ``sizes`` are the batches it has graphs for, None for all powers."""

    slots: int = 1
    max_len: int = 1024
    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    bits: int | None = None
    sizes: tuple[int, ...] | None = None
    compiled: bool = True

    def __post_init__(self) -> None:
        if min(self.slots, self.max_len) < 1:
            raise ValueError("an engine needs at least one slot of one place")

    def runner(self, model: Model, bits: int | None) -> Runner:
        """Return the passes of a model, in the places of this setting."""
        sizes = list(self.sizes) if self.sizes is not None else None
        kind = self.dtype, self.device, bits, sizes, self.compiled
        return Runner(model, self.slots, self.max_len, *kind)


@dataclass(slots=True)
class Rounds:
    """What became of the guesses of an engine, so far."""

    passes: int = 0
    guessed: int = 0
    accepted: int = 0


class Engine:
    """Serves requests in slots; with guesses, one that runs alone gets several tokens a pass.

    ``guesses`` a round come from ``draft``, or without one from the text itself.
    """

    def __init__(
        self, model: Model, setting: Setting, guesses: int = 0, draft: Model | None = None
    ) -> None:
        self.setting = setting
        self.rounds = Rounds()
        self._vocab = int(model.fields["vocab_size"])
        self._guesser = self._make_guesser(guesses, draft)
        self.runner = setting.runner(model, setting.bits)
        self._free = list(range(setting.slots))[::-1]
        self._waiting: deque[tuple[int, Request]] = deque()
        self._running: dict[int, Running] = {}
        self._outputs: dict[int, Output] = {}
        self._count = 0

    def _make_guesser(self, guesses: int, draft: Model | None) -> Guesser | None:
        if draft is None:
            return Lookup(guesses, self._vocab) if guesses else None
        if draft.fields["vocab_size"] != self._vocab:
            sizes = f"{draft.fields['vocab_size']} and {self._vocab}"
            raise ValueError(f"draft and model have different vocabularies, of {sizes} tokens")
        return Draft(self.setting.runner(draft, None), guesses)

    # --- requests ----------------------------------------------------------------------------

    def add(self, request: Request) -> int:
        """Let a request wait for a slot; return its number.

        ValueError for an empty prompt, ids that the model does not know, or more tokens than a
        slot holds.
        """
        check(request, self._vocab, self.setting.max_len)
        number = self._count
        self._count += 1
        if request.max_new_tokens:
            self._waiting.append((number, request))
        else:
            self._outputs[number] = Output([], Ending.LENGTH)
        return number

    def abort(self, number: int) -> None:
        """End a request now, waiting or running; one that is over stays as it is."""
        self._known(number)
        running = self._running.get(number)
        if running is not None:
            self._end(running, Ending.ABORTED)
        elif number not in self._outputs:
            self._waiting = deque(each for each in self._waiting if each[0] != number)
            self._outputs[number] = Output([], Ending.ABORTED)

    def take(self, number: int) -> Output:
        """Return what came of a request and forget it; ValueError while it goes on."""
        self._known(number)
        if number not in self._outputs:
            raise ValueError(f"request {number} is not over")
        return self._outputs.pop(number)

    def _known(self, number: int) -> None:
        waiting = any(number == other for other, _ in self._waiting)
        if not (waiting or number in self._running or number in self._outputs):
            raise ValueError(f"there is no request {number}")

    # --- tokens ------------------------------------------------------------------------------

    def stream(self) -> Iterator[tuple[int, int]]:
        """Yield (request, token) as they come, until nobody waits or runs.

        Between two of them requests may be added and aborted; an aborted one says no more.
        """
        while self._waiting or self._running:
            for running, token in self._pass():
                # A chunk brings several: an EOS, or an abort in between, ends the rest of them.
                if self._running.get(running.number) is running and self._accept(running, token):
                    yield running.number, token

    def generate(self, requests: Sequence[Request]) -> list[Output]:
        """Serve requests together and return what came of each, in their order."""
        for request in requests:
            check(request, self._vocab, self.setting.max_len)  # all or none are added
        numbers = [self.add(request) for request in requests]
        for _ in self.stream():
            pass
        return [self.take(number) for number in numbers]

    def _accept(self, running: Running, token: int) -> bool:
        """Let a token be said; return False for an EOS."""
        if token in running.request.eos_ids:
            self._end(running, Ending.EOS)
            return False
        running.text.append(token)
        if not running.remaining:
            self._end(running, Ending.LENGTH)
        return True

    def _end(self, running: Running, ending: Ending) -> None:
        del self._running[running.number]
        self._outputs[running.number] = Output(running.new, ending)
        self._free.append(running.slot)
        if self._guesser is not None:
            self._guesser.forget(running.slot)

    # --- passes ------------------------------------------------------------------------------

    def _pass(self) -> list[tuple[Running, int]]:
        if self._waiting and self._free:
            return self._admit()
        batch = sorted(self._running.values(), key=lambda each: each.slot)
        if self._guesser is not None and len(batch) == 1 and batch[0].remaining > 1:
            return self._guess(batch[0], self._guesser)
        if not self._waiting and all(each.request.sampling.greedy for each in batch):
            return self._chunk(batch)
        return self._step(batch)

    def _admit(self) -> list[tuple[Running, int]]:
        """Give the next one a slot, and read its prompt."""
        number, request = self._waiting.popleft()
        slot = self._free.pop()
        new = Running(number, request, slot, [*request.prompt], request.sampling.generator())
        self._running[number] = new
        return [(new, self._choose(new, self.runner.prefill(request.prompt, slot)))]

    def _step(self, batch: list[Running]) -> list[tuple[Running, int]]:
        logits = self.runner.step(*_places(batch))
        best: list[int] = logits.argmax(-1).tolist()
        return [
            (each, best[i] if each.request.sampling.greedy else self._choose(each, logits[i]))
            for i, each in enumerate(batch)
        ]

    def _chunk(self, batch: list[Running]) -> list[tuple[Running, int]]:
        count = min(CHUNK, *(each.remaining for each in batch))
        rows: list[list[int]] = self.runner.greedy(*_places(batch), count).tolist()
        return [(each, rows[b][i]) for i in range(count) for b, each in enumerate(batch)]

    def _guess(self, alone: Running, guesser: Guesser) -> list[tuple[Running, int]]:
        sampling, last = alone.request.sampling, len(alone.text) - 1
        # The target adds a token of its own: one guess less than what remains.
        most = min(guesser.count, alone.remaining - 1)
        guesses, q = guesser.guess(alone.slot, alone.text, most, sampling, alone.generator)
        if not guesses:
            return self._step([alone])
        ids = torch.tensor([alone.text[last], *guesses], device=self.setting.device)
        logits = self.runner.extend(ids, last, alone.slot)
        if sampling.greedy:
            said = best_of(guesses, logits)
        else:
            said = settle(guesses, q, [sampling.law(row) for row in logits], alone.generator)
        self.rounds.passes += 1
        self.rounds.guessed += len(guesses)
        self.rounds.accepted += len(said) - 1
        return [(alone, token) for token in said]

    def _choose(self, running: Running, logits: Tensor) -> int:  # [V]
        sampling = running.request.sampling
        if sampling.greedy:
            return int(logits.argmax())
        return draw(sampling.law(logits), running.generator)


def _places(batch: Sequence[Running]) -> tuple[list[int], list[int], list[int]]:
    """The tokens that enter next, their positions and the slots."""
    tokens = [each.text[-1] for each in batch]
    return tokens, [len(each.text) - 1 for each in batch], [each.slot for each in batch]
