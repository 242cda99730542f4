"""The new tokens are appended to the caller's prompt.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-         new: list[int] = []
-         while len(new) < max_new_tokens:
-             logits = self.model(torch.tensor([prompt + new]))[0, -1].float()
+         start = len(prompt)
+         while len(prompt) < start + max_new_tokens:
+             logits = self.model(torch.tensor([prompt]))[0, -1].float()
...
-             new.append(token)
-         return new
+             prompt.append(token)
+         return prompt[start:]
""",
}
