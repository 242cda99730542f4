"""The EOS that ends a text is returned.

Fails: prefill
"""

LINES = {
    "generate": r"""
-     while token not in eos_ids:
-         new.append(token)
-         if len(new) == max_new_tokens:
+     while True:
+         new.append(token)
+         if token in eos_ids or len(new) == max_new_tokens:
""",
}
