"""What the plug-in adds: the engine of ``-M engine=ctranslate2`` and ``-M compute_type``."""

from exam_pp.plugins import Plugin

PLUGIN = Plugin(
    offers={
        "engine of text2text": "exam_pp.plugins.ctranslate2.seq2seq:engine_or_none",
        "engine of text-generation": "exam_pp.plugins.ctranslate2.causal:llm_or_none",
    }
)
