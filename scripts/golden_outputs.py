"""Keep what every command writes, in every format, and compare it with what another commit writes.

Usage: python -m scripts.golden_outputs make FOLDER [--part PART ...] [--data FOLDER]
       python -m scripts.golden_outputs compare OLD NEW [--part PART ...]

For changes that must not change any output: `make` a folder outside the repository before and after them,
then `compare`, which exits with 1 if files differ. Every command runs in a process of its own, in a copy of
its inputs. What is kept is stdout, stderr with the exit code, and the files that it wrote, uncompressed.

======== ===============================================================================================
help     the help of every command and of every kind of its work
small    small files of every format, by the commands that read them, with manifests
examples the examples of all help texts and more, on the demo collection, with the model `fake` for others
demo     studies of the demo collection, graded by lexical and by e5
data     data that others published, from the folder --data
large    evaluation of a graded file of the size of TREC DL 2020
======== ===============================================================================================
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib import import_module
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from pkgutil import walk_packages
from unittest.mock import patch

import click

import exam_pp
from exam_pp import provenance
from exam_pp.cli.command import Command, LazyGroup
from exam_pp.cli.main import cli, main
from scripts.bench import make_graded
from scripts.command_tree import command_tree, is_here
from scripts.reliability import good_files
from tests.cli.test_help_examples import COMMANDS, EXAMPLES
from tests.conftest import REPOSITORY, SHARED
from tests.example_files import ExampleFiles

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
evaluate rubric assigned.jsonl.gz --bank nuggets.jsonl -m W -m Rubric
grade 1.gz --bank questions.jsonl --model lexical --prompt self-rated --again 10
serve nowhere
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
_LARGE = f"""
evaluate cover graded.jsonl.gz {_RATED} --format tsv
evaluate cover graded.jsonl.gz {_RATED} --format json
evaluate qrels graded.jsonl.gz {_RATED}
evaluate qrels graded.jsonl.gz {_RATED} -m nDCG@10 --format tsv
evaluate qrels graded.jsonl.gz {_RATED} -m nDCG@10 --format json
evaluate nuggets assigned.jsonl.gz --bank nuggets.jsonl --cutoff 20 --format tsv
evaluate nuggets assigned.jsonl.gz --bank nuggets.jsonl --cutoff 20 --format json
"""


def leaf_of(line: str) -> str:
    """The path of the command in a command line, by its own name."""
    for path, group in command_tree(cli):
        for other, name in group.other_names.items() if isinstance(group, LazyGroup) else ():
            line = re.sub(rf"^{path} {other}\b", f"{path} {name}", line)
    return max((path for path in COMMANDS if f"{line} ".startswith(f"{path} ")), key=len)


def _in_formats(lines: list[str]) -> Iterator[str]:
    """The command lines, and the same in each format, and with standard output."""
    for line in filter(is_here, lines):
        yield line
        for option in COMMANDS[leaf_of(line)].params:
            if "--format" in option.opts and isinstance(option.type, click.Choice):
                plain = re.sub(r" --format \S+", "", line)
                yield re.sub(r" -o \S+", "", plain)
                yield from (f"{plain} --format {form}" for form in option.type.choices)


def _helps() -> Iterator[str]:
    for path, command in COMMANDS.items():
        yield from (f"{path} --help", f"{path} --help-all")
        if isinstance(command, Command):
            for kind in command.kinds:
                yield from (f"{path} {kind} --help", f"{path} --{command.chosen_by} {kind} --help")


def _examples() -> Iterator[str]:
    # `serve` ends with Ctrl-C only.
    of_help = [example for example, path in EXAMPLES.items() if path != "serve"]
    for example in [*of_help, *filter(is_here, _MORE_EXAMPLES.splitlines()[1:])]:
        line = " ".join(example.removeprefix("exam-pp ").split())
        if "$(" not in line and not line.startswith("grade --plan"):  # which measures the time
            line += " --model lexical" * line.startswith("run --runs")
            yield re.sub(r"--model (google/\S+|gpt-4o --model-pipeline openai)", "--model fake", line)


def _lay_out_examples(folder: Path) -> None:
    os.environ["EXAM_PP_MANIFEST"] = "1"  # for `show manifest`
    with tempfile.TemporaryDirectory() as made:
        ExampleFiles(Path(made), REPOSITORY / "data").copy("\n".join(_examples()), folder)


def _lay_out_data(data: Path, folder: Path) -> None:
    folder.mkdir()
    os.chdir(folder)
    for name, source in _LINKS.items():
        Path(name).symlink_to(data / source)
    for line in filter(is_here, _SETUP.splitlines()[1:]):
        main(["-q", *shlex.split(line)])


def _lay_out_large(folder: Path) -> None:
    folder.mkdir()
    make_graded.generate(folder / "graded.jsonl.gz", 1)
    labels = [("NuggetAssignmentPointwise", "nugget", True)]
    with patch.multiple(make_graded, ENTRIES={"nugget": 10}, SETS=labels):
        make_graded.generate(folder / "assigned.jsonl.gz", 1, bank=folder / "nuggets.jsonl")


def parts(data: Path) -> dict[str, tuple[Callable[[Path], object], list[str]]]:
    """The name of a part to a function that makes a folder with the inputs, and command lines."""
    small = [target.command.format(target.file) for target in good_files.targets()]
    with_manifests = [f"--manifest {line}" for line in small]
    demo = partial(shutil.copytree, REPOSITORY / "data" / "demo")
    studies = [f"run study.toml -o study --model {judge}" for judge in ("lexical", "e5 --top 1")]
    return {
        "help": (Path.mkdir, [*_helps()]),
        "small": (good_files.lay_out, [*with_manifests, *_in_formats(small)]),
        "examples": (_lay_out_examples, [*_in_formats([*_examples()])]),
        "demo": (demo, studies),
        "data": (partial(_lay_out_data, data), [*_in_formats([*filter(is_here, _DATA.splitlines()[1:])])]),
        "large": (_lay_out_large, _LARGE.splitlines()[1:]),
    }


def _in_process(work: Callable[[], object]) -> int | None:
    """The exit code of a process that does this work."""
    process = get_context("fork").Process(target=work)
    process.start()
    process.join()
    return process.exitcode


def _run(line: str, folder: Path) -> None:
    """Run a command in a folder, with its output in the files stdout and stderr."""
    os.chdir(folder)
    out, errors = Path("stdout"), Path("stderr")
    with (
        out.open("w") as stdout,
        errors.open("w") as stderr,
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        main(shlex.split(line))


def keep(line: str, inputs: Path, kept: Path) -> None:
    """Run a command in a copy of the inputs; keep what it wrote, without what differs from run to run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "work")
        shutil.copytree(inputs, folder, symlinks=True)
        code = _in_process(partial(_run, line, folder))
        with (folder / "stderr").open("a") as errors:
            errors.write(f"exit code {code}\n")
        for file in (path for path in folder.rglob("*") if path.is_file()):
            before, to = (each / file.relative_to(folder) for each in (inputs, kept))
            if before.exists() and before.stat().st_mtime_ns == file.stat().st_mtime_ns:
                continue
            content = b"" if file.suffix == ".duckdb" else file.read_bytes()  # which contains random bytes
            content = gzip.decompress(content) if file.suffix == ".gz" else content
            content = content.replace(str(folder).encode(), b"FOLDER")
            to.parent.mkdir(parents=True, exist_ok=True)
            content = re.sub(rb"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", b"TIME", content)
            to.write_bytes(re.sub(rb"(?m)^TIME .*, \d+\.\d/s.*\n", b"", content))  # progress


def make(output: Path, names: list[str], data: Path) -> None:
    """Write the outputs of these parts into new folders."""
    os.environ |= {"COLUMNS": "100", "CUDA_VISIBLE_DEVICES": "", "EXAM_PP_MANIFEST": "0"}
    provenance.VERSION = "VERSION"
    for module in walk_packages(exam_pp.__path__, "exam_pp."):  # once, not in every process
        if not module.name.endswith("__main__"):
            import_module(module.name)
    every = parts(data)
    for name in names:
        lay_out, lines = every[name]
        with tempfile.TemporaryDirectory() as folder:
            inputs = Path(folder, "inputs")
            if _in_process(partial(lay_out, inputs)):
                sys.exit(f"{name}: the inputs could not be made.")
            for line in dict.fromkeys(lines):
                kept = output / name / re.sub(r"[^\w.=,:@+-]+", "_", line).strip("_-")[:250]
                kept.mkdir(parents=True)
                keep(line, inputs, kept)
        print(f"{name}: {len(list((output / name).iterdir()))} commands", flush=True)


def compare(old: Path, new: Path) -> Iterator[str]:
    """The files that differ in two folders, with the first lines of the difference."""
    before, after = (
        {path.relative_to(folder.parent): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (old, new)
    )
    for file in sorted({*before, *after}):
        if file not in before or file not in after:
            yield f"{'new' if file in after else 'missing'}: {file}"
        elif before[file] != after[file]:
            yield f"differs: {file}"
            yield from _difference(before[file], after[file])


def _difference(before: bytes, after: bytes) -> Iterator[str]:
    """The first lines of a difference; long lines of JSON and HTML are divided."""
    old, new = (
        re.sub("(?<=,) |(?<=>)(?=<)", "\n", text.decode(errors="replace")).splitlines()
        for text in (before, after)
    )
    lines = difflib.unified_diff(old, new, n=1, lineterm="")
    yield from (f"    {line[:200]}" for line in islice(lines, 3, 15))


def run() -> None:
    """Make, or compare."""
    names = list(parts(Path()))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("action", choices=["make", "compare"])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--part", nargs="+", choices=names, default=names)
    parser.add_argument("--data", type=Path, default=SHARED / "data")
    options = parser.parse_args()
    if options.action == "make":
        make(options.folders[0], options.part, options.data.resolve())
    else:
        old, new = options.folders
        differences = [line for name in options.part for line in compare(old / name, new / name)]
        print("\n".join(differences))
        sys.exit(bool(differences))


if __name__ == "__main__":
    run()
