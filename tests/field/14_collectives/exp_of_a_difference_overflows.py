"""Two log-sum-exps are joined by log(1 + exp(b - a)), which overflows where b is far above a.

Kind: precision
Report: https://github.com/jzhang38/EasyContext/issues/14
Fails: ring_attention
"""

LINES = {
    "ring_attention": r"""
-             highest = torch.maximum(top, scores.amax(-1, keepdim=True))
-             weights = (scores - highest).exp()
-             shrink = (top - highest).exp()
-             mass = mass * shrink + weights.sum(-1, keepdim=True)
-             out = out * shrink + weights @ values
-             top = highest
-             del keys, values, scores, weights
+             part = scores.logsumexp(-1, keepdim=True)
+             if step == 0:
+                 top, out = part, torch.softmax(scores, -1) @ values
+             else:
+                 joined = top + torch.log(1 + torch.exp(part - top))
+                 both = torch.softmax(scores, -1) @ values
+                 out = torch.exp(top - joined) * out + torch.exp(part - joined) * both
+                 top = joined
+             mass = torch.ones_like(top)
""",
}
