"""Run a lab's suites against its solution, whose replies are changed at random on their way.

``python tests/stand_ins/liar.py LAB SEED RATE`` prints one JSON line: how many replies it changed,
how often each verdict came, the tests that were ``infra``, and the exceptions of ours for which a
test ran again. The worker is ours, in a thread; as in a hostile one, nothing that it sends can be
relied on. The model answer that takes tests again has one that does not lie.
"""

import contextlib
import json
import os
import random
import socket
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from stand_ins import kinds

from grader.errors import StudentCrashed, SubmissionFault
from grader.judge.builds import PLACE, build_answer
from grader.judge.plugin import retrial
from grader.judge.plugin.gates import Gates
from grader.judge.session import run_pytest
from grader.judge.setup.configuration import Run
from grader.labs.lab import Lab, find_lab, find_root
from grader.proxy.student import Student
from grader.sandbox.pace import PACE
from grader.sandbox.process import make_arena
from grader.sandbox.setting import Setting
from grader.wire.channel import Channel
from grader.wire.codec import DTYPES
from grader.wire.errors import WireError
from grader.worker.kernels import interpreter
from grader.worker.serve import Worker

ARENA = 64 << 20
Tree = Any


@dataclass
class Lies:
    """Changes replies; ``told`` counts what it did."""

    random: random.Random
    rate: float
    told: Counter[str] = field(default_factory=Counter)

    def change(
        self, header: dict[str, Any], buffers: list[torch.Tensor]
    ) -> tuple[dict[str, Any], list[torch.Tensor]]:
        """Return a message in place of another, mostly the same."""
        if self.random.random() >= self.rate:
            return header, buffers
        what = self.random.choice(["kind"] * 12 + ["value"] * 8 + ["error", "field", "swap"])
        self.told[what] += 1
        buffers = [*buffers]
        match what:
            case "error":
                return {**header, **self.error()}, []
            case "field":
                name = self.random.choice(sorted(header))
                return {**header, name: self.plain()}, buffers
            case "swap":
                self.random.shuffle(buffers)
                return header, buffers
            case "kind":
                tree = json.loads(json.dumps(header.get("value")))
                return {**header, "value": kinds.changed(self.random, tree, buffers)}, buffers
            case _:
                tree = json.loads(json.dumps(header.get("value")))
                return {**header, "value": self.tree(tree, buffers)}, buffers

    def error(self) -> dict[str, Any]:
        kinds = "ValueError TypeError IndexError MemoryError NotImplementedError KeyError".split()
        kind = self.random.choice([*kinds, "", "\ud800", "x" * 999])
        text = self.random.choice(["", "eps", "\x1b[2J\u202e\0", "a\n" * 2000])
        frames = self.random.choice([[], [[1, "f"]], [[10**18, "f"], [-1, "\n"]]])
        bases = [kind, self.random.choice(kinds), "Exception"]
        return {"op": "error", "kind": kind, "message": text, "bases": bases, "frames": frames}

    def tree(self, tree: Tree, buffers: list[torch.Tensor]) -> Tree:
        """Change one place of a tree: the deeper it is, the more often something inside it."""
        inner = _inner(tree)
        if inner and self.random.random() < 0.7:
            holder, key = self.random.choice(inner)
            holder[key] = self.tree(holder[key], buffers)
            return tree
        if isinstance(tree, dict) and "x" in tree and self.random.random() < 0.7:
            return self.tensor(tree["x"], buffers)
        if isinstance(tree, dict) and "h" in tree and self.random.random() < 0.7:
            return self.handle(tree["h"])
        return self.other(tree, buffers)

    def tensor(self, body: list[Any], buffers: list[torch.Tensor]) -> Tree:
        """A tensor that is almost the one that was sent."""
        index, dtype, shape, layout, device = body
        what = self.random.choice("dtype cast shape noise flat empty one batch device".split())
        raw = buffers[index]
        match what:
            case "dtype":
                dtype = self.random.choice(list(DTYPES))
            case "cast":
                name = self.random.choice(["float64", "float16", "int64", "int32", "bool"])
                with contextlib.suppress(RuntimeError):
                    value = raw.clone().view(DTYPES[dtype]).to(DTYPES[name])
                    raw, dtype = value.view(torch.uint8).reshape(-1), name
            case "shape":
                shape = self.random.sample(shape, len(shape))
            case "noise":
                raw = torch.randint(0, 256, raw.shape, dtype=torch.uint8)
            case "flat":
                size = 1
                for n in shape:
                    size *= n
                shape = [size]
            case "empty":
                raw, shape = raw[:0], self.random.choice([[0], [0, 5], [100_000, 0], [*shape, 0]])
            case "one":
                count = DTYPES[dtype].itemsize
                raw, shape = raw[:count], [] if len(raw) else shape
            case "batch":
                shape = [1, *shape]
            case _:
                device = self.random.choice(["cuda:0", "meta", ""])
        buffers[index] = raw
        return {"x": [index, dtype, shape, layout, device]}

    def handle(self, body: list[Any]) -> Tree:
        number, kind, methods = body
        match self.random.randrange(4):
            case 0:
                methods = []
            case 1:
                methods = [*methods, "length", "value", "shape", "num_layers", "config"]
            case 2:
                methods = self.random.sample(methods, len(methods) // 2)
            case _:
                number = self.random.choice([0, 1, 2, 10**9])
        return {"h": [number, kind, methods]}

    def other(self, tree: Tree, buffers: list[torch.Tensor]) -> Tree:
        """Something of another kind."""
        buffers.append(torch.randint(0, 256, (24,), dtype=torch.uint8))
        dtype = self.random.choice(list(DTYPES))
        size = 24 // DTYPES[dtype].itemsize
        fresh = {"x": [len(buffers) - 1, dtype, [size], None, "cpu"]}
        buffers.append(torch.empty(0, dtype=torch.uint8))
        empty = {"x": [len(buffers) - 1, "float32", [100_000, 0], None, "cpu"]}
        options = [
            *(
                self.plain(),
                self.plain(),
                fresh,
                empty,
                [],
                {"t": []},
                {"d": []},
                [tree],
                [tree] * 3,
            ),
            *({"t": [tree]}, {"t": [tree, None]}, {"d": [["x", tree]]}, {"r": ["LlamaConfig", []]}),
            *({"y": "float32"}, {"v": "cuda:3"}, {"f": "nan"}, {"f": "inf"}, {"f": "-inf"}),
            *({"h": [1, "Box", []]}, {"h": [7, "", ["__call__", "update", "forward"]]}),
            {"r": ["\ud800", [["vocab_size", None], ["dtype", tree]]]},
        ]
        # A buffer makes one tensor: what mentions one twice is refused as a whole.
        return self.random.choice(options)

    def plain(self) -> Any:
        numbers = [0, 1, -1, 2, 3, 1 << 31, (1 << 63) - 1, -(1 << 63), 1 << 63, 10**40]
        texts = ["", "a", "\ud800", "\0\x1b[31m", "x" * 5000]
        return self.random.choice([None, True, False, 0.5, 1e308, *numbers, *texts])


def _inner(tree: Tree) -> list[tuple[Any, Any]]:
    """List the places inside a tree, as (holder, key)."""
    if isinstance(tree, list):
        return [(tree, index) for index in range(len(tree))]
    if isinstance(tree, dict):
        ((tag, body),) = tree.items()
        if tag == "t":
            return [(body, index) for index in range(len(body))]
        if tag == "d":
            return [(pair, 1) for pair in body]
        if tag == "r":
            return [(pair, 1) for pair in body[1]]
    return []


class LyingWorker(Worker):
    """A real worker whose messages are changed after the submission was loaded."""

    lies: Lies
    told_names = False  # of the submission: it is loaded

    def send(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> None:
        # A lie about the import would be the verdict of every test.
        first, self.told_names = not self.told_names, self.module is not None
        if not first:
            header, buffers = self.lies.change(header, buffers)
        super().send(header, buffers)


Make = Callable[[Channel], Worker]


class ThreadProcess:
    """What the judge holds of a worker, which is a thread."""

    def __init__(self, make: Make, folder: Path) -> None:
        self.folder, self.seen_folder = folder, str(folder)
        ours, theirs = socket.socketpair()
        arenas = make_arena(ARENA), make_arena(ARENA)
        self.channel = Channel(ours, arenas[1], arenas[0], holds=ARENA, now=PACE.now)

        def serve() -> None:
            worker = make(Channel(theirs, *arenas, takes_fds=True))
            for name in GIVEN:
                worker.given[name] = __import__(f"labs.{name}", fromlist=["labs"])
            with theirs, contextlib.suppress(WireError, OSError):
                worker.serve()

        threading.Thread(target=serve, daemon=True).start()

    def kill(self) -> None:
        self.channel.close()

    def fault(self) -> SubmissionFault:
        self.kill()
        return StudentCrashed("the worker is gone")

    def broken_limit(self) -> SubmissionFault | None:
        self.kill()
        return None

    def output(self) -> str:
        return ""

    def forget_output(self) -> None:
        pass


GIVEN: list[str] = []


class Pool:
    """Starts a worker when one is taken."""

    def __init__(self, make: Make, folder: Path) -> None:
        self._make, self._folder = make, folder

    def expect(self, count: int) -> None:
        pass

    def take(self) -> Any:
        return ThreadProcess(self._make, self._folder)


def lie(lab: Lab, seed: int, rate: float) -> dict[str, Any]:
    """Grade the solution through lies; return what came of it."""
    lies = Lies(random.Random(seed), rate)

    def make(channel: Channel) -> Worker:
        worker = LyingWorker(channel, "cpu")
        worker.lies = lies
        return worker

    came = run(lab, seed, make)
    return {"changed": sum(lies.told.values()), **came}


def run(lab: Lab, seed: int, make: Make, tasks: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Grade the solution in workers of that make; return the verdicts, and what was our fault."""
    torch.manual_seed(seed)
    GIVEN[:] = lab.given
    if "triton" in lab.imports:
        interpreter.prepare("cpu")
    Gates.check = lambda *_: None  # type: ignore  # every test is to be tried
    counts: Counter[str] = Counter()
    infra: list[str] = []
    stumbled: list[str] = []

    def note(root: Path, test: str, error: BaseException) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        suites = (f for f in reversed(frames) if Path(f.filename).name.startswith("test_"))
        suite = next(suites, None)
        place = f"{Path(suite.filename).name}:{suite.lineno}" if suite else "?"
        inner = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
        stumbled.append(f"{place} {inner} {type(error).__name__}: {str(error)[:80]}")

    retrial.log = note

    def emit(event: str, data: Any) -> None:
        if event == "test":
            result = asdict(data)
            json.dumps(result)
            counts[result["verdict"]] += 1
            if result["verdict"] == "infra":
                infra.append(f"{result['id']}: {result['message']}")

    with tempfile.TemporaryDirectory() as name:
        stage = Path(name)
        (stage / "submission").symlink_to(lab.solutions)
        (stage / "given").symlink_to(lab.root)
        (stage / "judge").symlink_to(lab.root)  # kernels are compiled in workers of their own
        folders = dict(zip(lab.checkpoints, lab.checkpoint_folders, strict=True))
        setting = Setting(
            stage, folders, lab.given, "cpu", "none", 1 << 30, 64, {}, 1 << 16, cage="watch"
        )
        source = lab.stub.read_text()
        (stage / PLACE).mkdir()
        ungraded = build_answer(lab, setting).ungraded
        student = Student(lab, setting, Pool(make, stage), source)  # type: ignore

        def model() -> Any:
            honest = Pool(lambda channel: Worker(channel, "cpu"), stage)
            return Student(lab, setting, honest, source), None  # type: ignore

        run_pytest(Run(lab, seed, tasks=tasks, ungraded=ungraded), student, emit, model=model)
        student.close_()
    return {"verdicts": counts, "infra": infra, "stumbled": stumbled}


def main(what: Callable[[Lab, int, float], dict[str, Any]]) -> None:
    """Do it to the lab that the command line names, by its seed and rate; print what came."""
    os.environ["TRITON_INTERPRET"] = "1"
    number, seed, rate = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    root = find_root()
    sys.path.insert(0, str(root))
    out, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(what(find_lab(number, root), seed, rate)), file=out, flush=True)
    # Threads that stand in for workers are still inside torch: to end them there would abort.
    os._exit(0)


if __name__ == "__main__":
    main(lie)
