"""The bundled grader's tokenizer: long published prompts become a few tokens, and any text can be read.

* The normalizer replaces each published instruction block by one private-use character and ``Context:`` by
  another, so a rating prompt reads ``<rate> question <context> passage``. Unknown instructions fall back to
  the mark whose kind of answer they seem to ask for.
* Words are cut greedily into the longest known pieces (stems before endings), so inflected forms of a word
  share their first piece, which is what makes matching by equal pieces robust.
* The alphabet is the 256 bytes, so no text is unknown; digits stand alone.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from . import words as w

PAD, EOS, UNK = "<pad>", "</s>", "<unk>"
UNANSWERABLE = "Ġunanswerable"
RATE_QUESTION, RATE_NUGGET, ANSWER, EXTRACT, YES_NO, RATE_THREE, VERIFY = (chr(0xE001 + i) for i in range(7))
CONTEXT, GOLD = chr(0xE010), chr(0xE011)
GLUE = chr(
    0xE020
)  # stands where a word follows punctuation without a space, so that every word can start alike
MARKS = (RATE_QUESTION, RATE_NUGGET, ANSWER, EXTRACT, YES_NO, RATE_THREE, VERIFY, CONTEXT, GOLD)
ASSIGN, NOT_SUPPORT, PARTIAL_SUPPORT, SUPPORT = (chr(0xE008 + i) for i in range(4))
LABELS = {"not_support": NOT_SUPPORT, "partial_support": PARTIAL_SUPPORT, "support": SUPPORT}
LATER_MARKS = {ASSIGN: RATE_NUGGET, NOT_SUPPORT: " 0", PARTIAL_SUPPORT: " 3", SUPPORT: " 5"}
"""Marks that came later, and labels as marks: whole replies, so that they are not spelled piece by piece.

Their pieces stand last, so that older checkpoints can be continued, and start as the piece named here.
"""

_ASK = r"(?:question|query|key fact|nugget):"
_NOT_MARKED = rf"(?im)\A(?![{MARKS[0]}-{GOLD}])"
INSTRUCTIONS: tuple[tuple[str, str], ...] = (
    (r"(?im)\A\s*can the question be answered based on the available context\?.*?question:", RATE_QUESTION),
    (r"(?im)\A\s*given the context, evaluate the coverage.*?key fact:", RATE_NUGGET),
    (r"(?im)\A\s*provide a complete and concise answer to the question.*?question:", ANSWER),
    (r"(?im)\A\s*extract the passage from the text that best relates.*?key fact:", EXTRACT),
    (r"(?im)\A\s*(?:instruction:\s*)?you are a search quality rater.*?question:", RATE_THREE),
    (r"(?im)\A\s*based on the query and passage, label the nugget\b.*?search query:.*?nugget:", ASSIGN),
    *((rf"\A\s*{label}\s*\z", mark) for label, mark in LABELS.items()),
    (r"(?im)\A\s*for the question\b(?=.*an equally correct response to this question)", VERIFY),
    # the few-shot prompts: everything up to the last worked example is instruction
    (rf"(?im)\A\s*instruction:.*answer:\s*(?:yes|no)\b.?\s*{_ASK}", YES_NO),
    (rf"{_NOT_MARKED}(?=.*\byes\b.{{0,20}}\bno\b.*?{_ASK}).*?{_ASK}", YES_NO),
    (rf"{_NOT_MARKED}(?=.*\b(?:rate|rating|scale|score|evaluate)\b.*?{_ASK}).*?{_ASK}", RATE_QUESTION),
    (rf"{_NOT_MARKED}.*?(?:key fact|nugget):", EXTRACT),
    (rf"{_NOT_MARKED}.*?(?:question|query):", ANSWER),
)
SEPARATORS: tuple[tuple[str, str], ...] = (
    (r"(?m)[.,]?\s+Is(?=\s.{1,600}an equally correct response to this question)", CONTEXT),
    (r"(?im),?\s*the correct answer is(?=\s.{0,900}an equally correct response to this question)", GOLD),
    (r"(?im)\s*an equally correct response to this question\?\s*answer yes or no\.?\s*\z", ""),
    (r"\s*\b(?:Context|Passage):", CONTEXT),
    (r"\s*\b(?:Answer|Label):\s*\z", ""),
    # no zero-width patterns: the tokenizers library misaligns texts after them
    *((rf"{re.escape(char)}(?=\p{{L}})", f"{char}{GLUE} ") for char in '-"([{/.,:;&+*=#@_|>“—–‘'),
    (r"\s+", " "),
)

_STEM = re.compile(r"(?:ations?|ings?|ed|es|s|ly|al|ions?|ers?|e|y)$")


def stem(word: str) -> str:
    """A crude stem: strips one common ending. Only has to be the same for forms of one word."""
    if len(word) <= 3 or not word.isalpha():
        return word
    if len(word) == 4:
        return word.removesuffix("s")
    short = _STEM.sub("", re.sub(r"(?:ies|ied)$", "y", word)).removesuffix("e")
    return short if len(short) >= 3 else word


@dataclass(frozen=True)
class Vocabulary:
    """Pieces in id order, with what is known about them when the embeddings are made."""

    pieces: list[str]
    base: list[str]  # pieces with the same base share a content vector
    cased: list[bool]


def _frequent_parts(known: list[str], first: int, inner: int) -> tuple[list[str], list[str]]:
    """The word beginnings and the inner parts that save most letters over the word lists."""
    heads: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for word in known:
        heads.update(word[:n] for n in range(2, min(6, len(word))))
        parts.update(word[i : i + n] for i in range(1, len(word)) for n in range(2, 5) if i + n <= len(word))
    heads = Counter({k: v * (len(k) - 1) for k, v in heads.items() if v > 1})
    parts = Counter({k: v * (len(k) - 1) for k, v in parts.items() if v > 1})
    return _most_common(heads, first), _most_common(parts, inner)


def _most_common(counts: Counter[str], number: int) -> list[str]:
    """The keys of the highest counts; equal counts in alphabetical order."""
    return sorted(counts, key=lambda key: (-counts[key], key))[:number]


def spelled(text: str) -> str:
    """The text as ByteLevel spells it."""
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)[0][0]


def build_vocabulary(first: int = 900, inner: int = 800) -> Vocabulary:
    """All pieces: marks, bytes, listed words and stems (each also capitalised), frequent word parts."""
    listed = w.words(" ".join((w.FUNCTION, w.GENERIC, w.COMMON, w.TOPICAL)))
    heads, parts = _frequent_parts(listed, first, inner)
    starts = dict.fromkeys(
        [*listed, *(stem(x) for x in listed), *w.words(w.PREFIXES), *w.words(w.ROOTS), *heads]
    )
    inners = dict.fromkeys([*w.words(w.SUFFIXES), *w.words(w.ROOTS), *parts])
    pieces = [PAD, EOS, UNK, *map(spelled, MARKS), UNANSWERABLE, spelled(GLUE)]
    base, cased = list(pieces), [False] * len(pieces)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    for char in alphabet:
        for piece in (char, "Ġ" + char):
            pieces.append(piece)
            base.append(piece.lower())
            cased.append(piece != piece.lower() and char.isascii())
    for start in starts:
        if len(start) > 1:
            pieces += ["Ġ" + start, "Ġ" + start.capitalize()]
            base += ["Ġ" + stem(start)] * 2
            cased += [False, True]
    for part in inners:
        if len(part) > 1:
            pieces.append(part)
            base.append(part)
            cased.append(False)
    pieces += map(spelled, LATER_MARKS)
    base += map(spelled, LATER_MARKS)
    cased += [False] * len(LATER_MARKS)
    return Vocabulary(pieces, base, cased)


def build_tokenizer(vocabulary: Vocabulary) -> PreTrainedTokenizerFast:
    """The complete tokenizer; its JSON holds the normalizer, so it loads without any code of ours."""
    ids = {piece: i for i, piece in enumerate(vocabulary.pieces)}
    model = models.WordPiece(
        vocab=ids, unk_token=UNK, continuing_subword_prefix="", max_input_chars_per_word=400
    )
    tokenizer = Tokenizer(model)
    # (a text that already starts with a mark, as in training)
    steps = [normalizers.Replace(Regex(rf"\A\s+(?=[{MARKS[0]}-{GOLD}])"), "")]
    steps += [normalizers.Replace(Regex(pattern), mark) for pattern, mark in INSTRUCTIONS + SEPARATORS]
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(" "), *steps])
    marks = "[" + "".join((*MARKS, *LATER_MARKS, GLUE)) + "]"
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(marks), "isolated"),
            pre_tokenizers.Split(Regex(r" ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]| "), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.ByteLevel(),
            decoders.Replace(GLUE + " ", ""),
            decoders.Replace(GLUE, ""),
            *(decoders.Replace(mark, label) for label, mark in LABELS.items()),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {EOS}", special_tokens=[(EOS, ids[EOS])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=EOS, unk_token=UNK,
        model_max_length=512, clean_up_tokenization_spaces=False,
    )  # fmt: skip
