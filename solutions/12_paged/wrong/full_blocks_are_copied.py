"""append copies a shared block behind which the next token begins a new one.

Fails: sharing
"""

LINES = {
    "BlockManager.append": r"""
-         if len(sequence.tokens) % self.block_size == 0:
+         if len(sequence.tokens) % self.block_size == 0 and self._holders[sequence.table[-1]] > 1:
+             if not self._free:
+                 return None
+             copies.append([sequence.table[-1], self._free[-1]])
+             sequence.table.append(self._take())
+         elif len(sequence.tokens) % self.block_size == 0:
              if not self._free:
                  return None
              sequence.table.append(self._take())
""",
}
