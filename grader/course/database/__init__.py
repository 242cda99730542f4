"""What a course keeps, and that none of it is lost.

Rows are added and never changed. It knows no lab and no judge; grading and the gradebook use it.
"""
