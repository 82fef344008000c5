"""Write the golden text of every prompt, and add hashes of new versions. Check the diff before committing.

Usage: python scripts/golden_prompts.py
"""

from __future__ import annotations

import json
from pathlib import Path

from exam_pp.llm_requests import Request
from exam_pp.prompts import PROMPTS

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "prompts"
ENTRY = "Why is the {sky} blue?"
VALUES = {
    **dict.fromkeys(("question", "nugget", "query"), ENTRY),
    "context": "Air scatters {blue} light.",
    "answer": "scattered {light}",
    "claim": "Blue light is {scattered}.",
    "correct_answer": "Rayleigh scattering",
    "subtopic": "colour at {dusk}",
    "count": "10",
    "length": "1",
    "labels": "vital or okay",
    "nuggets": '["scattered {light}"]',
    "documents": "[1] Air scatters {blue} light.",
    "answer_a": "scattered {light}",
    "answer_b": "the {sea}",
    "factors": "correctness.",
    "user_queries": "why does {light} scatter",
}


def main() -> None:
    path = GOLDEN / "versions.json"
    versions: dict[str, dict[str, str]] = (
        json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    )
    for name in PROMPTS:
        prompt = PROMPTS.get(name)
        text = Request(prompt.render(VALUES)).text + "\n"
        (GOLDEN / f"{name}.txt").write_text(text, encoding="utf-8")
        versions.setdefault(name, {}).setdefault(str(prompt.version), prompt.hash)
    path.write_text(json.dumps(versions, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
