"""Reading passage texts: two formats, many key names, and errors."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from exam_pp.store.trec.texts import ID_KEYS, TEXT_KEYS, read_texts
from tests.conftest import data_error


@pytest.fixture
def texts_file(tmp_path: Path) -> Path:
    return tmp_path / "texts"


def test_tsv_keeps_only_selected_ids(texts_file: Path) -> None:
    texts_file.write_bytes(
        b"\xef\xbb\xbf007\tFirst.\r\ndoc#2/a\tTwo\twith a tab \xe2\x80\x94 kept.\r\n\r\nx\tOther.\r\n"
    )
    assert read_texts(texts_file, {"007", "doc#2/a", "absent"}) == {
        "007": "First.",
        "doc#2/a": "Two\twith a tab — kept.",
    }


@pytest.mark.parametrize("id_key", ID_KEYS)
@pytest.mark.parametrize("text_key", TEXT_KEYS)
def test_json_lines_under_every_name(texts_file: Path, id_key: str, text_key: str) -> None:
    line = {id_key: "d1", "title": "T", text_key: "Words é 😀.", "more": {"deep": [1]}}
    texts_file.write_bytes(gzip.compress(json.dumps(line).encode()))
    assert read_texts(texts_file, {"d1"}) == {"d1": "Words é 😀."}


def test_white_space_around_an_id_is_removed_but_texts_stay_as_they_are(texts_file: Path) -> None:
    texts_file.write_bytes(b"a \t First. \n b\tSecond.\t\r\nc\t\n")
    texts = {"a": " First. ", "b": "Second.\t", "c": ""}
    assert read_texts(texts_file, texts) == texts
    texts_file.write_text(json.dumps({"id": "a", "text": " First.\n"}))
    assert read_texts(texts_file, texts) == {"a": " First.\n"}


@pytest.mark.parametrize(
    ("content", "passage_id", "text"),
    [
        ('{"id": 17, "contents": "Seventeen."}\n', "17", "Seventeen."),
        (
            '{"pid": "p_0", "passage": "V2.", "spans": "(0,10)", "docid": "d_0"}\n',
            "p_0",
            "V2.",
        ),
        ("a\tSame.\na\tSame.\n", "a", "Same."),
        ('{"id": "a", "text": "x \\ud83d y"}\n', "a", "x ? y"),
    ],
    ids=["number as id", "pid", "equal lines", "lone surrogate"],
)
def test_unusual_texts(texts_file: Path, content: str, passage_id: str, text: str) -> None:
    texts_file.write_text(content)
    assert read_texts(texts_file, {passage_id}) == {passage_id: text}


def test_an_empty_text_is_kept_and_logged(texts_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts_file.write_text('{"id": "a", "text": " "}\n')
    assert read_texts(texts_file, {"a"}) == {"a": " "}
    texts_file.write_text("a\t\nb\tText.\n")
    assert read_texts(texts_file, {"a", "b"}) == {"a": "", "b": "Text."}
    assert [" empty" in message for message in caplog.messages] == [True, True]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        # BEIR; titles of passages that are not selected do not count.
        ('{"_id": "a", "title": "A", "text": "x"}\n{"_id": "b", "title": "", "text": "y"}\n{"_id": "c", '
         '"title": "C", "text": "z"}\n', "titles of 1 passage"),
        # MS MARCO documents: id, address, title, body.
        ("a\thttps://x\tA\tx\nb\thttps://x\t\ty\nc\tz\n", "2 texts contain tabs"),
        ('{"_id": "a", "title": ["odd"], "text": "x"}\n', "titles of 1 passage"),
    ],
)  # fmt: skip
def test_titles_and_further_columns_are_logged(
    texts_file: Path, caplog: pytest.LogCaptureFixture, content: str, message: str
) -> None:
    texts_file.write_text(content)
    assert "x" in read_texts(texts_file, {"a", "b"})["a"]
    assert [message in text for text in caplog.messages] == [True]


@pytest.mark.parametrize(
    ("content", "line", "about"),
    [
        (b"", None, "no passage texts"),
        (b"a\tText.\nno tab here\n", 2, "no tab"),
        (b"a\tText.\n\tb\tText.\n", 2, "no passage id"),
        (b"a\tOne.\na\tTwo.\n", 2, "'a'"),
        (b"a\t\xff\n", 1, "UTF-8"),
        (b'{"id": "a", "text": "One."}\n{"id": "a"', 2, "delimiter"),
        (b'{"key": "a", "text": "One."}', 1, "paragraph_id"),
        (b'{"id": "a", "body": "One."}', 1, "text, "),
        (b'{"id": "a", "text": ["One."]}', 1, "`array`"),
        (gzip.compress(b"a\tText.\n" * 5000, mtime=0)[:-9], None, "gzip"),
    ],
)
def test_broken_files(texts_file: Path, content: bytes, line: int | None, about: str) -> None:
    texts_file.write_bytes(content)
    with data_error(texts_file, line, about=about):
        read_texts(texts_file, {"a"})
