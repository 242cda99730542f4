"""Each call starts anew from the seed that the caller's generator began with.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
+     if generator is not None:
+         generator = Generator(generator.device).manual_seed(generator.initial_seed())
      for i, token in enumerate(draft):
""",
}
