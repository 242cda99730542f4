"""Marks, and who sees them: the rule for a mark, pages, exports.

Only the commands of a course import this; it grades nothing.
"""
