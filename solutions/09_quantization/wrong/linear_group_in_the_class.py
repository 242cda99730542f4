"""All Int4Linear layers have the group of the last one that was made.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int4Linear.__init__": r"""
-         self.group = group
""",
    "Int4Linear.from_float": r"""
      def from_float(cls, linear: nn.Linear, group: int = 32) -> Self:
+         cls.group = group
""",
}
