"""A place whose keys are all zero is taken for one that was never written, and is not seen.

Kind: state
Report: https://github.com/huggingface/transformers/issues/30377
Fails: step
"""

LINES = {
    "_forward": r"""
      mask = (keys <= positions.unsqueeze(-1)).unsqueeze(1)  # [B, 1, T, max_len]
+     written = cache.keys[0][slots].any(-1).any(1)  # [B, max_len], what this call adds aside
+     fresh = keys >= positions[:, :1]
+     mask = mask & (written | fresh)[:, None, None]
""",
}
