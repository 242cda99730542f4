"""Takes the logarithm of the softmax: small probabilities become 0, and their beams vanish.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-         steps, ids = logits.float().log_softmax(-1).topk(min(num_beams, logits.shape[-1]))
+         steps, ids = logits.float().softmax(-1).log().topk(min(num_beams, logits.shape[-1]))
""",
}
