"""Reading files with gzip and line numbers, and atomic outputs."""

from __future__ import annotations

import bz2
import errno
import fcntl
import gzip
import io
import lzma
import os
import signal
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import CorruptFileError, DataError, OutputError
from exam_pp.store import files
from exam_pp.store.files import (
    atomic_output,
    check_output,
    folder_output,
    read_bytes,
    read_lines,
    read_text,
    read_text_lines,
    safe_name,
    work_folder,
    write_text,
)
from exam_pp.store.inputs import reading
from exam_pp.store.locks import (
    create_part,
    create_work_folder,
    lock_path,
    signals_held,
    temporary_folder,
)
from tests.conftest import data_error


class Standard:
    """A replacement of sys.stdin or sys.stdout with a binary buffer."""

    def __init__(self, content: bytes = b"") -> None:
        self.buffer: Any = io.BufferedReader(io.BytesIO(content)) if content else io.BytesIO()


class Terminal(io.BytesIO):
    """A binary stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def many_lines(tmp_path: Path) -> Path:
    """A gzip that is larger than any read buffer."""
    path = tmp_path / "many.jsonl.gz"
    with gzip.open(path, "wb") as stream:
        for number in range(20_000):
            stream.write(b'{"number": %d, "noise": "%s"}\n' % (number, os.urandom(40).hex().encode()))
    return path


@pytest.mark.parametrize("name", ["f.txt", "f.jsonl.gz", "f.gz.txt"])
@pytest.mark.parametrize("zipped", [False, True])
def test_gzip_is_detected_by_content(tmp_path: Path, name: str, zipped: bool) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a\nb\n") if zipped else b"a\nb\n")
    assert list(read_lines(path)) == [(1, b"a"), (2, b"b")]


def test_bom_line_ends_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"\xef\xbb\xbfa\r\n\r\n  \nb")
    assert list(read_lines(path)) == [(1, b"a"), (4, b"b")]
    assert list(read_text_lines(path)) == [(1, "a"), (4, "b")]


@given(
    st.lists(st.integers(0, 40).map(lambda length: b"x" * length), max_size=12),
    st.sampled_from([b"", b"\n"]),
    st.booleans(),
    st.integers(1, 25),
)
def test_lines_are_joined_from_pieces(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], end: bytes, zipped: bool, piece: int
) -> None:
    data = b"\n".join(lines) + end
    path = tmp_path_factory.getbasetemp() / "pieces"
    path.write_bytes(gzip.compress(data) if zipped else data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "PIECE", piece)
        numbered = list(read_lines(path))
    assert numbered == [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line]


@pytest.mark.parametrize("ending", [b"", b"\n", b"\nb\n"])
def test_a_line_that_is_too_long(ending: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_PP_MAX_LINE_MB", "1")
    (tmp_path / "f").write_bytes(b"a\n" + b"x" * 2**20 + ending)
    assert [len(line) for _, line in read_lines(tmp_path / "f")][:2] == [1, 2**20]
    (tmp_path / "f").write_bytes(b"a\n" + b"x" * (2**20 + 1) + ending)
    with data_error(tmp_path / "f", 2, about="1 MB"):
        list(read_lines(tmp_path / "f"))


def test_control_characters_reach_files_and_pipes_but_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a\x1b[2J\tä\u202e\n\x9b1m"
    out = Standard()
    monkeypatch.setattr("sys.stdout", out)
    write_text("-", text)
    assert out.buffer.getvalue() == text.encode()
    out.buffer = Terminal()
    with atomic_output("-") as stream:
        for byte in text.encode():  # parts of characters
            stream.write(bytes([byte]))
            stream.flush()
    assert out.buffer.getvalue().decode() == "a\ufffd[2J\tä\ufffd\n\ufffd1m"


def test_truncated_gzip_names_the_last_good_line(many_lines: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.gz"
    whole = many_lines.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    read: list[tuple[int, bytes]] = []
    with pytest.raises(CorruptFileError) as caught:
        read.extend(read_lines(cut))
    last, line = read[-1]
    assert line.endswith(b"}"), "never half a line"
    assert 0 < last < 20_000
    assert caught.value.file == str(cut)
    assert f"line {last}." in caught.value.problem


def test_a_gzip_without_its_last_bytes(tmp_path: Path) -> None:
    """All lines are complete, but the eight bytes of checksum and length are missing."""
    path = tmp_path / "f.gz"
    path.write_bytes(gzip.compress(b"a\nb\n")[:-8])
    with pytest.raises(CorruptFileError):
        list(read_lines(path))


def test_corrupt_gzip(many_lines: Path) -> None:
    content = bytearray(many_lines.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 200] = bytes(200)
    many_lines.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"gzip .*line \d+"):
        list(read_lines(many_lines))


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\n\xff\xfe\n")
    with data_error(tmp_path / "f", 2, about="UTF-8"):
        list(read_text_lines(tmp_path / "f"))


@pytest.mark.parametrize(
    ("content", "advice"),
    [
        (bz2.compress(b"a\n"), "bzip2 -d"),
        (lzma.compress(b"a\n"), "xz"),
        (b"\x28\xb5\x2f\xfd\x04\x58\x11", "zstd"),
        (b"PK\x03\x04\x14", " zip "),
        ("a\n".encode("utf-16"), "iconv -f UTF-16 -t UTF-8"),
        (b"\xfe\xff" + "a\n".encode("utf-16-be"), "UTF-16"),
    ],
)
@pytest.mark.parametrize("read", [lambda path: list(read_lines(path)), read_bytes])
def test_other_compressed_formats_are_errors(
    tmp_path: Path, content: bytes, advice: str, read: Callable[[Path], object]
) -> None:
    (tmp_path / "f").write_bytes(content)
    with data_error(tmp_path / "f", about=advice):
        read(tmp_path / "f")


def test_after_an_error_no_file_is_left(tmp_path: Path) -> None:
    old = tmp_path / "old.txt"
    old.write_text("old")

    def fail(path: Path) -> None:
        with atomic_output(path) as stream:
            stream.write(b"half of it")
            raise RuntimeError

    for path in (old, tmp_path / "new.jsonl.gz"):
        with pytest.raises(RuntimeError):
            fail(path)
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]
    assert old.read_text() == "old"


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    """The gzip has no file name and time stamp."""
    for name in ("a.gz", "b.gz"):
        with atomic_output(tmp_path / name) as stream:
            stream.write(b"content\n")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    header = (tmp_path / "a.gz").read_bytes()[:10]
    assert header[3:8] == bytes(5), "no flag, so no name, and the time 0"
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"content\n"


def test_the_output_is_never_an_input(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text("content")
    link = tmp_path / "link.jsonl"
    link.symlink_to(source)
    for output in (source, link, tmp_path / "." / "in.jsonl"):
        with pytest.raises(OutputError, match=r"\.jsonl is .* input\b.* -o"):
            write_text(output, "new", inputs=["-", source])
    assert source.read_text() == "content"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        pytest.param(".", "{0} is a folder", id="a folder"),
        pytest.param("none/f", "folder {0}/none .*exist", id="no folder"),
        pytest.param("link.txt", "folder {0}/none .*exist", id="a dangling link"),
        pytest.param("n" * 300, "nnn .*: File name too long", id="a long name"),
    ],
)
def test_unwritable_outputs(output: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to(tmp_path / "none" / "target.txt")
    with pytest.raises(OutputError, match=message.format(tmp_path)):
        check_output(tmp_path / output)


def test_a_folder_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(OutputError, match=f"permission .* {tmp_path}"):
        check_output(tmp_path / "f")


def test_a_full_disk_is_an_output_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match=r"/f .*: No space left on device"):
        write_text(tmp_path / "f", "text")
    assert list(tmp_path.iterdir()) == []


def test_links_and_permissions_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    (tmp_path / "link.txt").symlink_to(target)
    write_text(tmp_path / "link.txt", "old")
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask
    for mode in (0o600, 0o664, 0o666):
        target.chmod(mode)
        write_text(tmp_path / "link.txt", f"new {mode}")
        assert (tmp_path / "link.txt").is_symlink()
        assert target.read_text() == f"new {mode}"
        assert target.stat().st_mode & 0o777 == mode


def test_write_protected_files_are_kept(tmp_path: Path) -> None:
    """Also for the superuser, who could write to the file."""
    target = tmp_path / "target.txt"
    write_text(target, "old")
    target.chmod(0o444)
    with pytest.raises(OutputError, match=f"{target} .*protected"):
        write_text(target, "new")
    assert target.read_text() == "old"


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no /dev/null")
def test_devices_are_written_and_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path == Path("/dev/null"))
    write_text("/dev/null", "text")
    assert Path("/dev/null").is_char_device()


def leave_temporary_files(target: Path) -> tuple[Path, Path]:
    """The temporary file and the work folder that a killed writer leaves, with their locks."""
    lock_path(target).touch()
    lock_path(target, "work").touch()
    part, stream = create_part(target)
    stream.write(b"half of it")
    stream.close()
    folder = create_work_folder(target)
    (folder / "table").write_text("half")
    return part, folder


def test_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    """A work folder of this process is not a leftover."""
    for name in ("out.jsonl", "n" * 250):
        target = tmp_path / name
        leave_temporary_files(target)
        with work_folder(target) as folder:
            write_text(target, "whole")
            assert folder.is_dir()
        assert [path.name for path in tmp_path.iterdir()] == [name]
        assert target.read_text() == "whole"
        target.unlink()


def test_the_lock_of_a_process_that_was_killed_after_its_last_step_is_removed(tmp_path: Path) -> None:
    fill(tmp_path / "out", {"a": "first"})
    lock_path(tmp_path / "out", "work").touch()
    fill(tmp_path / "out", {"b": "second"})
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "out"]


def test_only_own_temporary_files_are_removed(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    linked, _ = leave_temporary_files(target)
    (tmp_path / "link").hardlink_to(linked)
    rescued, folder = leave_temporary_files(target)
    of_other, _ = leave_temporary_files(tmp_path / "other.jsonl")
    foreign = [tmp_path / ".out.jsonl.part", tmp_path / ".out.jsonl.0123456789abcdef.part"]
    for path in foreign:
        path.write_text("precious")
    inputs = [rescued, folder / "table"]
    with work_folder(target, inputs):
        write_text(target, "whole", inputs=inputs)
    assert all(path.exists() for path in (linked, rescued, folder / "table", of_other, *foreign, target))


def test_a_lock_with_content_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    lock_path(target).write_text("precious")
    write_text(target, "whole")
    assert lock_path(target).read_text() == "precious"
    with pytest.raises(OutputError, match=r"needs the lock .*input"):
        write_text(target, "whole", inputs=[lock_path(target)])
    lock_path(target).unlink()
    os.mkfifo(lock_path(target))
    with pytest.raises(OutputError, match="is not a file"):
        write_text(target, "whole")


def test_one_process_writes_an_output_at_a_time(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    with atomic_output(target) as stream:
        stream.write(b"first")
        with pytest.raises(OutputError, match=r"out\.jsonl .*another process"):
            write_text(target, "second")
    assert target.read_bytes() == b"first"
    write_text(target, "third")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_writer_that_ends_between_opening_and_locking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, times = fcntl.flock, iter(range(9))

    def late(stream: Any, operation: int) -> None:
        lock(stream, operation)
        if next(times) == 0:
            lock_path(tmp_path / "f").unlink()  # as the other writer does at the end

    monkeypatch.setattr(fcntl, "flock", late)
    write_text(tmp_path / "f", "text")
    assert (tmp_path / "f").read_text() == "text"
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


def test_the_file_and_then_its_folder_are_synchronised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = []
    monkeypatch.setattr(os, "fsync", lambda handle: kinds.append(stat.S_IFMT(os.fstat(handle).st_mode)))
    write_text(tmp_path / "f", "text")
    assert kinds == [stat.S_IFREG, stat.S_IFDIR]


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_arguments: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    write_text(tmp_path / "out.jsonl", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_a_planted_symlink_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    lock_path(tmp_path / "out.jsonl").symlink_to(victim)
    with pytest.raises(OutputError, match=r"out\.jsonl .*written"):
        write_text(tmp_path / "out.jsonl", "text")
    assert victim.read_text() == "precious"


def test_a_link_to_itself_is_an_error(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OutputError, match=rf"{link} cannot be written: .* link to itself"):
        write_text(link, "text")
    with pytest.raises(OutputError, match=rf"{link} cannot be created: .* link to itself"):
        fill(link, {"a": ""})


def test_the_inputs_of_a_command_are_never_outputs(tmp_path: Path) -> None:
    source, link, hard = tmp_path / "in", tmp_path / "link", tmp_path / "hard"
    source.write_text("precious")
    link.symlink_to(source)
    hard.hardlink_to(source)
    with reading([source]):
        for output in (source, link, hard):
            with pytest.raises(OutputError, match="input"):
                write_text(output, "new")
        with pytest.raises(OutputError, match="input"):
            fill(tmp_path, {"in": "new"}, [source])
    with reading():
        assert read_text(source) == "precious"
        with pytest.raises(OutputError, match="input"):
            write_text(hard, "new")
    assert source.read_text() == "precious"


def test_standard_output_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by ``>> input`` in a shell."""
    (tmp_path / "in").write_text("precious")
    with (tmp_path / "in").open("a") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        with pytest.raises(OutputError, match=r"^Standard output is also an input"):
            write_text("-", "text", inputs=[tmp_path / "in"])
        write_text("-", "text", inputs=[tmp_path])


def test_a_file_that_changes_between_two_readings_is_an_error(tmp_path: Path) -> None:
    source, other = tmp_path / "in", tmp_path / "other"
    for text in ("same size", "SAME SIZE"):
        source.write_text("same size")
        with reading():
            assert read_text(source) == "same size"
            assert list(read_lines(source))
            other.write_text(text)
            other.replace(source)
            with data_error(source, about="was replaced or changed while"):
                read_text(source)
        assert read_text(source) == text


def test_signals_wait_for_the_end_of_a_step() -> None:
    steps = []

    def work() -> None:
        with signals_held():
            signal.raise_signal(signal.SIGINT)
            steps.append("second step")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["second step"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("call", ["os.mkdir", "os.unlink", "os.rmdir"])
def test_a_signal_leaves_no_temporary_folder(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    original = getattr(os, call.partition(".")[2])

    def interrupted(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(call, interrupted)
    with pytest.raises(KeyboardInterrupt), temporary_folder() as folder:
        (folder / "file").write_text("text")
    assert not list(tmp_path.iterdir())


def test_standard_output_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr("sys.stdout", full)
        with pytest.raises(OutputError, match=r"^Standard output .*: No space left on device"):
            write_text("-", "text")
        with suppress(OSError):
            full.close()


def bomb(path: Path, megabytes: int) -> Path:
    with gzip.open(path, "wb") as stream:
        for _ in range(megabytes):
            stream.write(bytes(2**20))
    return path


@pytest.mark.parametrize("read", [lambda path: list(read_lines(path)), read_text])
def test_zip_bombs_are_refused(read: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bomb(tmp_path / "bomb.gz", 80)
    with data_error(path, about="EXAM_PP_MAX_RATIO"):
        read(path)
    monkeypatch.setenv("EXAM_PP_MAX_RATIO", "2000")
    read(path)
    monkeypatch.setenv("EXAM_PP_MAX_LINE_MB", "64")
    with pytest.raises(DataError, match=r"bomb\.gz(, line 1)?: .*64 MB.* EXAM_PP_MAX_LINE_MB"):
        read(path)


def test_invalid_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_PP_MAX_LINE_MB", "many")
    with pytest.raises(DataError, match=r"EXAM_PP_MAX_LINE_MB.*'many'"):
        list(read_lines(bomb(tmp_path / "f", 1)))


@given(st.text(min_size=0, max_size=40))
def test_safe_names_stay_in_their_folder(identifier: str) -> None:
    name = safe_name(identifier)
    assert not set(name) & set('/\\\0 :*?"<>|')
    assert not name.startswith(".")
    assert name
    assert unquote(name) == (identifier or "%")


def fill(target: Path, files: dict[str, str], inputs: Sequence[Path] = ()) -> None:
    with folder_output(target, inputs) as work:
        for name, text in files.items():
            (work / name).write_text(text)
            assert not (target / name).exists() or inputs
        if not files:
            raise ZeroDivisionError


def test_a_folder_output_is_atomic(tmp_path: Path) -> None:
    target = tmp_path / "new" / "out"
    with pytest.raises(ZeroDivisionError):
        fill(target, {})
    assert not list(tmp_path.iterdir())
    fill(target, {"a": "half"})
    (target / "a").chmod(0o600)
    fill(target, {"a": "whole"}, [tmp_path])
    assert (target / "a").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutputError, match=f"{target}/a .*input"):
        fill(target, {"0": "before a", "a": "another"}, [target / "a"])
    assert [(path.name, path.read_text()) for path in target.iterdir()] == [("a", "whole")]
    with pytest.raises(OutputError, match=f"{target}/a .*created"):
        fill(target / "a", {"b": ""})
    with pytest.raises(OutputError, match=f"{target}/a is a file"):
        check_output(target / "a" / "b")


def test_errors_in_a_folder_output_name_the_final_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out"
    expected = f"{target}/a is odd"
    with pytest.raises(OutputError, match=expected), folder_output(target) as work:
        raise OutputError(f"{work}/a is odd.")

    def full(_self: Path, _place: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OutputError, match=f"{target} .*: No space left"):
        fill(target, {"a": "x"})
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(Path, "replace", full)
    target.mkdir()
    with pytest.raises(OutputError, match=f"{target}/a .*: No space left"):
        fill(target, {"a": "x"})
    assert not list(target.iterdir())


def test_a_new_folder_and_its_parent_are_synchronised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    new = tmp_path / "new"
    fill(new / "out", {"a": "x"})
    inodes = [path.stat().st_ino for path in (tmp_path, new, new / "out", new / "out" / "a")]
    assert set(inodes) <= set(synced)
    assert synced[-2:] == [inodes[1], inodes[0]], "after the rename"


def test_a_link_in_an_output_folder_to_another_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    replace = Path.replace

    def of_one_system(self: Path, place: Path) -> Path:
        if elsewhere in place.parents and elsewhere not in self.parents:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return replace(self, place)

    monkeypatch.setattr(Path, "replace", of_one_system)
    for folder in (target, elsewhere):
        folder.mkdir()
    (target / "a").symlink_to(elsewhere / "a")
    for text in ("first", "second"):
        fill(target, {"a": text}, [tmp_path])
        assert (elsewhere / "a").read_text() == text
    assert (target / "a").is_symlink()
    assert [path.name for path in elsewhere.iterdir()] == ["a"]
