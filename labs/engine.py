"""Text from the reference engine, a fast one of ours: ``make chat ARGS=--engine``.

Only the instructors' repository has it. None of your pieces is used, so it also shows what speed
there is to be had.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import torch

from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.decoding import Unfit
from labs.quantized import Bits

ROOM = "reference"
MODULES = ("models.checkpoint", "engine.engine", "engine.requests", "engine.sampling")
WARM_TOKENS = 8  # enough for every kind of pass
LONGEST = 4096  # tokens of a text, for which the cache is made


class Served:
    """The engine with a model in one slot, and with the guesses that the options ask for."""

    def __init__(self, options: argparse.Namespace) -> None:
        if options.repetition_penalty is not None:
            raise Unfit("--repetition-penalty does not go with --engine: it has no such filter")
        if options.quantize is Bits.INT8:
            raise Unfit("--quantize int8 does not go with --engine: it has int4 only")
        self._modules = load()
        self._options = options
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        # Guesses, and CPUs, round otherwise in bfloat16: there the text would change.
        exact = self.device == "cpu" or options.speculate is not None
        self.dtype = torch.float32 if exact else torch.bfloat16
        self.config = LlamaConfig.from_pretrained(options.model)
        self._tokenizer = load_tokenizer(options.model)
        self.engine = self._build()
        if options.compile or self.device == "cuda":
            print("compiling the step, once …", file=sys.stderr, flush=True)
            warm = self._modules["engine.requests"].Request([0], WARM_TOKENS)
            self.engine.generate([warm])

    def _build(self) -> Any:
        wish, engine = self._options, self._modules["engine.engine"]
        setting = engine.Setting(
            slots=1,
            max_len=min(LONGEST, self.config.max_position_embeddings),
            dtype=self.dtype,
            device=self.device,
            bits=4 if wish.quantize else None,
            compiled=wish.compile or self.device == "cuda",
        )
        draft = None
        if wish.speculate is not None and not wish.lookup:
            if not wish.draft.is_dir():
                raise Unfit(f"--speculate needs a draft: no checkpoint at {wish.draft}")
            draft = self._model(wish.draft)
        return engine.Engine(self._model(wish.model), setting, wish.speculate or 0, draft)

    def _model(self, folder: Any) -> Any:
        fields = asdict(LlamaConfig.from_pretrained(folder))
        return self._modules["models.checkpoint"].Model(fields, load_weights(folder))

    def answer(self, text: str) -> None:
        """Print a text with its continuation as it comes, then the speed."""
        prompt = self._tokenizer.encode(text)
        if not prompt:
            raise Unfit("the prompt is empty")
        wish = self._options
        sampling = self._modules["engine.sampling"].Sampling(
            wish.temperature, wish.top_k, wish.top_p, wish.min_p, wish.seed
        )
        request = self._modules["engine.requests"].Request(
            prompt, wish.max_new_tokens, self.config.eos_token_ids, sampling
        )
        self.engine.rounds = type(self.engine.rounds)()  # those of this text alone
        started = time.perf_counter()
        number = self.engine.add(request)
        print(text, end="", flush=True)
        new: list[int] = []
        moments: list[float] = []
        for part in self._pieces(new):
            moments.append(time.perf_counter())
            print(part, end="", flush=True)
        ended = time.perf_counter()
        self.engine.take(number)
        print()
        first = moments[0] if moments else ended
        self._tell(len(prompt), len(new), first - started, ended - first)

    def _pieces(self, new: list[int]) -> Iterator[str]:
        """Yield the text that each token adds; ``new`` grows. A part of a character waits."""
        shown = ""
        for _, token in self.engine.stream():
            new.append(token)
            whole = self._tokenizer.decode(new)
            ready = "" if whole.endswith("\ufffd") else whole[len(shown) :]
            shown += ready
            yield ready
        yield self._tokenizer.decode(new)[len(shown) :]

    def _tell(self, read: int, written: int, prefill: float, decode: float) -> None:
        rates = f"prefill {read / prefill:,.0f} tokens/s"
        if written > 1 and decode:
            rates += f", decode {(written - 1) / decode:,.0f} tokens/s"
        kind = f"in {str(self.dtype).removeprefix('torch.')} on {self.device}"
        print(f"  the reference engine, {kind}", file=sys.stderr)
        print(f"  {read} tokens read, {written} written: {rates}", file=sys.stderr)
        rounds = self.engine.rounds
        if rounds.guessed:
            share = f"{rounds.accepted} of {rounds.guessed} guesses accepted"
            tokens = 1 + rounds.accepted / rounds.passes
            print(f"  {share}, {tokens:.2f} tokens a pass that had some", file=sys.stderr)


def load() -> dict[str, Any]:
    """Import the engine by its name: a student's tree has none, and none may be missed there."""
    try:
        return {name: importlib.import_module(f"{ROOM}.{name}") for name in MODULES}
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != ROOM:
            raise
        raise Unfit(
            f"--engine needs the folder {ROOM}/, which only the instructors' repository has; "
            "without it your pieces are used"
        ) from None
