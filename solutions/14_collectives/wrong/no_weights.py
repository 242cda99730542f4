"""zero_bubble is 1F1B, without W.

From: collectives.py
Fails: schedules
"""


def zero_bubble(stages, microbatches):
    return one_f_one_b(stages, microbatches)
