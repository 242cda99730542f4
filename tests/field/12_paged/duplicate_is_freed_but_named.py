"""A block that fills up with what another holds is freed, and tables go on to name it.

Kind: state
Report: https://github.com/sgl-project/mini-sglang/pull/142
Fails: sharing, scheduler
"""

LINES = {
    "BlockManager._register": r"""
-         if key not in self._numbers:
-             self._numbers[key] = next(self._count)
+         if key not in self._numbers:
+             self._numbers[key] = next(self._count)
+         else:
+             self._free.append(sequence.table[index])
""",
}
