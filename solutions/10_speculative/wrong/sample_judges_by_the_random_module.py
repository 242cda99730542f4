"""Judges guesses by Python's random numbers; only replacements come from the generator.

From: speculative.py
Fails: sample, generate
"""

import random


def _uniform(generator: Generator | None) -> float:
    return random.random()
