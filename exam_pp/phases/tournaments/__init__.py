"""RAGElo tournaments: games between answers of systems, and the ratings that follow from them."""
