"""RAGElo tournaments: games between answers of systems, and the ratings that follow from them."""

TOURNAMENTS = 500
"""Number of tournaments, in random orders of the games, whose Elo ratings are averaged."""
ELO_K = 32.0
"""The most points of Elo that a system can win in a game."""
ELO_START = 1000.0
"""Elo rating of every system before its first game."""
