"""Always looks for lm_head.weight, which tied checkpoints lack.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama.forward": r"""
-         tied = self.config.tie_word_embeddings
-         head = w["model.embed_tokens.weight" if tied else "lm_head.weight"]
+         head = w["lm_head.weight"]
""",
}
