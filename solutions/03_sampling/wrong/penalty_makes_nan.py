"""The penalty is added as a difference, which is NaN for what was removed.

Fails: filters
"""

LINES = {
    "repetition_penalty": r"""
-     return torch.where(said, penalized, scores).to(logits.dtype)
+     return (scores + said * (penalized - scores)).to(logits.dtype)
""",
}
