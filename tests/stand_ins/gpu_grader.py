"""A process that grades answers of ours on the GPUs that it sees, several at a time.

It takes lines such as ``06 wrong/x.py`` and prints a line of JSON for each answer as its grading
ends. Its sessions are forked, and a lab's answers are built once.
"""

import argparse
import contextlib
import functools
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grader import ROOT
from grader.judge.grade import grade
from grader.judge.setup.start import ForkServer
from grader.labs.lab import find_lab
from grader.prove.expected import judge
from grader.prove.findings import Outcome
from grader.prove.runner import Judges, Runner
from grader.prove.trials import Trial, plan


class Grader:
    """Such a process, from its starter's side: it starts with the first answer."""

    def __init__(self, environment: dict[str, str], jobs: int, device: str = "cuda") -> None:
        self._command = [sys.executable, __file__, "--jobs", str(jobs), "--device", device]
        self._environment = environment
        self._lock = threading.Lock()
        self._waiting: dict[str, Future[dict[str, Any]]] = {}
        self._process: subprocess.Popen[str] | None = None
        self._hears: threading.Thread | None = None

    def ask(self, answer: str, seconds: float) -> dict[str, Any]:
        """Return what came of an answer: ``code``, what was ``said`` and the ``seconds``.

        Raises TimeoutError, and RuntimeError where the process has ended.
        """
        found: Future[dict[str, Any]] = Future()
        with self._lock:
            self._waiting[answer] = found
            process = self._running()
            assert process.stdin is not None
            process.stdin.write(f"{answer}\n")
            process.stdin.flush()
        return found.result(timeout=seconds)

    def _running(self) -> "subprocess.Popen[str]":
        if self._process is None or self._process.poll() is not None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=self._environment, start_new_session=True, **pipes
            )
            self._hears = threading.Thread(target=self._hear, args=(self._process,), daemon=True)
            self._hears.start()
        return self._process

    def _hear(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            with self._lock:
                waiting = self._waiting.pop(told["answer"], None)
            if waiting is not None:
                waiting.set_result(told)
        with self._lock:
            lost, self._waiting = self._waiting, {}
        for waiting in lost.values():
            waiting.set_exception(RuntimeError("the process that grades has ended"))

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._hears is not None
            self._hears.join()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


class Bench:
    """The other side: labs and their trials, as they are asked for."""

    def __init__(self, server: ForkServer, device: str, folder: Path) -> None:
        judges = Judges(functools.partial(grade, start=server))
        self._runner = Runner(judges, device, "auto", brief=True, crowd=1.0, races=False)
        self._folder = folder
        self._lock = threading.Lock()
        self._trials: dict[str, dict[str, Trial]] = {}

    def _trial(self, number: str, label: str) -> Trial:
        with self._lock:
            if number not in self._trials:
                lab = find_lab(number, ROOT)
                trials = plan(lab, 1, 1, self._folder / lab.name)
                self._trials[number] = {trial.label: trial for trial in trials}
            return self._trials[number][label]

    def grade(self, answer: str) -> None:
        """Grade an answer and print what came of it."""
        started = time.monotonic()
        try:
            graded = self._runner(self._trial(*answer.split(" ", 1)))
            bad = [found for found in judge(graded) if found.outcome is Outcome.FAILED]
            code, said = int(bool(bad)), [line for found in bad for line in found.lines()]
        except Exception as error:  # one answer less, not all that are to come
            code, said = 2, [f"{type(error).__name__}: {error}"]
        seconds = round(time.monotonic() - started, 1)
        told = {"answer": answer, "code": code, "said": "\n".join(said), "seconds": seconds}
        print(json.dumps(told), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Grade until nobody asks any more."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--device", default="cuda")
    order = parser.parse_args(arguments)
    server = ForkServer()
    try:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(order.jobs) as pool:
            bench = Bench(server, order.device, Path(folder))
            for line in sys.stdin:
                pool.submit(bench.grade, line.strip())
    finally:
        server.close()


if __name__ == "__main__":
    main()
