"""Takes a drawn EOS out of the guess, so that the target never judges it.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         guess, chances = _guess(draft, text, room, temperature, generator)
+         guess, chances = _guess(draft, text, room, temperature, generator, eos_ids)
+         if guess and guess[-1] in eos_ids:
+             guess, chances = guess[:-1], chances[:-1]
""",
    "_guess": r"""
-     model: _Model, text: list[int], k: int, temperature: float, generator: Generator | None
+     model: _Model,
+     text: list[int],
+     k: int,
+     temperature: float,
+     generator: Generator | None,
+     eos_ids: Collection[int],
...
              guess.append(_draw(chances[-1], generator))
+         if guess[-1] in eos_ids:
+             break
""",
}
