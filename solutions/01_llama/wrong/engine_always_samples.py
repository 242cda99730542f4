"""Samples also at temperature 0.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
              logits = self.model(torch.tensor([prompt + new]))[0, -1].float()
+             temperature = temperature or 1.0
""",
}
