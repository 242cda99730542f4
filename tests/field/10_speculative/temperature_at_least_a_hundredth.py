"""A temperature below 0.01 is taken for 0.01, by both models.

Kind: parameters
Report: https://github.com/vllm-project/vllm/issues/3063
Report: https://github.com/NVIDIA/TensorRT-LLM/issues/15715
Fails: generate
"""

LINES = {
    "_chances": r"""
-     return (logits.float() / temperature).softmax(-1)
+     return (logits.float() / max(temperature, 0.01)).softmax(-1)
""",
}
