"""Puts the EOS through the model before it stops.

Fails: generate
"""

LINES = {
    "generate": r"""
          if token in eos_ids:
+             where = torch.tensor([[seen + len(entering)]])
+             model(torch.tensor([[token]]), where, caches=caches, attend=attend)
""",
}
