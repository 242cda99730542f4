"""The device: a worker that has the true numbers of what is hidden, and never the submission.

It is told, by the submission's worker, which of torch's operators and which kernels of the file's
text to run on what. What it is told is data; what it may do is kept here. It tells nothing back
but as many numbers as the judge lets it, and answers the judge alone.
"""

import math
import socket
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.wire.codec import Unpacker
from grader.wire.errors import WireError
from grader.wire.link import Link
from grader.worker.device.graphs import Call, Graphs, Unknown
from grader.worker.device.memory import Memory, Region
from grader.worker.operators.admitted import is_admitted
from grader.worker.operators.counters import Flops, Largest, Operators, most_elements
from grader.worker.operators.followed import Allowance, name_of

MAX_NOTES = 20
COUNTERS = {"flops": Flops, "largest": Largest, "operators": Operators}
Operator = type(torch.ops.aten.clone.default)


class Device:
    """The numbers of one watch, and the thread that does what it is told with them."""

    def __init__(self, fd: int, config: dict[str, Any]) -> None:
        self._link = Link(socket.socket(fileno=fd))
        self._memory = Memory()
        self._runs_kernels, self._runs_graphs = bool(config["kernels"]), bool(config["graphs"])
        self._numbers = int(config["numbers"])  # that may still be told
        self._allowance = Allowance(config["free"], int(config["elements"]))
        self._file, self._text = config["file"], config["text"]
        self._kernels: Any = None  # ``Kernels``, once one is launched
        self._graphs = Graphs()
        self._launches = 0
        self._counters: dict[str, Any] = {}  # that run, by name
        self._notes: dict[str, None] = {}
        self._error: BaseException | None = None  # ended it: nothing is done from then on
        self._done = 0  # messages
        self._over = self._closed = False
        self._turn = threading.Condition()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    # -- for the judge ---------------------------------------------------------------------

    def answer(self, header: dict[str, Any], unpacked: Callable[[], Any]) -> Any:
        """Do what the judge asks for; a value that has come is ``unpacked`` where there is one."""
        match header["action"]:
            case "hide":
                return self.hide(header["number"], unpacked())
            case "read":
                return self.read(header["after"], header["layout"])
            case "lend":
                return self.lend(header["number"])
            case "replays":
                return self.replays()
            case "begin_count":
                return self.begin_count(header["name"])
            case "end_count":
                return self.end_count(header["name"])
            case _:
                return self.end(header["after"])

    def hide(self, number: int, value: Tensor) -> None:
        """Take the true numbers of an argument; its storage is what the worker has decoys of."""
        with self._turn:
            self._memory.add(number, value).hide()

    def read(self, after: int, layout: list[Any]) -> Tensor:
        """Return a result, once as many messages have been done; raises what has failed."""
        with self._turn:
            self._wait(after)
            self._raise()
            return self._memory.tensor(layout).clone()

    def lend(self, number: int) -> None:
        """Let a graph of this number be captured."""
        with self._turn:
            self._graphs.lent.add(number)

    def replays(self) -> dict[str, Any]:
        """Return which graphs were captured, and which replayed, in their order."""
        with self._turn:
            return {"captured": self._graphs.captured, "replayed": self._graphs.replayed}

    def end(self, after: int) -> dict[str, Any]:
        """Return what was done, once as many messages have been; raises what has failed."""
        with self._turn:
            self._wait(after)
            self.close()
            self._raise()
            found = [] if self._kernels is None else self._kernels.found.plain()
            return {"launches": self._launches, "notes": [*self._notes], "found": found}

    def begin_count(self, name: str) -> None:
        """Begin to count what operators do here, whoever asks for them."""
        with self._turn:
            self._settle()
            self._counters[name] = COUNTERS[name]()

    def end_count(self, name: str) -> Any:
        """Return what a counter has seen."""
        with self._turn:
            self._settle()
            return self._counters.pop(name).reading

    def _wait(self, after: int) -> None:
        """Wait until as many messages have been done."""
        self._turn.wait_for(lambda: self._done >= after or self._over)

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _settle(self) -> None:
        """Wait until what was sent is done; a call that has come back has sent all of its own."""
        self._turn.wait_for(lambda: self._over or not self._link.has_come())

    def close(self) -> None:
        """Take nothing more."""
        self._closed = True
        self._link.close()

    # -- messages --------------------------------------------------------------------------

    def _serve(self) -> None:
        torch.set_num_threads(1)
        torch._C._set_grad_enabled(False)  # pyright: ignore[reportPrivateUsage]
        try:
            while True:
                self._link.has_come(None)
                with self._turn:
                    if self._closed:
                        return
                    self._do(*self._link.receive())
                    self._done += 1
                    self._turn.notify_all()
        except WireError:
            pass
        except BaseException as error:  # of a message itself: no room for it
            self._error = error
        finally:
            with self._turn:
                self._over = True
                self._turn.notify_all()

    def _do(self, header: dict[str, Any], buffers: list[Tensor]) -> None:
        try:
            match header:
                case {"op": "plain", "number": int(number)}:
                    self._memory.take_plain(number, buffers[0])
                case {"op": "run", "outs": list(outs)}:
                    self._run(header, outs)
                case {"op": "number"}:
                    self._link.send({"number": self._number(header)})
                case {"op": "launch"}:
                    self._launch(header)
                case {"op": "capture" | "replay", "graph": int(number)} if self._runs_graphs:
                    self._graph(number, header.get("calls"))
                case _:
                    raise WireError("an unknown message")
        except BaseException as error:
            self._error = error
            self._link.close()  # whoever waits for a number waits no more

    def _note(self, what: str) -> None:
        if len(self._notes) < MAX_NOTES:
            self._notes[what] = None

    # -- operators -------------------------------------------------------------------------

    def _run(self, header: dict[str, Any], outs: list[Any]) -> None:
        call = self._call(header, outs)
        regions = self._memory.regions(call.given)
        secrets = [region for region in regions if region.secret]
        try:
            self._assert_may(call, secrets)
            call.run(self._counters.values())
        except Unknown:
            call.clear()
            return
        for region in self._memory.regions(call.changed):
            region.secret |= bool(secrets)
            region.given |= any(source.given for source in regions)

    def _call(self, header: dict[str, Any], outs: list[Any]) -> Call:
        operator, args, kwargs = self._operator(header)
        made = [None if layout is None else self._memory.make(layout) for layout in outs]
        return Call(operator, args, kwargs, made)

    def _assert_may(self, call: Call, secrets: list[Region]) -> None:
        if not secrets or not (self._runs_kernels or self._runs_graphs):
            return
        size = most_elements((call.args, list(call.kwargs.values()), call.made))
        given = any(region.given for region in secrets)
        operation = call.operator, call.args, call.kwargs
        if not self._allowance.may(*operation, given=given, elements=size):
            self._note(f"torch's {name_of(call.operator)}"[:60])
            raise Unknown

    def _number(self, header: dict[str, Any]) -> Any:
        """Return the number that an operator gives, None once too many have been told."""
        operator, args, kwargs = self._operator(header)
        if self._numbers <= 0 or operator._schema.is_mutable:
            return None
        try:
            number = operator(*args, **kwargs)
        except Exception:
            return None
        if type(number) not in (bool, int, float):
            return None
        self._numbers -= 1
        return number if math.isfinite(number) else str(number)

    def _operator(self, header: dict[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
        name, overload = header["name"], header["overload"]
        packet = getattr(torch.ops.aten, name) if _is_name(name) else None
        operator = getattr(packet, overload) if _is_name(overload) else None
        if not isinstance(operator, Operator) or not is_admitted(name):
            raise WireError("an operator that is not run here")
        args, kwargs = Unpacker([], self._resolve).unpack(header["values"])
        return operator, args, kwargs

    def _resolve(self, tag: str, body: Any) -> Any:
        match tag:
            case "T":
                return self._memory.tensor(body)
            case "o" if isinstance(getattr(torch, body), torch.layout | torch.memory_format):
                return getattr(torch, body)
            case _:
                raise WireError("an unknown kind of value")

    # -- graphs ----------------------------------------------------------------------------

    def _graph(self, number: int, told: Any) -> None:
        """Replay a graph, or take one, which is of what its capture has noted."""
        if told is None:
            self._allowance.renew()
            return self._graphs.replay(number)
        calls = [self._call(header, header["outs"]) for header in told]
        for region in self._memory.regions(tensor for call in calls for tensor in call.changed):
            region.hide()
        return self._graphs.capture(number, calls)

    # -- kernels ---------------------------------------------------------------------------

    def _launch(self, header: dict[str, Any]) -> None:
        if not self._runs_kernels:
            raise WireError("a kernel where torch alone works")
        if self._kernels is None:
            # Imported here: only labs that write kernels pay for Triton.
            from grader.worker.device.kernels import Kernels

            self._kernels = Kernels(self._file, self._text, self._memory, self._resolve)
        self._launches += 1
        self._kernels.launch(header)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not name.startswith("__")
