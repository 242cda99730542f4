"""Commands of people who read: comments, points of tasks, scores by a rubric."""
