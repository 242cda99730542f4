"""The model sees the last 128 tokens and no more.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-             logits = self.model(torch.tensor([prompt + new]))[0, -1].float()
+             logits = self.model(torch.tensor([(prompt + new)[-128:]]))[0, -1].float()
""",
}
