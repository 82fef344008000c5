"""What the plug-in adds: games between answers by models and people, ratings by games, files of RAGElo."""

from exam_pp.plugins import Plugin

_GAMES = "exam_pp.plugins.games"

PLUGIN = Plugin(
    title="Tournaments",
    commands={
        "compare": (
            f"{_GAMES}.commands:compare_command",
            "Let a model play games between the answers of systems.",
        ),
        "review-games": (
            f"{_GAMES}.commands:review_command",
            "Write an HTML page to compare answers without names of systems.",
        ),
        "evaluate elo": (
            f"{_GAMES}.elo_command:command",
            "Rate systems by games between their answers, with Elo or Bradley-Terry ratings.",
        ),
    },
    public={
        "compare": "plugins.games.python",
        "elo": "plugins.games.python",
        "games_from_scores": "plugins.games.from_scores",
    },
    registered={
        "prompts": {"plugins.games.prompts": "PairwiseAnswers=pairwise PairwiseChoice=pairwise-choice"},
        "file_formats": {
            "plugins.games.ragelo": (
                "ragelo-documents ragelo-reasonings ragelo-ranking "
                "ragelo-games ragelo-games-jsonl ragelo-orders-jsonl"
            )
        },
    },
    offers={
        "merge": f"{_GAMES}.merge:merge",
        "filter": f"{_GAMES}.change:change_games",
        "games of answers": f"{_GAMES}.compare:compare",
        "decisions on games": f"{_GAMES}.decisions:apply_games",
        "biases of judges": f"{_GAMES}.biases:game_biases",
        "prompt files": f"{_GAMES}.prompts:PAIR_IN_FILES",
    },
)
