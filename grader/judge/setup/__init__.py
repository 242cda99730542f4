"""What a grading asks for, what its session is told, how that starts and must end."""
