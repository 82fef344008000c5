"""Keys of what a rating is about: digests of texts as people read them, which no id or position changes.

A rating has the key ``ENTRY:PASSAGE``, of :func:`entry_key` and :func:`passage_key`. It counts for every pair
with this key, also of another system, in another file or after a change of ids.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from unicodedata import normalize

from exam_pp.banks import Entry, QueryBank, TestBank
from exam_pp.phases.review.rating_scale import rating_scale
from exam_pp.prompts import Prompt


def passage_key(query_text: str, text: str) -> str:
    """The key of a text as it is shown for a query; of an answer rated as a whole, all of its parts."""
    return digest(query_text, digest(text))


def entry_key(query_text: str, entry: Entry | str, group: str, scale: str) -> str:
    """The key of an entry with the text of its facet and a :func:`scale_of`.

    An entry that no bank describes is shown by its id, which is then its text.
    """
    text, golds = (entry, None) if isinstance(entry, str) else (entry.text, entry.gold_answers)
    return digest(query_text, text, group, scale, *(["any answer"] if golds is None else golds))


def scale_of(prompt_class: str, prompt: Prompt | None) -> str:
    """What a reader is asked: the kind of the prompt, and the labels of its ratings.

    Grades of whole passages have the name of their prompt, which alone says what is asked; so have those of
    prompts that are not known.
    """
    if prompt is None or prompt.kind == "direct":
        return prompt_class if prompt is None else prompt.name
    return "/".join([prompt.kind, *(step.label for step in rating_scale(prompt))])


def entry_keys(
    query_id: str, query_text: str, bank: TestBank, entry_ids: Iterable[str], scale: str
) -> dict[str, str]:
    """Entry id to key, for these entries of a query."""
    known = bank.queries.get(query_id, QueryBank(query_id))
    return {
        key: entry_key(query_text, known.entries.get(key, key), known.groups.get(key, ""), scale)
        for key in entry_ids
    }


def query_text_of(query_id: str, of_file: str, bank: TestBank) -> str:
    """The text of a query as it is shown: that of the bank, else that of the file."""
    return bank.queries.get(query_id, QueryBank(query_id)).query_text or of_file


def digest(*texts: str) -> str:
    """A digest of texts, of 32 hex digits; the forms of Unicode and repeated blanks make no other one."""
    data = json.dumps([" ".join(normalize("NFC", text).split()) for text in texts], ensure_ascii=False)
    return hashlib.sha256(data.encode("utf-8", "surrogatepass")).hexdigest()[:32]
