"""Seeds the generator at each prompt, so every draw is the same.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
              raise ValueError("prompt is empty")
+         torch.manual_seed(0)
""",
}
