"""The draft never reads its last guess when all were accepted.

Fails: generate
"""

LINES = {
    "_guess": r"""
-         logits = _read(model, text + guess)[-1]
+         logits = model.forward((text + guess)[-1:] if model.length else text)[-1]
""",
}
