"""What students get, and that they got no more. Only the commands of a course import this."""
