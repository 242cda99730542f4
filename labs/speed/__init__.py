"""What ``make bench`` times on a GPU: sizes, and what a lab is compared with.

``TOPIC.py`` is a suite of speed tests alone, ``baseline_TOPIC.py`` has the public names of the
submission, made of torch; those of lab 09 would give its codes away, so students have none.
"""
