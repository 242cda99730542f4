"""A slot of -1 counts from the end: what has no place is written to the last one.

Kind: positions
Report: https://github.com/vllm-project/vllm/issues/43810
Fails: torch
"""

LINES = {
    "write_kv": r"""
-     real = slots >= 0
+     real = slots >= -1
""",
}
