"""Data of NLTK, which autojudge-base downloads at its import unless they exist."""

from __future__ import annotations

from pathlib import Path

from exam_pp.text.stemming import STOP_WORDS


def write_nltk_data(folder: Path) -> None:
    """Write the stop words of exam_pp as those of NLTK, and an empty tokenizer."""
    (folder / "tokenizers" / "punkt").mkdir(parents=True)
    (folder / "corpora" / "stopwords").mkdir(parents=True)
    (folder / "corpora" / "stopwords" / "english").write_text("\n".join(sorted(STOP_WORDS)), encoding="utf-8")
