"""File formats of single tools and collections: AutoNuggetizer, rank_llm, SQuAD2, TQA, TREC CAR Y3."""
