"""A temperature below 0.01 is taken for 0.01, where an engine once met inf and NaN.

Kind: parameters
Report: https://github.com/vllm-project/vllm/issues/3063
Report: https://github.com/NVIDIA/TensorRT-LLM/issues/15715
Fails: filters
"""

LINES = {
    "temperature": r"""
-     return (logits.float() / t).to(logits.dtype)
+     return (logits.float() / max(t, 0.01)).to(logits.dtype)
""",
}
