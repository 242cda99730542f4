"""What the submission raised, as data: its text is cut, and only its own frames are kept."""

import traceback
from typing import Any

MAX_TEXT = 2000  # characters of an exception's message
MAX_FRAMES = 12


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
    if isinstance(error, SyntaxError) and error.filename == file:
        frames.append([error.lineno or 0, "<module>"])
    return {
        "kind": type(chain[-1]).__name__[:100],
        "message": message[:MAX_TEXT],
        "bases": [cls.__name__[:100] for cls in type(error).__mro__][:20],
        "frames": frames[-MAX_FRAMES:],
    }


def in_kernel(error: BaseException) -> list[BaseException]:
    """Return an exception and what Triton's interpreter has wrapped in it: the kernel's own."""
    chain = [error]
    while type(chain[-1]).__name__ == "InterpreterError" and chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
        if len(chain) > MAX_FRAMES:
            break
    return chain
