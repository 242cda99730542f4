"""Cannot do without a generator.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
+     assert generator is not None
      for i, token in enumerate(draft):
""",
}
