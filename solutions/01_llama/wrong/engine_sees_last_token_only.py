"""Each step runs the last token alone, without its history.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-             logits = self.model(torch.tensor([prompt + new]))[0, -1].float()
+             logits = self.model(torch.tensor([(prompt + new)[-1:]]))[0, -1].float()
""",
}
