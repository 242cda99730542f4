"""A launch as a picture and in words: what ``lab trace`` shows of a student's kernel.

It decides nothing. What it draws comes from a process that ran the student's code with the
student's rights, so every text is escaped and every number is held to its range.
"""
