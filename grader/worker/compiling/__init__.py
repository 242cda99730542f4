"""Kernels and graphs as compilers see them, and graphs run elsewhere again."""
