"""Files that pages presume, and what people do between the commands of a page.

A page gets the files that it shows itself (see ``shown_files`` in ``pages.py``), and those of its Setup.
"""

from __future__ import annotations

import gzip
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_letters

from exam_pp.cli.main import main
from exam_pp.plugins.games.page import open_games
from exam_pp.plugins.trust.pair_sample_files import read_pair_sample
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import BankEdit, Edits, HumanRating, file_sha256, write_edits
from exam_pp.store.passages.graded_file import read_passages
from tests.car_collection import TITLES, outline, write_collection
from tests.docs.pages import Block, blocks, read, shown_files
from tests.example_files import ExampleFiles, write_games_of
from tests.llm.small_models import save_bert_classifier
from tests.nltk_data import write_nltk_data


@dataclass(frozen=True)
class Setup:
    """The preparation of a page.

    ``files`` are names of ``tests/example_files.py``; ``NAME=EXAMPLE`` copies an example to another name.
    ``before`` maps a part of a command to a function that is called before the block with this command.
    """

    files: str = ""
    prepare: Callable[[], None] = lambda: None
    before: Mapping[str, Callable[[], None]] = field(default_factory=dict)

    def act_before(self, block: Block) -> None:
        """Call the functions of the commands in a block."""
        for part, act in self.before.items():
            if part in block.text:
                act()


def prepare(page: str, text: str, examples: ExampleFiles) -> Setup:
    """Write the files that a page presumes into the working directory."""
    setup = SETUPS.get(page, Setup())
    for name in setup.files.split():
        target, _, source = name.partition("=")
        _copy(examples.path(source or target), Path(target))
    for name, content in shown_files(text):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")
    setup.prepare()
    return setup


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    elif target.suffix == ".gz" and source.suffix != ".gz":
        target.write_bytes(gzip.compress(source.read_bytes(), mtime=0))
    else:
        shutil.copy(source, target)


def edits_of(graded: str, bank: str) -> Callable[[], None]:
    """A reviewer rates two passages for the first bank entry of their query, and rewords the entry."""

    def write() -> None:
        query = next(read_passages(graded))
        entry = next(iter(read_bank(bank).entries(query.query_id)))
        rated = [
            HumanRating.model_validate(
                {"query_id": query.query_id, "passage_id": passage.passage_id, "id": entry, "rating": 1}
            )
            for passage in query.passages[:2]
        ]
        new = {"op": "reword", "query_id": query.query_id, "id": entry, "text": "What else is there to know?"}
        edits = Edits(
            format="exam_pp.edits.v1",
            graded_sha256=file_sha256(graded),
            bank_sha256=file_sha256(bank),
            reviewer="ana",
            ratings=rated,
            bank=[BankEdit.model_validate(new)],
        )
        write_edits(edits, "edits.json")

    return write


def copies(files: str) -> Callable[[], None]:
    """Files that were made once are copied again, after commands of the page have replaced them."""
    kept = [(Path(target), Path(source)) for target, source in (pair.split("=") for pair in files.split())]

    def copy() -> None:
        for target, source in kept:
            shutil.copy(source, target)

    return copy


def run(*lines: str) -> Callable[[], None]:
    """Commands of exam-pp that are not on the page."""

    def call() -> None:
        for line in lines:
            main(["-q", *shlex.split(line)])

    return call


def in_order(*steps: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        for step in steps:
            step()

    return call


def text(name: str, content: str) -> Callable[[], None]:
    def write() -> None:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")

    return write


def shown_toml(page: str, part: str, name: str) -> Callable[[], None]:
    """The block ``toml`` of a page that has a part, as a file."""
    (content,) = [
        block.text for block in blocks(page, read(page)) if block.language == "toml" and part in block.text
    ]
    return text(name, content)


def labels_of_citations() -> None:
    """A reviewer labels the first citation."""
    query = next(read_passages("citations.jsonl.gz"))
    label = next(
        {"query_id": query.query_id, "passage_id": passage.passage_id, "citation": citation}
        for passage in query.passages
        for entry in passage.rankings
        for citation in entry.citations or ()
    )
    values = {
        "format": "exam_pp.edits.v1",
        "reviewer": "ana",
        "graded_sha256": file_sha256("citations.jsonl.gz"),
        "supports": [{**label, "support": "full_support"}],
    }
    write_edits(Edits.model_validate(values), "edits.json")


def decisions(*files: str) -> Callable[[], None]:
    """People decide the first game of rag.jsonl.gz with the seed 20."""

    def write() -> None:
        query = next(read_passages("rag.jsonl.gz"))
        game = next(open_games(query, seed=20))
        for file in files:
            decided = {"query_id": query.query_id, "id": game.game_id, "winner": "A"}
            values = {
                "format": "exam_pp.edits.v1",
                "reviewer": Path(file).stem,
                "games": [decided],
            }
            write_edits(Edits.model_validate(values), file)

    return write


def encoder(folder: str, layers: int) -> Callable[[], None]:
    """A small encoder under the name of a large one."""
    texts = ["a b"] * 9 + list(ascii_letters)
    return lambda: save_bert_classifier(Path(folder), texts, ["no", "yes"], layers=layers)


def games(file: str, judge: str, of_queries: dict[str, list[str]]) -> Callable[[], None]:
    """Games as texts of two systems and the winner."""
    return lambda: write_games_of(Path(file), judge, of_queries)


def halves(source: str, first: str, second: str) -> Callable[[], None]:
    """Divide the lines of a file."""

    def divide() -> None:
        lines = Path(source).read_text(encoding="utf-8").splitlines(keepends=True)
        Path(first).write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
        Path(second).write_text("".join(lines[len(lines) // 2 :]), encoding="utf-8")

    return divide


def labels_of_pairs(name: str) -> Callable[[], None]:
    """A reviewer labels all pairs of pairs.json, which were drawn from graded.jsonl.gz."""

    def write() -> None:
        rated = [
            {"query_id": pair.query_id, "passage_id": pair.passage_id, "id": pair.entry_id, "rating": 4}
            for pair in read_pair_sample("pairs.json").pairs
        ]
        digest = file_sha256("graded.jsonl.gz")
        values = {
            "format": "exam_pp.edits.v1",
            "graded_sha256": digest,
            "reviewer": "ana",
            "ratings": rated,
        }
        write_edits(Edits.model_validate(values), name)

    return write


def trec_car() -> None:
    """The collection of ``tests/car_collection.py`` with outlines as CBOR, under the names of the page."""
    import cbor2

    shutil.rmtree("runs")
    write_collection(Path())
    shutil.move("texts.jsonl", "paragraphs.jsonl")
    shutil.move("qrels.txt", "benchmarkY3test.qrels")
    pages = b"".join(cbor2.dumps(outline(query_id)) for query_id in TITLES)
    header = cbor2.dumps(["CAR", [1, []], {}])
    Path("benchmarkY3test.cbor-outlines.cbor").write_bytes(header + b"\x9f" + pages + b"\xff")


GAMES = "qid,agent_a,agent_b,raw_answer,answer\n0,x,y,[[A]],A\n1,y,x,[[C]],C\n"
SQUAD = """{"version": "v2.0", "data": [{"title": "Tides", "paragraphs": [
{"context": "The Moon causes the tides.",
"qas": [{"id": "1", "question": "What causes tides?", "is_impossible": false,
"answers": [{"text": "The Moon", "answer_start": 0}]}]}]}]}"""
TQA = """[{"globalID": "L_1", "lessonName": "Tides", "questions": {"nonDiagramQuestions": {"NDQ_1": {
"beingAsked": {"processedText": "What causes the tides?"}, "correctAnswer": {"processedText": "a"},
"answerChoices": {"a": {"processedText": "the Moon"}}}}}}]"""
SEGMENTS = """{"query": {"qid": "007", "text": "What causes the tides?"}, "candidates": [
{"docid": "d1", "score": 2, "doc": {"contents": "The Moon causes the tides."}},
{"docid": "d2", "score": 1, "doc": {"contents": "Sea water is salty."}}]}""".replace("\n", "")
UMBRELA = "How well does the passage answer the query?\n{examples}\nQuery: {query}\nPassage: {passage}\n"
SCORES = "".join(
    f'{{"system": "rag-run-{run}", "query_id": "q1", "metric": "V", "value": {run / 2}}}\n' for run in (1, 2)
)
RATED = "--bank questions.jsonl --prompt QuestionSelfRatedUnanswerablePromptWithChoices"
SMALL = "all.jsonl.gz=passages.jsonl.gz questions.jsonl"
small_file = run(
    "sample all.jsonl.gz --max-queries 3 --max-passages 9 -o passages.jsonl.gz",
    f"grade passages.jsonl.gz -o graded.jsonl.gz {RATED} --model google/flan-t5-large",
)
SETUPS = {
    "docs/how-to/answers.md": Setup(
        "rag.csv=repeated.csv",
        prepare=in_order(
            encoder("FacebookAI/xlm-roberta-large", layers=24),
            text("scores.jsonl", SCORES),
        ),
        before={"apply citations.jsonl.gz": labels_of_citations},
    ),
    "docs/how-to/autojudge.md": Setup(prepare=lambda: write_nltk_data(Path.home() / "nltk_data")),
    "docs/how-to/evaluation.md": Setup(
        "labelled.jsonl.gz bank.jsonl=questions.jsonl questions.jsonl nuggets.jsonl runs answers.jsonl.gz"
        " queries.jsonl official.json cover.tsv ndcg.tsv graded.jsonl.gz",
        prepare=run(
            "grade graded.jsonl.gz -o both.jsonl.gz --bank nuggets.jsonl --model lexical"
            " --prompt NuggetSelfRatedPrompt",
        ),
        before={
            "--prompt nugget-self-rated": copies("graded.jsonl.gz=both.jsonl.gz"),
        },
    ),
    "docs/how-to/import.md": Setup(
        "runs passages.tsv rag.run=runs/dense-large.run rag.jsonl=answers.jsonl nuggets.jsonl graded.jsonl.gz"
        " answers-2024.jsonl=answers.jsonl mine.csv=repeated.csv documents.csv",
        prepare=in_order(
            text("queries.tsv", "q1\tWhat are tides?\n"),
            text("chat.csv", "number,reply\nq1,The Moon causes the tides.\n"),
            text("reasonings.csv", "qid,did,raw_answer,answer\n0,0,It is very relevant.,very relevant\n"),
            text("results.csv", "query_id,query,generation_score_mean\nq1,What are tides?,0.5\n"),
            text("pairwise_answers_evaluations.csv", GAMES),
        ),
        before={
            "paragraphs.jsonl": trec_car,
            "--passages passages.jsonl.gz --system": run(
                "import --runs data/demo/runs --texts data/demo/passages.tsv --top 5 -o passages.jsonl.gz"
            ),
        },
    ),
    "docs/how-to/models.md": Setup(
        f"{SMALL} queries.jsonl",
        prepare=in_order(
            small_file,
            run("convert queries.jsonl -o queries.tsv --to queries-tsv"),
            shown_toml("docs/how-to/models.md", 'model = "smollm2"', "panel.toml"),
        ),
    ),
    "docs/how-to/nuggets.md": Setup(
        "queries.jsonl runs human.qrels=qrels.txt run-a.jsonl=answers.jsonl run-b.jsonl=answers-2.jsonl"
        " judged.jsonl.gz=labelled.jsonl.gz demo.jsonl.gz=passages.jsonl.gz",
        prepare=in_order(
            text("retrieved.jsonl", SEGMENTS),
            text("types.tsv", "run-a\trag\nrun-b\trag\n"),
            text("umbrela/prompts/qrel_fewshot_bing.txt", UMBRELA),
            text("umbrela-modified.txt", UMBRELA.replace("{examples}", "")),
            shown_toml("docs/how-to/nuggets.md", '"UMBRELA"', "umbrela.toml"),
            shown_toml("docs/how-to/nuggets.md", '"UMBRELA-modified"', "umbrela-modified.toml"),
        ),
        before={
            "-o umbrela.qrels": copies("labelled.jsonl.gz=judged.jsonl.gz"),
            "nuggetize passages.jsonl.gz": copies("passages.jsonl.gz=demo.jsonl.gz"),
            "nuggetize edited.jsonl": copies("edited.jsonl=draft.jsonl"),
            "--from nuggetizer-assignments manual.jsonl --name human:nist": run(
                "convert assigned.jsonl.gz --to nuggetizer-assignments --bank nuggets.jsonl.gz "
                "-o manual.jsonl"
            ),
            "--bank auto.jsonl --bank edited.jsonl": in_order(
                run("convert nuggets.jsonl.gz -o auto.jsonl --to bank"),
                copies("edited.jsonl=auto.jsonl"),
                run(
                    "filter assigned.jsonl.gz --rename grader=Qwen/Qwen2.5-7B-Instruct=human:nist "
                    "-o manual.jsonl.gz"
                ),
            ),
        },
    ),
    "docs/how-to/tournaments.md": Setup(
        "queries.jsonl answers.jsonl answers-2.jsonl questions.jsonl"
        " nuggets.jsonl families.toml ndcg.tsv qrels.txt runs runs/dense.run=runs/dense-large.run"
        " graded.jsonl.gz"
        " assigned.jsonl.gz users.jsonl=queries.jsonl labelled.jsonl.gz texts.tsv=passages.tsv",
        prepare=in_order(
            text("pairwise_answers_evaluations.csv", GAMES),
            text("third.csv", "qid,agent,answer\n007,third,Another answer.\n"),
            text("three.csv", "qid,agent,answer\nq1,bm25,Yes.\nq1,rag,No.\nq2,bm25,Yes.\nq2,rag,No.\n"),
            text("ann.csv", "query_id,system,accuracy\n007,gen-long,2\n007,gen-short,1\n"),
            run(
                "import --answers answers.jsonl --answers answers-2.jsonl --unit whole -o rag.jsonl.gz",
                "import --answers third.csv --unit whole -o third.jsonl.gz",
                "import --answers three.csv --unit whole -o passages.jsonl.gz",
                "merge rag.jsonl.gz third.jsonl.gz -o more-answers.jsonl.gz",
            ),
            games("shard-1.games.jsonl.gz", "mistral", {"q1": ["bm25 rag A"]}),
            games("shard-2.games.jsonl.gz", "mistral", {"q2": ["bm25 rag B"]}),
            halves("texts.tsv", "documents.tsv", "more-documents.tsv"),
        ),
        before={
            "apply answers.jsonl.gz": in_order(
                run(
                    "grade answers.jsonl.gz --queries queries.jsonl --prompt RAGEloCriteria "
                    "--model gpt-4o --model-pipeline openai -o by-gpt.jsonl.gz"
                ),
                copies("answers.jsonl.gz=by-gpt.jsonl.gz"),
            ),
            "human-games.jsonl.gz": run(
                "filter games.jsonl.gz --rename grader=gpt-4o=human:ann -o human-games.jsonl.gz"
            ),
            "--system RAGF": in_order(
                run(
                    "filter rated.jsonl.gz --rename system=gen-long=RAG --rename system=gen-short=RAGF "
                    "-o renamed.jsonl.gz"
                ),
                copies("rated.jsonl.gz=renamed.jsonl.gz"),
            ),
            "edits.json --seed 20": decisions("edits.json"),
            "ana.json bo.json": decisions("ana.json", "bo.json"),
            "--pool gpt-4.jsonl": copies("documents.tsv=more-documents.tsv"),
            "-m 'RR(rel=1)@5'": copies("graded.jsonl.gz=labelled.jsonl.gz"),
        },
    ),
    "docs/how-to/trust.md": Setup(
        f"{SMALL} families.toml games.jsonl.gz baseline.tsv new.tsv",
        prepare=in_order(
            small_file,
            run(
                "sample-pairs graded.jsonl.gz --bank questions.jsonl --count 1000 --by entry --cutoff 3"
                " -o pairs.json",
                "grade graded.jsonl.gz -o panel.jsonl.gz --bank questions.jsonl --prompt self-rated"
                " --model lexical",
            ),
            labels_of_pairs("edits.json"),
        ),
    ),
    "docs/how-to/verification.md": Setup(
        "graded.jsonl.gz nuggets.jsonl answers.jsonl.gz citations.jsonl.gz",
        before={
            "apply graded.jsonl.gz": edits_of("graded.jsonl.gz", "data/demo/questions.jsonl"),
            "apply answers.jsonl.gz": edits_of("answers.jsonl.gz", "nuggets.jsonl"),
        },
    ),
    "docs/reference/data-model.md": Setup(
        "graded.jsonl.gz a.jsonl.gz=graded.jsonl.gz two.jsonl.gz=two-models.jsonl.gz questions.jsonl runs"
        " qrels.txt edits.json official.json answers.jsonl.gz queries.jsonl pool.jsonl.gz=passages.jsonl.gz",
        prepare=run(
            "filter two.jsonl.gz --rename grader=google/flan-t5-base=/checkpoints/17 -o b.jsonl.gz",
            "convert queries.jsonl -o queries.tsv --to queries-tsv",
            "compare answers.jsonl.gz --queries queries.jsonl --model fake -o all.games.jsonl.gz",
            "sample pool.jsonl.gz --max-queries 3 --max-passages 9 -o passages.jsonl.gz",
        ),
    ),
    "docs/reference/prompts.md": Setup(prepare=in_order(text("dev.json", SQUAD), text("lessons.json", TQA))),
    "docs/start/gpu-server.md": Setup(
        "questions.jsonl",
        before={
            "merge part-*": run(
                *(
                    f"grade passages.jsonl.gz -o part-{n}.jsonl.gz {RATED} --model lexical --shard {n}/2"
                    for n in (1, 2)
                )
            )
        },
    ),
}
"""Page to its preparation; other pages need none."""
