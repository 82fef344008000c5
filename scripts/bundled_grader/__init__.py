"""Data, tokenizer, model and training of the grader that is bundled with the package."""
