"""Answers of ours that must fail: edits of right ones, ports of the field's, nonsense."""
