"""Of the second of two weights that are read together every rank has the first part.

From: variants/plain.py
Kind: heads
Report: https://github.com/vllm-project/vllm-gguf-plugin/issues/103
Fails: mlp
"""

LINES = {
    "ParallelMLP.__init__": r"""
-         self.w_up = own(column_shard(w_up, rank, world))
+         self.w_up = own(column_shard(w_up, 0, world))
""",
}
