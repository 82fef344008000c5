"""What the plug-in adds: prompts and metrics of answers, and the files of Open RAG Eval and UMBRELA."""

from exam_pp.plugins import Plugin

_COMMANDS = "exam_pp.plugins.rag_metrics.commands"

PLUGIN = Plugin(
    title="RAG metrics",
    commands={
        "verify-answers": (
            f"{_COMMANDS}:verify_command",
            "Let a model verify extracted answers against the gold answers.",
        ),
        "evaluate answers": (
            f"{_COMMANDS}:answers_command",
            "Score systems by the grades of their answers.",
        ),
        "evaluate consistency": (
            f"{_COMMANDS}:consistency_command",
            "Compare the answers of repeated runs of each system, and the spread of their scores.",
        ),
        "evaluate rag": (
            f"{_COMMANDS}:rag_command",
            "Evaluate RAG systems in one run: retrieval, nuggets, citations, consistency.",
        ),
        "analyze distributions": (
            f"{_COMMANDS}:distributions_command",
            "Compare the scores of systems over queries: means, medians, intervals and tests.",
        ),
    },
    public={
        "citations": "plugins.rag_metrics.citations",
        "criteria": "plugins.rag_metrics.answers",
        "grade_answers": "plugins.rag_metrics.python",
        "grade_citations": "plugins.rag_metrics.python",
    },
    registered={
        "backends": {
            "plugins.rag_metrics.embeddings": "sentence-similarity",
            "plugins.rag_metrics.pair_scorer": "text-classification",
        },
        "prompts": {
            "plugins.rag_metrics.prompts": (
                "FactualConsistency=factual-consistency CitationSupport=citation-support "
                "RAGEloCriteria=criteria"
            )
        },
        "file_formats": {
            "plugins.rag_metrics.open_rag_eval": "open-rag-eval open-rag-eval-passages open-rag-eval-scores",
            "plugins.rag_metrics.umbrela": "umbrela",
        },
    },
    offers={
        "ratings of answers by criteria": (
            "exam_pp.plugins.rag_metrics.apply_spreadsheet:apply_criteria_ratings"
        ),
        "ratings by criteria": "exam_pp.plugins.rag_metrics.paired_criteria:criteria_ratings",
        "grades of answers": "exam_pp.plugins.rag_metrics.grading:GRADERS",
        "verify": f"{_COMMANDS}:CITATIONS",
    },
)
