"""max_new_tokens may be 0.

Fails: scheduler
"""

LINES = {
    "Scheduler.add": r"""
-         if max_new_tokens < 1:
+         if max_new_tokens < 0:
""",
}
