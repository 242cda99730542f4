"""The caller's generator is set back after each text.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
      ended = False
+     before = None if generator is None else generator.get_state()
...
-     return text[len(prompt) :], stats
+     if generator is not None:
+         generator.set_state(before)
+     return text[len(prompt) :], stats
""",
}
