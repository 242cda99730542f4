"""A logit of -inf is taken for -1e4, which a high temperature makes a chance like any other.

Kind: levels
Report: https://github.com/huggingface/transformers/pull/17306
Fails: generate
"""

LINES = {
    "_chances": r"""
-     return (logits.float() / temperature).softmax(-1)
+     return (logits.float().clamp(min=-1e4) / temperature).softmax(-1)
""",
}
