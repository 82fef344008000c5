"""What the plug-in adds: file formats, and a reader of answers in JSON and tables that no format fits."""

from exam_pp.plugins import Plugin

PLUGIN = Plugin(
    registered={
        "file_formats": {
            "plugins.exports.reading": (
                "castorini deepeval inspect-ai langfuse langsmith llamaindex mt-rag phoenix promptfoo ragas "
                "ragchecker references unnamed-answers"
            )
        }
    },
    offers={
        "answers of unknown files": "exam_pp.plugins.exports.reading:read_unknown",
        "queries of exports": "exam_pp.plugins.exports.reading:read_queries_of",
    },
)
