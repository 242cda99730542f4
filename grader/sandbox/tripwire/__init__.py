"""Has a submission changed what is ours? Its process's memory is read from outside."""
