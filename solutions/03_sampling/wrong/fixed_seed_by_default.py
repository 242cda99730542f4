"""Without a generator each call starts from seed 0.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
              logits = filter_(logits)
+         if generator is None:
+             generator = torch.Generator(logits.device).manual_seed(0)
""",
}
