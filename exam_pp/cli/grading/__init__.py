"""Commands that ask models, and lists of models and prompts."""
