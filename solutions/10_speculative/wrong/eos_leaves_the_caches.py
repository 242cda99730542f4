"""Returns at an EOS before the caches are rewound.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         for model in (target, draft):
+         for model in () if ended else (target, draft):
""",
}
