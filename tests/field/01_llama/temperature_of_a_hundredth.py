"""Temperatures below 0.01 are raised to it, and draw where hardly any should be left.

From: variants/plain.py
Kind: parameters
Report: https://github.com/NVIDIA/TensorRT-LLM/pull/15716
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-                 token = int(torch.multinomial((logits / temperature).softmax(-1), 1))
+                 scaled = logits / max(temperature, 1e-2)
+                 token = int(torch.multinomial(scaled.softmax(-1), 1))
""",
}
