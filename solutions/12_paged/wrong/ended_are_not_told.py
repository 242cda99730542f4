"""commit does not say who has ended at max_new_tokens.

Fails: scheduler
"""

LINES = {
    "Scheduler.commit": r"""
-                 ended.append(request)
+                 if token in state.eos_ids:
+                     ended.append(request)
""",
}
