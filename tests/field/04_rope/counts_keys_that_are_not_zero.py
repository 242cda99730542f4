"""The length is the number of keys that are not zero: a token with a key of zeros is none.

From: variants/plain.py
Kind: state
Report: https://github.com/huggingface/transformers/issues/30377
Fails: caches
"""

LINES = {
    "PostRopeCache.__init__": r"""
-         self.length = 0
""",
    "PostRopeCache.update": r"""
-         self.length += k.shape[2]
""",
}


class PostRopeCache:
    @property
    def length(self) -> int:
        return int(self.stored[0][0, 0].any(dim=-1).sum()) if self.stored else 0
