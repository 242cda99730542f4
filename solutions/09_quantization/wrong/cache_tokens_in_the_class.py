"""All caches share one list of tokens.

From: variants/simple.py
Fails: cache
"""

from typing import ClassVar


class QuantizedCache:
    parts: ClassVar[list[tuple[Tensor, Tensor]]] = []

    def __init__(self) -> None:
        self.length = 0
        self.parts.clear()
