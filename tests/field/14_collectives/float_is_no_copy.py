"""float() of float32 is no copy: maximum and exp go into the caller's logits.

Kind: state
Report: https://github.com/NVIDIA/Megatron-LM/pull/1594
Fails: vocabulary
"""

LINES = {
    "vocab_cross_entropy": r"""
-     scores = scores - top[:, None]
-     masses = scores.exp()
+     scores -= top[:, None]
+     masses = scores.clone().exp_()
...
-     gradient = masses / total[:, None]
+     torch.exp(scores, out=scores)
+     gradient = masses / total[:, None]
""",
}
