"""A class: publishing labs, collecting and grading submissions, the gradebook.

Needs the extra "course" (and "cluster" for Ray); nothing outside this package imports it at start.
"""
