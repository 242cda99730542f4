"""What a row is multiplied by is rounded to bfloat16 first: all of the row is off in one direction.

Kind: precision
Report: https://github.com/amd/IRON/pull/139
Fails: norm
"""

LINES = {
    "operators.cpp": r"""
      float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + static_cast<float>(eps));
+     scale = static_cast<float>(static_cast<T>(scale));
""",
}
