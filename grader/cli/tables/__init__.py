"""What ``lab check`` prints beside its findings, a table for each of its options."""
