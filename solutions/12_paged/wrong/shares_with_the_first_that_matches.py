"""Of sequences that begin alike the first is taken, not the one with most in common.

Fails: sharing, scheduler
"""

LINES = {
    "BlockManager._find": r"""
-         found: list[int] = []
-         number, size = START, self.block_size
-         last = (len(tokens) - 1) // size * size if self.share else 0
-         for start in range(0, last, size):
-             key = number, tuple(tokens[start : start + size])
-             if key not in self._numbers:
-                 break
-             number = self._numbers[key]
-             found.append(self._alike[number][0])
-         return found
+         size = self.block_size
+         for other in self._sequences.values() if self.share else ():
+             most = min((len(tokens) - 1) // size, len(other.tokens) // size)
+             same = 0
+             while same < most and other.tokens[: (same + 1) * size] == tokens[: (same + 1) * size]:
+                 same += 1
+             if same:
+                 return other.table[:same]
+         return []
""",
}
