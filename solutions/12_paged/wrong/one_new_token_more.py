"""A request gets one token more than it may have.

Fails: scheduler
"""

LINES = {
    "Scheduler.commit": r"""
-             if token in state.eos_ids or len(state.output) == state.max_new_tokens:
+             if token in state.eos_ids or len(state.output) > state.max_new_tokens:
""",
}
