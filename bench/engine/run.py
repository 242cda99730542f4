"""The run itself: make the peers of a case, check them, let them take turns, go on to the next."""

import gc
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from bench.engine.cases import DRAFT, DTYPES, EAGER, ENGINE, INT4, STATIC, TARGET, Case, make
from bench.engine.lines import Line, lines_of, with_copies
from bench.engine.peers import (
    CLOSE,
    Ours,
    Peer,
    Prompts,
    Theirs,
    disagreement,
    hugging_face,
    in_int4,
)
from bench.engine.roof import bandwidth, step_bytes
from bench.page import command
from grader.errors import CannotGrade, UsageError
from grader.labs.lab import find_root
from grader.text import first_line
from reference.models.checkpoint import Model

DRAFT_MODEL = "draft"
TEXT, TOKENIZER = "heldout.txt", "tokenizer.json"
PROBLEM = 120  # characters
LATE = "not measured: no time left"


def need_device(device: str) -> str:
    """Return "cpu" or "cuda", what there is for "auto"; CannotGrade where it is missing."""
    if device not in ("auto", "cpu", "cuda"):
        raise UsageError(f"there is no device {device!r}", "auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise CannotGrade("torch sees no GPU here", "measure with --device cpu")
    return device if device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"


def use_threads(count: int) -> None:
    """Let torch use so many threads, all peers alike; 0 leaves it its own choice."""
    if count:
        torch.set_num_threads(count)


def run_cases(
    cases: Sequence[Case], device: str, rounds: int, seconds: float, tell: Callable[[str], None]
) -> Iterator[Line]:
    """Yield the lines of the cases; after so many seconds (0: never) no case is begun."""
    checkpoints = find_root() / "labs" / "checkpoints"
    started = time.monotonic()
    for case in cases:
        if seconds and time.monotonic() - started > seconds:
            yield from (Line(case.name, peer, LATE) for peer in case.peers)
            continue
        tell(case.name)
        for line in measure(case, device, rounds, checkpoints):
            rate = f"{line.rate:,.1f} tokens/s" if line.rate is not None else line.problem
            tell(f"  {line.peer}: {rate}")
            yield line
        # Else the graphs of one model count against the next, which shares their code.
        torch.compiler.reset()
        gc.collect()  # of what holds itself, and memory of the device
        if device == "cuda":
            torch.cuda.empty_cache()


def measure(case: Case, device: str, rounds: int, checkpoints: Path) -> list[Line]:
    """Check the peers of a case, then time those that are right, in turns."""
    model = make(case.model, DTYPES[case.dtype], device, checkpoints)
    prompts = _prompts(case, model, checkpoints)
    peers, problems = _peers(case, model, device, checkpoints, prompts)
    rates: dict[str, list[float]] = {name: [] for name in peers}
    order, speeds = list(peers), list[float]()
    for _ in range(rounds):
        speeds.append(bandwidth(device))
        for name in order:
            rates[name].append(peers[name].rate(prompts))
        order.reverse()
    plain = peers[ENGINE].num_bytes if ENGINE in peers else 0
    speed = sorted(speeds)[len(speeds) // 2]
    roofs = {
        name: case.batch * speed / step_bytes(model, case, peer.num_bytes or plain)
        for name, peer in peers.items()
        if plain
    }
    baseline = STATIC if STATIC in peers else ENGINE
    notes = {name: peer.note for name, peer in peers.items()}
    lines = lines_of(case.name, case.peers, rates, roofs, problems, baseline, notes)
    return with_copies(lines, speed)


def _peers(
    case: Case, model: Model, device: str, checkpoints: Path, prompts: Prompts
) -> tuple[dict[str, Peer], dict[str, str]]:
    """Return those that are right, each run once, and what is wrong with the others."""
    peers: dict[str, Peer] = {}
    problems: dict[str, str] = {}
    dtype, rounded = DTYPES[case.dtype], None
    try:
        hf: Any = hugging_face(model, dtype, device)
        expected = Theirs(hf, case, device, compiled=False).last_logits(prompts)
        if INT4 in case.peers:
            other = hugging_face(in_int4(model, dtype), dtype, device)
            rounded = Theirs(other, case, device, compiled=False).last_logits(prompts)
            del other
    except ModuleNotFoundError:
        hf, expected = None, None
    for name in case.peers:
        try:
            peer = _peer(name, case, model, hf, device, checkpoints)
            if peer is None:
                problems[name] = "not installed: pip install transformers"
                continue
            right = rounded if name == INT4 else expected
            wrong = ""
            if right is not None:
                wrong = disagreement(peer.last_logits(prompts), right, CLOSE[case.dtype])
            problems[name] = wrong and f"wrong, not timed: {wrong}"
            if not wrong:
                peer.rate(prompts)  # compiles
                peers[name] = peer
        except Exception as error:  # another's code, which may not know this machine
            problems[name] = f"cannot: {type(error).__name__}: {first_line(str(error), PROBLEM)}"
    return peers, problems


def _peer(
    name: str, case: Case, model: Model, hf: Any, device: str, checkpoints: Path
) -> Peer | None:
    if name not in (STATIC, EAGER):
        dtype = DTYPES[case.dtype]
        draft = make(DRAFT_MODEL, dtype, device, checkpoints) if name == DRAFT else None
        return Ours(model, case, device, name, draft)
    return None if hf is None else Theirs(hf, case, device, compiled=name == STATIC)


def _prompts(case: Case, model: Model, checkpoints: Path) -> Prompts:
    """Random tokens; for guesses text that the models were made for, where it can be read."""
    if DRAFT in case.peers:
        try:
            from tokenizers import Tokenizer

            backend = Tokenizer.from_file(str(checkpoints / TARGET / TOKENIZER))
            text = (checkpoints / TEXT).read_text(encoding="utf-8")
            return [backend.encode(text[: 16 * case.context]).ids[: case.context]] * case.batch
        except (ModuleNotFoundError, OSError):
            pass  # the rate is still that of such a model; the guesses are worse
    source = torch.Generator().manual_seed(1)
    shape = case.batch, case.context
    return torch.randint(model.fields["vocab_size"], shape, generator=source).tolist()


def machine(device: str, lines: Sequence[Line]) -> dict[str, str]:
    """When and on what this ran: date, device, copy bandwidth of the rounds, versions, command."""
    gpu = device == "cuda"
    copied = statistics.median(
        [line.copied for line in lines if line.copied] or [bandwidth(device)]
    )
    return {
        "date": datetime.now().astimezone().strftime("%Y-%m-%d"),
        "device": torch.cuda.get_device_name() if gpu else _processor(),
        "threads": str(torch.get_num_threads()),
        "copy": f"{copied / 1e9:,.0f} GB/s read and written",
        "Python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": _version("transformers"),
        "command": command(sys.argv[1:]),
    }


def _processor() -> str:
    """The name of the processor, as Linux tells it, and its cores."""
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        told = ""
    names = (line.partition(":")[2].strip() for line in told.splitlines() if "model name" in line)
    return f"{next(names, platform.machine())}, {os.cpu_count()} cores"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
