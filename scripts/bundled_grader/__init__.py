"""Training data, tokenizer, model and training of the bundled grader."""
