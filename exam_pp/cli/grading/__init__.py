"""Commands that grade with models, check engines, and list models and prompts."""
