"""The first new token ends nothing, whatever it is.

Fails: prefill
"""

LINES = {
    "generate": r"""
-     while token not in eos_ids:
+     while not new or token not in eos_ids:
""",
}
