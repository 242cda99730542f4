"""Of blocks with equal beginnings the first alone is known; when it is freed all are lost.

Fails: sharing
"""

LINES = {
    "BlockManager._register": r"""
-         self._key[sequence.table[index]] = key
-         self._alike.setdefault(self._numbers[key], []).append(sequence.table[index])
+         number = self._numbers[key]
+         self._key[sequence.table[index]] = key
+         self._alike.setdefault(number, [sequence.table[index]])
""",
    "BlockManager._forget": r"""
-         number = self._numbers[key]
-         self._alike[number].remove(block)
+         number = self._numbers.get(key)
+         if number is None or block not in self._alike[number]:
+             return
+         self._alike[number].remove(block)
""",
    "BlockManager._find": r"""
+             if number not in (START, *self._alike):
+                 break
              key = number, tuple(tokens[start : start + size])
""",
}
