"""The EOS belongs to the answer.

Fails: generate
"""

LINES = {
    "generate": r"""
-         if token in eos_ids:
-             break
          output.append(token)
+         if token in eos_ids:
+             break
""",
}
