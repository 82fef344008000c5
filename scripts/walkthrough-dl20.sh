#!/usr/bin/env bash
# All phases of the workbench paper's walk-through: generates the test banks, grades, verifies and evaluates.
# Writes every file of its Table 3 with the same names, and its Table 4.
#
#   scripts/walkthrough-dl20.sh QUERIES PASSAGES RUNS OFFICIAL FOLDER
#
# QUERIES is a file of query texts, PASSAGES a passages file of `exam-pp import`, RUNS a folder of run files.
# OFFICIAL is a JSON dictionary of systems and ranks, or "judgments" to rank the runs by nDCG@10 on the manual
# judgments in PASSAGES.
#
#   WALKTHROUGH_MODEL=google/flan-t5-large        model that grades
#   WALKTHROUGH_MODEL_OPTIONS=                    its options, such as "--device cuda"
#   WALKTHROUGH_GENERATOR=gpt-3.5-turbo-instruct  model that writes test banks and answers
#   WALKTHROUGH_GENERATOR_OPTIONS="--model-pipeline openai-completions"
#   WALKTHROUGH_STYLES="wikipedia web direct"     styles of its answers, which become systems; empty for none
#   WALKTHROUGH_MIN_GRADES="3 4 5"                lowest grades that cover an entry; the others use 4
#   WALKTHROUGH_MIN_JUDGMENT=2                    lowest judgment of a relevant passage (TREC DL: 2)
#   WALKTHROUGH_PREFIX=dl20                       prefix of the file names
#   EXAM_PP_PYTHON=python                         interpreter (default: the environment of scripts/test)
#
# Files of the phases 1 and 2 that are in FOLDER are kept, so that a stopped script continues. To use a test
# bank or a graded file of your own, put it there under its name, such as dl20-questions.jsonl.gz.

set -euo pipefail
if [[ $# -ne 5 ]]; then
    echo "usage: $0 QUERIES PASSAGES RUNS OFFICIAL FOLDER" >&2
    exit 2
fi
queries=$(realpath "$1") passages=$(realpath "$2") runs=$(realpath "$3") official=$4
[[ $official == judgments ]] || official=$(realpath "$official")
mkdir -p "$5"
folder=$(realpath "$5")

if [[ -z "${EXAM_PP_PYTHON:-}" ]]; then
    source "$(dirname "${BASH_SOURCE[0]}")/_environment.sh" dev
    EXAM_PP_PYTHON=$PYTHON
fi
prefix=${WALKTHROUGH_PREFIX:-dl20}
min_judgment=${WALKTHROUGH_MIN_JUDGMENT:-2}
read -ra min_grades <<< "${WALKTHROUGH_MIN_GRADES:-3 4 5}"
read -ra styles <<< "${WALKTHROUGH_STYLES-wikipedia web direct}"
read -ra grading <<< "--model ${WALKTHROUGH_MODEL:-google/flan-t5-large} ${WALKTHROUGH_MODEL_OPTIONS:-}"
read -ra generation <<< "--model ${WALKTHROUGH_GENERATOR:-gpt-3.5-turbo-instruct} \
${WALKTHROUGH_GENERATOR_OPTIONS---model-pipeline openai-completions}"
rated=QuestionSelfRatedUnanswerablePromptWithChoices
extracted=QuestionCompleteConciseUnanswerablePromptWithChoices
verified=QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2
nuggets_rated=NuggetSelfRatedPrompt
nuggets_extracted=NuggetExtractionPrompt

run() {
    echo "$ exam-pp $*"
    if ! "$EXAM_PP_PYTHON" -m exam_pp --quiet "$@" 2>> "$folder/$prefix-notes.txt"; then
        tail -n 1 "$folder/$prefix-notes.txt" >&2
        exit 1
    fi
}

# make FILE COMMAND...: runs a command with `-o FILE`, unless the file exists
make() {
    if [[ -e $1 ]]; then
        echo "Kept: $1"
    else
        run "${@:2}" -o "$1"
    fi
}
: > "$folder/$prefix-notes.txt"
cd "$folder"

# Phase 1: test banks, and the answers of generative systems.
questions=$prefix-questions.jsonl.gz nuggets=$prefix-nuggets.jsonl.gz
make "$questions" generate questions "$queries" "${generation[@]}"
make "$nuggets" generate nuggets "$queries" "${generation[@]}"
name=$(basename "$passages")
all_runs=(--runs "$runs")
if [[ ${#styles[@]} -gt 0 ]]; then
    make "$prefix-answers.jsonl" generate answers "$queries" "${styles[@]/#/--style=}" "${generation[@]}"
    make "$prefix-answers-passages.jsonl.gz" import --answers "$prefix-answers.jsonl"
    make "with-answers-$name" merge "$passages" "$prefix-answers-passages.jsonl.gz"
    make "$prefix-answers-runs" convert "$prefix-answers-passages.jsonl.gz" --to run
    passages=with-answers-$name
    all_runs+=(--runs "$prefix-answers-runs")
fi

# Phase 2: ratings, and extracted answers for manual verification.
of_questions=questions-explain--questions-rate--$name
graded=questions-explain--questions-rate--nuggets-explain--nuggets-rate--$name
make "$of_questions" grade "$passages" --bank "$questions" --prompt "$extracted" --prompt "$rated" \
    "${grading[@]}"
make "$graded" grade "$of_questions" --bank "$nuggets" --prompt "$nuggets_extracted" \
    --prompt "$nuggets_rated" "${grading[@]}"
has_gold_answers=false
if [[ $(gzip -cdf "$questions" | grep -c '"gold_answers": *\[') -gt 0 ]]; then
    has_gold_answers=true
    make "verified--$graded" verify-answers "$graded" --bank "$questions" --grades answers="$extracted" "${grading[@]}"
    graded=verified--$graded
fi

# Phase 3: manual verification. A bank entry is spurious if passages judged below 1 cover it (Table 3).
# verify BANK PROMPT_CLASS ANSWERS_CLASS SUFFIX
verify() {
    local selected=(--bank "$1" --prompt "$2")
    run verify grading "$graded" "${selected[@]}" --grades answers="$3" -o "$prefix-verify-grading$4.txt"
    run verify spurious "$graded" "${selected[@]}" --min-grade 4 --min-judgment 1 -o "$prefix-bad-question$4.txt"
    run verify uncovered "$graded" "${selected[@]}" --min-grade 4 --min-judgment "$min_judgment" \
        -o "$prefix-uncovered-passages$4.txt"
    run verify grid "$graded" "${selected[@]}" -o "$prefix-grid-display$4.txt"
}
verify "$questions" "$rated" "$extracted" ""
verify "$nuggets" "$nuggets_rated" "$nuggets_extracted" -nuggets

# Phase 4: evaluation, and analyses with the official leaderboard and the manual judgments.
if [[ $official == judgments ]]; then
    official=$folder/official_${prefix}_leaderboard.json
    run evaluate judgments "$passages" --runs "$runs" -m nDCG@10 --format official -o "$official"
fi

# evaluate BANK PROMPT_CLASS MIN_GRADE
evaluate() {
    local selected=(--bank "$1" --prompt "$2" --min-grade "$3")
    local solo=$2-minrating-$3.solo correlation=$2-minlevel-$3.correlation.tsv
    run evaluate qrels "$graded" "${selected[@]}" --label binary -o "$prefix-rubric-qrels-$solo.qrels"
    run evaluate qrels "$graded" "${selected[@]}" "${all_runs[@]}" -m RR --format tsv \
        -o "$prefix-rubric-qrels-leaderboard-$solo.mrr.tsv"
    run evaluate cover "$graded" "${selected[@]}" --format published -o "$prefix-rubric-cover-leaderboard-$solo.tsv"
    run evaluate qrels "$graded" "${selected[@]}" "${all_runs[@]}" -m RR --format published \
        --official "$official" -o "$prefix-rubric-qrels-leaderboard-$correlation"
    run evaluate cover "$graded" "${selected[@]}" --format published --official "$official" \
        -o "$prefix-rubric-cover-leaderboard-$correlation"
}

# agreement BANK PROMPT_CLASS
agreement() {
    run analyze agreement "$graded" --bank "$1" --prompt "$2" --min-judgment "$min_judgment" \
        --min-answers 1 --min-answers 2 --min-answers 5 --format latex -o "$prefix-rubric-inter-annotator-$2.tex"
}
for grade in "${min_grades[@]}"; do
    evaluate "$questions" "$rated" "$grade"
    evaluate "$nuggets" "$nuggets_rated" "$grade"
done
agreement "$questions" "$rated"
agreement "$nuggets" "$nuggets_rated"
if $has_gold_answers; then # Verified answers are right or wrong.
    evaluate "$questions" "$verified" 1
    agreement "$questions" "$verified"
fi

# Table 4 has a column for each prompt and threshold, and is sorted by questions with grade 4.
columns=(--min-grade 4)
for grade in "${min_grades[@]}"; do
    [[ $grade == 4 ]] || columns+=(--min-grade "$grade")
done
for form in text tsv; do
    run evaluate qrels "$graded" --bank "$questions" --bank "$nuggets" --prompt "$rated" \
        --prompt "$nuggets_rated" "${columns[@]}" "${all_runs[@]}" -m RR --official "$official" \
        --format "$form" -o "$prefix-table-4.${form/text/txt}"
done
echo "Written to $folder"
