"""Goes head by head in tiles of 64 keys, whatever block says.

From: variants/simple.py
Fails: tiled
"""

LINES = {
    "flash_attention_torch": r"""
      G, S = k.shape[1:3]
+     block = 64
+     if H > 1:
+         heads = [
+             flash_attention_torch(q[:, h : h + 1], k[:, [h * G // H]], v[:, [h * G // H]], causal)
+             for h in range(H)
+         ]
+         return torch.cat([o for o, _ in heads], 1), torch.cat([lse for _, lse in heads], 1)
""",
}
