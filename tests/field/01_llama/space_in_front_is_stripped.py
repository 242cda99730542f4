"""White space at the start of a new text is taken off.

From: variants/plain.py
Kind: contracts
Report: https://github.com/InternLM/lmdeploy/issues/1743
Report: https://github.com/EricLBuehler/mistral.rs/pull/2326
Fails: engine
"""

LINES = {
    "Engine.execute": r"""
-             texts.append(self.tokenizer.decode(new))
+             texts.append(self.tokenizer.decode(new).lstrip())
""",
}
