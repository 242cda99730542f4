"""Of blocks with equal beginnings the newest alone is remembered.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager._register": r"""
-         self._alike.setdefault(self._numbers[key], []).append(sequence.table[index])
+         self._alike[self._numbers[key]] = [sequence.table[index]]
""",
    "BlockManager._forget": r"""
-         self._alike[number].remove(block)
+         if block in self._alike[number]:
+             self._alike[number].remove(block)
...
-             del self._alike[number], self._numbers[key]
+             self._alike[number] = []
""",
    "BlockManager._find": r"""
-             if key not in self._numbers:
+             if key not in self._numbers or not self._alike[self._numbers[key]]:
""",
}
