"""Of the sizes those are captured that are 1, 2, or a multiple of 4.

Kind: sizes
Report: https://github.com/vllm-project/vllm/pull/40734
Report: https://github.com/vllm-project/vllm-ascend/issues/16049
Fails: graphs
"""

LINES = {
    "GraphRunner.__init__": r"""
-         self._sizes = sizes
+         self._sizes = [size for size in sizes if size < 3 or size % 4 == 0] or sizes
...
-         for size in sorted(sizes, reverse=True):  # on a GPU the largest makes room for the others
+         for size in sorted(self._sizes, reverse=True):  # the largest makes room for the others
""",
}
