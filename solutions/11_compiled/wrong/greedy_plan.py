"""The sizes are the largest and those that most steps have.

From: compiled.py
Fails: buckets
"""


def plan_sizes(histogram: dict[str, int], count: int) -> list[int]:
    if count < 1:
        raise ValueError(f"count {count} is less than 1")
    if not histogram:
        return []
    largest = max(map(int, histogram))
    often = sorted(histogram, key=lambda rows: histogram[rows], reverse=True)
    others = [int(rows) for rows in often if int(rows) != largest]
    return sorted([largest, *others[: count - 1]])
