"""The default group of Int4Linear is 64.

From: variants/simple.py
Fails: linears, model
"""

LINES = {
    "Int4Linear.from_float": r"""
-     def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
+     def from_float(cls, linear: nn.Linear, group: int = 64) -> Self:
""",
}
