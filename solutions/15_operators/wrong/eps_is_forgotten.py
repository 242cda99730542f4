"""eps is nowhere.

Fails: norm, fake
"""

LINES = {
    "operators.cpp": r"""
-     float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + static_cast<float>(eps));
+     float scale = 1.0f / std::sqrt(squares / static_cast<float>(width));
""",
}
