"""No more than 1024 tokens are kept, the most that a kernel had room for.

Kind: sizes
Report: https://github.com/NVIDIA/TensorRT-LLM/issues/61
Fails: filters
"""

LINES = {
    "top_k": r"""
      order = _ranking(logits)
+     k = min(k, 1024) if k < logits.shape[1] else k
""",
}
