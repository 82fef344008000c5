"""`exam-pp evaluate rag`: retrieval, nuggets, citations, factual consistency and repeats of one input."""
