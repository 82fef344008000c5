"""Tokenizer of the bundled grader, which turns the instructions of published prompts into single tokens.

* The normalizer replaces each published instruction by a private-use character (a mark), and ``Context:`` by
  another, so that a rating prompt becomes ``<rate> question <context> passage``. Unknown instructions get the
  mark of the kind of answer that they seem to request.
* Words are split greedily into the longest known pieces (stems before endings). Inflected forms of a word
  therefore share their first piece, which makes matching by equal pieces robust.
* The alphabet is the 256 bytes, so that every text can be encoded; each digit is a token.
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
)  # inserted between punctuation and a word without space, so that all words start the same way
MARKS = (RATE_QUESTION, RATE_NUGGET, ANSWER, EXTRACT, YES_NO, RATE_THREE, VERIFY, CONTEXT, GOLD)
ASSIGN, NOT_SUPPORT, PARTIAL_SUPPORT, SUPPORT = (chr(0xE008 + i) for i in range(4))
LABELS = {"not_support": NOT_SUPPORT, "partial_support": PARTIAL_SUPPORT, "support": SUPPORT}
LATER_MARKS = {ASSIGN: RATE_NUGGET, NOT_SUPPORT: " 0", PARTIAL_SUPPORT: " 3", SUPPORT: " 5"}
"""Marks that were added later, and assignment labels, which are complete replies of one token.

Their pieces are last, so that older checkpoints can be trained further; they are initialised like the pieces
given here.
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
    # few-shot prompts: the instruction includes the examples
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
    # no zero-width patterns, because the tokenizers library misaligns texts after them
    *((rf"{re.escape(char)}(?=\p{{L}})", f"{char}{GLUE} ") for char in '-"([{/.,:;&+*=#@_|>“—–‘'),
    (r"\s+", " "),
)

_STEM = re.compile(r"(?:ations?|ings?|ed|es|s|ly|al|ions?|ers?|e|y)$")


def stem(word: str) -> str:
    """A simple stem without a common ending; equal for most forms of a word."""
    if len(word) <= 3 or not word.isalpha():
        return word
    if len(word) == 4:
        return word.removesuffix("s")
    short = _STEM.sub("", re.sub(r"(?:ies|ied)$", "y", word)).removesuffix("e")
    return short if len(short) >= 3 else word


@dataclass(frozen=True)
class Vocabulary:
    """Pieces in the order of their ids, with data to initialise their embeddings."""

    pieces: list[str]
    base: list[str]  # pieces with the same base share a content vector
    cased: list[bool]


def _frequent_parts(known: list[str], first: int, inner: int) -> tuple[list[str], list[str]]:
    """The word beginnings and inner parts that save most letters on the word lists."""
    heads: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for word in known:
        heads.update(word[:n] for n in range(2, min(6, len(word))))
        parts.update(word[i : i + n] for i in range(1, len(word)) for n in range(2, 5) if i + n <= len(word))
    heads = Counter({k: v * (len(k) - 1) for k, v in heads.items() if v > 1})
    parts = Counter({k: v * (len(k) - 1) for k, v in parts.items() if v > 1})
    return _most_common(heads, first), _most_common(parts, inner)


def _most_common(counts: Counter[str], number: int) -> list[str]:
    """The keys with the highest counts; ties in alphabetical order."""
    return sorted(counts, key=lambda key: (-counts[key], key))[:number]


def spelled(text: str) -> str:
    """The text in the spelling of ByteLevel."""
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
    """The complete tokenizer; its JSON contains the normalizer, so that it loads without this code."""
    ids = {piece: i for i, piece in enumerate(vocabulary.pieces)}
    model = models.WordPiece(
        vocab=ids, unk_token=UNK, continuing_subword_prefix="", max_input_chars_per_word=400
    )
    tokenizer = Tokenizer(model)
    # Training texts already start with a mark.
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
