"""A class is graded, whatever dies. Only the commands of a course import this."""
