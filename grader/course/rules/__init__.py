"""What ``course.toml`` says of marks: what a lab counts, what lateness costs.

Rules are frozen data and arithmetic over plain values: none knows a database or a gradebook.
"""
