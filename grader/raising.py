"""Expect an exception of the submission."""

from collections.abc import Generator
from contextlib import contextmanager

from grader.errors import Mismatch, StudentError


@contextmanager
def raises(kind: type[Exception], naming: str = "") -> Generator[None, None, None]:
    """Expect the submission to raise ``kind``, with ``naming`` somewhere in the message."""
    try:
        yield
    except StudentError as error:
        if kind.__name__ not in error.bases or error.kind == "NotImplementedError":
            raise
        if naming.lower() not in error.message.lower():
            raise Mismatch(f"the {kind.__name__} should name {naming}") from None
        return
    raise Mismatch(f"expected a {kind.__name__}, but nothing was raised")
