"""Only the 50 best tokens are ever drawn, a default of another library.

Fails: sampler
"""

LINES = {
    "Sampler.__call__": r"""
              logits = filter_(logits)
+         logits = top_k(logits, 50)
""",
}
