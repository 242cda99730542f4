"""A BOS is put in front of tokens that begin with one already.

From: variants/plain.py
Kind: contracts
Report: https://github.com/Lightning-AI/litgpt/issues/1565
Report: https://github.com/ggml-org/llama.cpp/pull/7107
Fails: engine
"""

LINES = {
    "Engine.execute": r"""
-             new = self._extend(self.tokenizer.encode(prompt), max_new_tokens, temperature)
+             tokens = [self.config.bos_token_id or 0, *self.tokenizer.encode(prompt)]
+             new = self._extend(tokens, max_new_tokens, temperature)
""",
}
