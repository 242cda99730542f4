"""Log-probabilities have the precision of the model's logits.

Fails: beam
"""

LINES = {
    "beam_search": r"""
-         steps, ids = logits.float().log_softmax(-1).topk(min(num_beams, logits.shape[-1]))
+         steps, ids = logits.log_softmax(-1).topk(min(num_beams, logits.shape[-1]))
""",
}
