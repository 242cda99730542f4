"""A ``Report`` in each form; nothing here decides.

All that a submission wrote is escaped. Whoever shows results may import this; it imports them as
data and no judge.
"""
