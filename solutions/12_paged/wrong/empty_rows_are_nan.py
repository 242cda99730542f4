"""A row of no token gives NaN.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
          if length == 0:
+             o[row] = math.nan
              continue
""",
}
