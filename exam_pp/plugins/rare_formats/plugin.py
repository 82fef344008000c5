"""What the plug-in adds: file formats, and scores in the format of AutoNuggetizer."""

from exam_pp.plugins import Plugin

PLUGIN = Plugin(
    registered={
        "file_formats": {
            "plugins.rare_formats.candidates": "candidates",
            "plugins.rare_formats.car_pages": "car-pages",
            "plugins.rare_formats.nugget_assignments": "nuggetizer-assignments",
            "plugins.rare_formats.nuggetizer": "nuggetizer nuggetizer-metrics",
            "plugins.rare_formats.question_banks": "genq squad2 squad2-paragraphs tqa",
            "plugins.rare_formats.rubric_verdicts": "rubric-verdicts",
        }
    },
    offers={"texts of leaderboards": "exam_pp.plugins.rare_formats.nuggetizer:TEXTS"},
)
