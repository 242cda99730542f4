"""The first new token is not compared with the EOS ids.

Fails: generate
"""

LINES = {
    "generate": r"""
-         if token in eos_ids:
+         if output and token in eos_ids:
""",
}
