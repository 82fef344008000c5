"""Reports on tournaments: ratings, win matrices, head-to-head comparisons and biases of the judge."""
