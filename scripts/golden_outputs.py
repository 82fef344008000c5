"""Keep what the commands write, in every format, and compare it with what another commit writes.

Usage: python -m scripts.golden_outputs make FOLDER [--part PART ...] [--data FOLDER]
       python -m scripts.golden_outputs compare OLD NEW [--part PART ...]

For changes that must not change any output: `make` a folder outside the repository before and after, then
`compare`, which exits with 1 if files differ. Every command runs in a process and a folder of its own. Its
folder in the output has stdout, stderr with the exit code, and the files that it wrote, without compression.

======== ===============================================================================================
help     the help of every command and of every kind of its work
small    small files of every format, by the commands that read them, with manifests
examples the examples of all help texts, with the demo collection; only the model `fake` in place of real ones
demo     studies of the demo collection, graded by lexical and by e5
data     third-party data, of the folder --data
large    evaluation of a graded file of the size of TREC DL 2020
======== ===============================================================================================
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import chdir
from functools import partial
from importlib import import_module
from itertools import islice, takewhile
from multiprocessing import get_context
from pathlib import Path
from pkgutil import walk_packages
from typing import NamedTuple

import click

import exam_pp
from exam_pp import provenance
from exam_pp.cli.main import cli, main
from scripts.bench import make_graded
from scripts.command_tree import commands, kinds_of
from scripts.reliability.good_files import TARGETS, lay_out
from tests.cli.test_help_examples import EXAMPLES
from tests.example_files import ExampleFiles

REPOSITORY = Path(__file__).resolve().parents[1]
LEAVES = commands(cli)

_LINKS = {
    "dl19.jsonl.gz": "dl19-gpt4/dl19-graded.jsonl.gz",
    "questions.jsonl.gz": "dl19-gpt4/dl19-gpt4-questions.jsonl.gz",
    "runs": "dl19-gpt4/runs",
    "t5.jsonl.gz": "llmjudge-dev/flan-t5-large-graded.jsonl.gz",
    "dl20": "dl20",
    "assignments.jsonl": "rag24/assignments.command-r-plus.jsonl",
    "games.csv": "ragelo/pairwise_answers_evaluations.csv",
    "rag.csv": "open-rag-eval/csv_results.csv",
}
"""Short names of third-party files."""
_BANK = "--bank questions.jsonl.gz"
_UNCERTAIN = "--intervals queries --significance"
_TWO = "two-models.jsonl.gz --bank questions.jsonl --prompt self-rated --grader google/flan-t5-large"
_MORE_EXAMPLES = f"""
analyze correlation cover.tsv --by measure --official official.json
evaluate cover two-models.jsonl.gz --prompt self-rated --prompt extract --grader google/flan-t5-large
evaluate cover graded.jsonl.gz --bank questions.jsonl --soft
evaluate cover graded-canaries.jsonl.gz --canaries
evaluate cover graded.jsonl.gz --cutoff 1 --plot cover.svg
evaluate nuggets assigned.jsonl.gz --bank nuggets.jsonl {_UNCERTAIN} --plot length=length.svg
evaluate nuggets assigned.jsonl.gz --bank nuggets.jsonl --system gen-long --per-query
evaluate nuggets assigned.jsonl.gz --bank nuggets.jsonl --system gen-long
grade 1.gz --bank questions.jsonl --model lexical --prompt self-rated --again 10
verify grading {_TWO} --system bm25
verify grid {_TWO} --query 007
verify uncovered {_TWO} --limit 1
verify spurious {_TWO} --min-judgment 3 -S often=1
verify disagreements {_TWO} --min-grade 3
verify unparsed {_TWO}
"""
_SETUP = f"""
evaluate judgments dl19.jsonl.gz --runs runs --format official -o ranks.json
convert dl19.jsonl.gz --to qrels -o qrels.txt
query dl19.jsonl.gz "select passage_id as id, passage_text as text from passages" -o texts.jsonl
import --from nuggetizer-assignments assignments.jsonl -o rag.jsonl.gz --also bank=nuggets.jsonl
convert dl19.jsonl.gz --to run -o judged-runs
sample-pairs dl19.jsonl.gz {_BANK} --count 300 -o pairs.json
filter dl19.jsonl.gz --rename grader=gpt-4=human:ann -o people.jsonl.gz
merge dl19.jsonl.gz people.jsonl.gz -o labelled.jsonl.gz
sample-pairs t5.jsonl.gz --grades type=direct --count 300 -o t5-pairs.json
"""
_DATA = f"""
evaluate cover dl19.jsonl.gz {_BANK}
evaluate cover dl19.jsonl.gz --min-grade 3 --min-grade 4 --official ranks.json {_UNCERTAIN}
evaluate cover dl19.jsonl.gz --cutoff 10 --per-query
evaluate cover dl19.jsonl.gz --min-grade 4 --missing-queries skip --grades choice=first --official ranks.json
evaluate qrels dl19.jsonl.gz {_BANK} -o rubric.qrels
evaluate qrels dl19.jsonl.gz --runs runs -m nDCG@10 -m P@10 --official ranks.json {_UNCERTAIN}
evaluate qrels dl19.jsonl.gz -m RR --min-grade 3 --min-grade 4 --per-query
evaluate qrels t5.jsonl.gz --prompt NuggetSelfRatedPrompt --label count --grades choice=first --min-grade 1
evaluate judgments dl19.jsonl.gz --runs runs -m nDCG@10 -m AP {_UNCERTAIN}
evaluate nuggets rag.jsonl.gz --bank nuggets.jsonl
evaluate nuggets rag.jsonl.gz --bank nuggets.jsonl --per-query
evaluate nuggets rag.jsonl.gz --bank nuggets.jsonl --canaries {_UNCERTAIN}
evaluate nuggets rag.jsonl.gz --bank nuggets.jsonl --missing-queries skip
evaluate report dl19.jsonl.gz {_BANK} --runs runs --official ranks.json -o report
evaluate report t5.jsonl.gz -o report
evaluate report rag.jsonl.gz --bank nuggets.jsonl -o report
evaluate corrected labelled.jsonl.gz {_BANK} --pairs pairs.json --reviewer human:ann
evaluate corrected t5.jsonl.gz --pairs t5-pairs.json --reviewer judgments -m label-mean
evaluate elo dl19.jsonl.gz {_BANK} --cutoff 5
evaluate elo games.csv
evaluate rag rag.csv --model fake -o rag
verify grading dl19.jsonl.gz {_BANK} --min-grade 3 --limit 3
verify grid dl19.jsonl.gz {_BANK} --limit 5
verify uncovered dl19.jsonl.gz {_BANK} --min-judgment 2
verify spurious dl19.jsonl.gz {_BANK}
verify disagreements dl19.jsonl.gz {_BANK} --limit 10
verify unparsed dl19.jsonl.gz {_BANK}
bank clinic dl19.jsonl.gz {_BANK}
analyze agreement t5.jsonl.gz --prompt NuggetSelfRatedPrompt
analyze graders t5.jsonl.gz
analyze sweep dl19.jsonl.gz --runs runs --official ranks.json
analyze correlation dl20/dl20-qrels.csv --official dl20/official_DL20_Leaderboard.json
run --runs judged-runs --texts texts.jsonl {_BANK} --qrels qrels.txt --top 5 --model lexical -o study
run --passages dl19.jsonl.gz {_BANK} -o study
"""
_RATED = f"--prompt {make_graded.SETS[0][0]}"
_LARGE = (
    *(f"evaluate cover graded.jsonl.gz {_RATED} --format {form}" for form in ("tsv", "json")),
    *(f"evaluate qrels graded.jsonl.gz {_RATED} -m nDCG@10 --format {form}" for form in ("tsv", "json")),
    f"evaluate qrels graded.jsonl.gz {_RATED}",
    *(f"evaluate nuggets assigned.jsonl --bank nuggets.jsonl --cutoff 20 --format {form}"
      for form in ("tsv", "json")),
)  # fmt: skip


class Part(NamedTuple):
    """Commands, and a function that writes their input files into a folder."""

    lay_out: Callable[[Path], object]
    commands: list[str]


def leaf_of(command: str) -> str:
    """The path of the command in a command line."""
    return max((path for path in LEAVES if f"{command} ".startswith(f"{path} ")), key=len)


def in_formats(command: str) -> Iterator[str]:
    """The command line, and the same with each format, and to standard output."""
    yield command
    for option in LEAVES[leaf_of(command)].params:
        if "--format" in option.opts and isinstance(option.type, click.Choice):
            plain = re.sub(r" --format \S+", "", command)
            yield re.sub(r" -o \S+", "", plain)
            yield from (f"{plain} --format {form}" for form in option.type.choices)


def helps() -> Iterator[str]:
    """The command lines of all help texts."""
    for path, command in LEAVES.items():
        yield from (f"{path} --help", f"{path} --help-all")
        for kind in kinds_of(command):
            yield f"{path} {_chooser(command)}{kind} --help"


def _chooser(command: click.Command) -> str:
    """The option, if any, that chooses the kind of work."""
    found = next(each for each in command.params if each.name == getattr(command, "chosen_by", ""))
    return f"{found.opts[0]} " if isinstance(found, click.Option) else ""


def _examples() -> Iterator[str]:
    """The examples of all help texts and further ones, without models that are not in the environment."""
    for line in [*EXAMPLES, *_MORE_EXAMPLES.strip().splitlines()]:
        words = " ".join(line.removeprefix("exam-pp ").split())
        if words.startswith("run --runs"):
            words += " --model lexical"
        if "$(" not in words and not words.startswith("grade --plan"):  # which measures the time
            yield re.sub(r"--model (google/\S+|gpt-4o --model-pipeline openai)", "--model fake", words)


def _lay_out_examples(folder: Path) -> None:
    folder.rmdir()
    os.environ["EXAM_PP_MANIFEST"] = "1"
    with tempfile.TemporaryDirectory() as made:
        ExampleFiles(Path(made), REPOSITORY / "data").copy("\n".join(_examples()), folder)


def _lay_out_data(data: Path, folder: Path) -> None:
    for name, source in _LINKS.items():
        (folder / name).symlink_to(data / source)
    with chdir(folder):
        for line in _SETUP.strip().splitlines():
            main(["-q", *shlex.split(line)])


def _lay_out_demo(folder: Path) -> None:
    shutil.copytree(REPOSITORY / "data" / "demo", folder, dirs_exist_ok=True)


def _lay_out_large(folder: Path) -> None:
    bank = folder / "bank.jsonl"
    make_graded.generate(folder / "graded.jsonl.gz", 1, bank=bank)
    lines = [json.loads(line) for line in bank.read_text().splitlines()]
    for line in lines:
        nuggets = [item for item in line["items"] if "nugget_id" in item]
        line["items"] = [item | {"importance": ("vital", "okay")[n % 2]} for n, item in enumerate(nuggets)]
    (folder / "nuggets.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    text = gzip.decompress((folder / "graded.jsonl.gz").read_bytes())
    text = re.sub(rb'"self_rating": [3-5]', b'"self_rating": 2', text)
    text = text.replace(make_graded.SETS[2][0].encode(), b"NuggetAssignmentPointwise")
    (folder / "assigned.jsonl").write_bytes(text)


def parts(data: Path) -> dict[str, Part]:
    """All parts by name."""
    small = [target.command.format(target.file) for target in TARGETS]
    formats = [each for line in small for each in in_formats(line)]
    return {
        "help": Part(Path.exists, list(helps())),
        "small": Part(lay_out, [*(f"--manifest {line}" for line in small), *formats]),
        "examples": Part(_lay_out_examples, [each for line in _examples() for each in in_formats(line)]),
        "demo": Part(
            _lay_out_demo,
            ["run study.toml -o study --model lexical", "run study.toml -o study --model e5 --top 1"],
        ),
        "data": Part(
            partial(_lay_out_data, data),
            [each for line in _DATA.strip().splitlines() for each in in_formats(line)],
        ),
        "large": Part(_lay_out_large, list(_LARGE)),
    }


def uncovered(lines: list[str]) -> list[str]:
    """The commands, and kinds of their work, that no command line runs."""
    ran = [(leaf_of(line), line.split()) for line in lines]
    return [
        f"{path} {kind}".strip()
        for path, command in LEAVES.items()
        for kind in kinds_of(command) or [""]
        if not any(leaf == path and (not kind or kind in words) for leaf, words in ran)
    ]


def _in_process(work: Callable[[], object]) -> int | None:
    """The exit code of a process that does this work."""
    process = get_context("fork").Process(target=work)
    process.start()
    process.join()
    return process.exitcode


def _run(command: str, folder: Path, to: Path) -> None:
    """Run a command in a folder, with its output in the files stdout and stderr."""
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        with (to / name).open("wb") as file:
            os.dup2(file.fileno(), descriptor)
    os.chdir(folder)
    main(shlex.split(command))


def _keep(file: Path, kept: Path, folder: Path) -> None:
    """Write the content of a file, without what differs from run to run."""
    content = file.read_bytes()
    if file.suffix == ".gz":
        content, kept = gzip.decompress(content), kept.with_suffix("")
    content = content.replace(str(folder).encode(), b"FOLDER")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(re.sub(rb"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", b"TIME", content))


def keep_outputs(command: str, inputs: Path, kept: Path) -> None:
    """Run a command in a copy of the inputs; keep what it wrote."""
    with tempfile.TemporaryDirectory() as name:
        folder, streams = Path(name, "work"), Path(name, "streams")
        shutil.copytree(inputs, folder, symlinks=True)
        streams.mkdir()
        code = _in_process(partial(_run, command, folder, streams))
        with (streams / "stderr").open("a") as file:
            file.write(f"exit code {code}\n")
        for path in (each for each in folder.rglob("*") if each.is_file()):
            before = inputs / path.relative_to(folder)
            if not before.exists() or before.stat().st_mtime_ns != path.stat().st_mtime_ns:
                _keep(path, kept / path.relative_to(folder), folder)
        for path in streams.iterdir():
            _keep(path, kept / path.name, folder)


def make(output: Path, names: list[str], data: Path) -> None:
    """Write the outputs of these parts into new folders."""
    for name in [name for name in os.environ if name.startswith("EXAM_PP_")]:
        del os.environ[name]
    os.environ |= {"COLUMNS": "100", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    provenance.VERSION = "VERSION"
    for module in walk_packages(exam_pp.__path__, "exam_pp."):  # once, not in every process
        if not module.name.endswith("__main__"):
            import_module(module.name)
    every = parts(data)
    for name in names:
        started, part = time.monotonic(), every[name]
        with tempfile.TemporaryDirectory() as inputs:
            if _in_process(partial(part.lay_out, Path(inputs))):
                sys.exit(f"{name}: the inputs could not be made.")
            for command in dict.fromkeys(part.commands):
                kept = output / name / re.sub(r"[^\w.=,:@+-]+", "_", command).strip("_-")[:250]
                if kept.exists():
                    sys.exit(f"{kept} exists.")
                kept.mkdir(parents=True)
                keep_outputs(command, Path(inputs), kept)
        files, seconds = len(_files(output / name)), time.monotonic() - started
        print(f"{name}: {len(part.commands)} commands, {files} files, {seconds:.0f} s", flush=True)


def _difference(old: str, new: str) -> Iterator[str]:
    """The first lines of a difference; long lines of JSON and HTML are divided."""
    before, after = (text.replace(", ", ",\n").replace("><", ">\n<").splitlines() for text in (old, new))
    same = sum(takewhile(bool, map(str.__eq__, before, after)))
    window = slice(max(0, same - 2), same + 200)
    lines = difflib.unified_diff(before[window], after[window], n=2, lineterm="")
    yield from (f"    {line[:200]}" for line in islice(lines, 3, 15))


def compare(old: Path, new: Path, names: Collection[str]) -> Iterator[str]:
    """The differences between the files of these parts in two folders."""
    for name in sorted(_files(old) | _files(new)):
        if name.parts[0] not in names:
            continue
        if not (new / name).exists() or not (old / name).exists():
            yield f"{'new' if (new / name).exists() else 'missing'}: {name}"
        elif (before := (old / name).read_bytes()) != (after := (new / name).read_bytes()):
            yield f"differs: {name}"
            yield from _difference(before.decode(errors="replace"), after.decode(errors="replace"))


def _files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def run() -> None:
    """Make, or compare."""
    names = list(parts(Path()))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=["make", "compare"])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--part", action="append", choices=names, help="may be repeated; default: all")
    parser.add_argument("--data", type=Path, default=REPOSITORY.parent / "shared" / "data")
    options = parser.parse_args()
    chosen = options.part or names
    if options.action == "make":
        make(options.folders[0], chosen, options.data.resolve())
    else:
        old, new = options.folders
        differences = list(compare(old, new, chosen))
        print("\n".join(differences))
        sys.exit(bool(differences))


if __name__ == "__main__":
    run()
