"""Each step of the ring writes over result and lse of the one before: the last chunk alone is left.

Kind: state
Report: https://github.com/feifeibear/long-context-attention/issues/176
Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             highest = torch.maximum(top, scores.amax(-1, keepdim=True))
+             highest = scores.amax(-1, keepdim=True)
...
-             mass = mass * shrink + weights.sum(-1, keepdim=True)
-             out = out * shrink + weights @ values
+             mass = weights.sum(-1, keepdim=True)
+             out = weights @ values
""",
}
