"""Handing in at the grading service of a course: the login, and what the service is asked."""
