"""Each text starts anew from the seed that the generator began with.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
      ended = False
+     if generator is not None:
+         generator = Generator(generator.device).manual_seed(generator.initial_seed())
""",
}
