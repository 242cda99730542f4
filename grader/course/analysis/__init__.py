"""What the gradings of a class say together: of the course, and not of a student."""
