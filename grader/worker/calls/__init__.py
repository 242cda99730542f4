"""What a call of the submission may be besides a plain one: timed, a control, on sparse memory."""
