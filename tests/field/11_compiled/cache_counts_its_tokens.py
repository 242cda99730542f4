"""The cache counts the tokens it has seen, as a number of Python: each step is compiled anew.

Kind: state
Report: https://github.com/huggingface/transformers/pull/35299
Fails: step, prefill, graphs
"""

LINES = {
    "StaticCache.__init__": r"""
          self.slots = slots
+         self.seen = 0
""",
    "StaticCache.layers": r"""
-         pairs = zip(self.keys, self.values, strict=True)
+         self.seen += positions.shape[1]
+         assert self.seen > 0
+         pairs = zip(self.keys, self.values, strict=True)
""",
}
