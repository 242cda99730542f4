"""Objects of the judge that a submission may use, and what bounds their cost."""
