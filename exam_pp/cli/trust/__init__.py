"""Commands that measure how far a grader can be trusted."""
