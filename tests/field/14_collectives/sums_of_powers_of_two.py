"""The log-sum-exp of a chunk is to base 2, and is read as one to base e.

Kind: contracts
Report: https://github.com/vllm-project/vllm/pull/28840
Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             shrink = (top - highest).exp()
+             shrink = ((top - highest) / 0.6931471805599453).exp()
""",
}
