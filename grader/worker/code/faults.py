"""What the submission raised, as data: its text is cut, and only its own frames are kept."""

import re
import traceback
from typing import Any

MAX_TEXT = 2000  # characters of an exception's message
MAX_FRAMES = 12
EXPLAINS = "Explanation:"
MEANINGS = {
    "0 active drivers": "the code asked Triton for a GPU; here kernels run in its interpreter, "
    "without one",
    "Cannot access data pointer of Tensor": "a kernel got a tensor without memory, made on meta "
    "or inside of torch.compile",
    "Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)": "a compiled kernel "
    "got a tensor on the CPU: without a GPU run it with make python, which interprets kernels",
}


def describe(error: BaseException, file: str) -> dict[str, Any]:
    """Return an exception as data, with the frames that lie in the submission's ``file``."""
    chain = in_kernel(error)
    try:
        message = str(chain[-1])
    except BaseException:
        message = "(its message cannot be shown)"
    frames = [
        [frame.lineno, frame.name]
        for link in chain
        for frame in traceback.extract_tb(link.__traceback__)
        if frame.filename == file
    ]
    message, compiled = _condensed(message, file)
    frames += compiled
    if isinstance(error, SyntaxError) and error.filename == file:
        frames.append([error.lineno or 0, "<module>"])
    return {
        "kind": type(chain[-1]).__name__[:100],
        "message": _translated(message)[:MAX_TEXT],
        "bases": [cls.__name__[:100] for cls in type(error).__mro__][:20],
        "frames": frames[-MAX_FRAMES:],
    }


def _condensed(message: str, file: str) -> tuple[str, list[list[Any]]]:
    """Return the first sentences of what torch.compile says, and the lines to which it points.

    It writes a page: what failed, ``Explanation:``, hints, and a traceback behind ``from user
    code:`` of the code that it read, which Python's own traceback does not hold.
    """
    text, found, traced = message.partition("\nfrom user code:")
    head, *lines = text.strip().splitlines() or [""]
    told = next((line.partition(":")[2].strip() for line in lines if EXPLAINS in line), "")
    if not (found and told):
        return message, []
    reason = told.rpartition(": got ")[2]
    frames = re.findall(rf'File "{re.escape(file)}", line (\d+), in (\w+)', traced)
    return f"{head}: {reason}", [[int(line), name] for line, name in frames]


def _translated(message: str) -> str:
    """Say in plain words what Triton's own message means where there is no GPU."""
    for said, means in MEANINGS.items():
        if said in message:
            return f"{message[: MAX_TEXT // 2]} ({means})"
    return message


def in_kernel(error: BaseException) -> list[BaseException]:
    """Return an exception and what Triton's interpreter has wrapped in it: the kernel's own."""
    chain = [error]
    while type(chain[-1]).__name__ == "InterpreterError" and chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
        if len(chain) > MAX_FRAMES:
            break
    return chain
