"""A kernel in the folder of a lab, as JupyterLab starts one: cells are run, outputs are read."""

import contextlib
import os
import queue
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from grader.labs.lab import Lab


@dataclass(slots=True)
class Output:
    """What a cell left: text that it printed, the last result in its forms, and an error's name."""

    text: str = ""
    html: str = ""
    plain: str = ""
    error: str = ""
    traceback: str = ""  # without colours
    next_input: str = ""
    asked: list[str] = field(default_factory=list[str])
    line: list[str] = field(default_factory=list[str])  # what one that is written over has shown


class Kernel:
    """One kernel; ``answers`` are given in turn to what it asks."""

    def __init__(self, manager: Any, client: Any) -> None:
        self.manager = manager
        self._client = client
        self.answers: list[str] = []

    def begin(self, code: str) -> str:
        """Start a cell; return the id of the request."""
        return self._client.execute(code, allow_stdin=bool(self.answers))

    def run(self, code: str, seconds: float = 300.0) -> Output:
        """Run a cell to its end."""
        return self.end(self.begin(code), seconds)

    def end(self, request: str, seconds: float = 300.0) -> Output:
        """Wait for the end of a cell."""
        output, ends = Output(), time.monotonic() + seconds
        while time.monotonic() < ends:
            with contextlib.suppress(queue.Empty):
                asked = self._client.get_stdin_msg(timeout=0)["content"]["prompt"]
                output.asked.append(asked)
                self._client.input(self.answers.pop(0))
            try:
                message = self._client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                for item in self._reply(request).get("payload", ()):
                    output.next_input = item.get("text", "")
                return output
            if message["msg_type"] in ("display_data", "update_display_data"):
                output.line.append(content["data"].get("text/plain", ""))
            _note(output, content)
        raise AssertionError(f"a cell did not end within {seconds} s: {output}")

    def _reply(self, request: str) -> dict[str, Any]:
        while True:
            message = self._client.get_shell_msg(timeout=20)
            if message["parent_header"].get("msg_id") == request:
                return message["content"]


def _note(output: Output, content: dict[str, Any]) -> None:
    output.text += content.get("text", "")
    output.error = content.get("ename", output.error)
    output.traceback += re.sub(r"\x1b\[[\d;]*m", "", "\n".join(content.get("traceback", ())))
    data = content.get("data", {})
    output.html = data.get("text/html", output.html)
    output.plain = data.get("text/plain", output.plain)


@contextlib.contextmanager
def kernel_in(lab: Lab) -> Iterator[Kernel]:
    """Start a kernel in a lab's folder, with the extension loaded."""
    from jupyter_client.manager import start_new_kernel

    env = {**os.environ, "PYTHONPATH": str(lab.root), "PYTHONWARNINGS": "ignore"}
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(lab.folder), env=env)
    try:
        kernel = Kernel(manager, client)
        loaded = kernel.run(f"%load_ext grader.notebook\n%lab {lab.number}")
        assert not loaded.error, loaded
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
