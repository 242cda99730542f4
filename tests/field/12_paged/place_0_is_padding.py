"""The first place of the pool is taken for padding: what belongs there is skipped.

Kind: positions
Report: https://github.com/sgl-project/sglang/pull/32477
Fails: torch
"""

LINES = {
    "write_kv": r"""
-     real = slots >= 0
+     real = slots > 0
""",
}
