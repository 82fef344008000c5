#!/usr/bin/env bash
# Phases 3 and 4 of the workbench paper's walk-through: writes every file of its Table 3 that comes after
# grading, with the same names, from a graded file, run files and an official leaderboard.
#
#   scripts/walkthrough-dl20.sh GRADED BANK RUNS OFFICIAL FOLDER
#
#   WALKTHROUGH_PREFIX=dl20             prefix of the file names
#   WALKTHROUGH_PROMPT_CLASS=name       prompt class of the ratings
#   WALKTHROUGH_MIN_GRADE=4             lowest grade that covers an entry
#   WALKTHROUGH_MIN_JUDGMENT=2          lowest judgment of a relevant passage (TREC DL: 2)
#   EXAM_PP_PYTHON=python               interpreter (default: the environment of scripts/demo)
#
# OFFICIAL is a JSON dictionary of systems and ranks, or "judgments" to rank the runs by nDCG@10 on the manual
# judgments in GRADED.

set -euo pipefail
if [[ $# -ne 5 ]]; then
    echo "usage: $0 GRADED BANK RUNS OFFICIAL FOLDER" >&2
    exit 2
fi
graded=$(realpath "$1") bank=$(realpath "$2") runs=$(realpath "$3") official=$4
[[ $official == judgments ]] || official=$(realpath "$official")
mkdir -p "$5"
folder=$(realpath "$5")

if [[ -z "${EXAM_PP_PYTHON:-}" ]]; then
    source "$(dirname "${BASH_SOURCE[0]}")/_environment.sh" demo
    EXAM_PP_PYTHON=$PYTHON
fi
prefix=${WALKTHROUGH_PREFIX:-dl20}
prompt=${WALKTHROUGH_PROMPT_CLASS:-QuestionSelfRatedUnanswerablePromptWithChoices}
grade=${WALKTHROUGH_MIN_GRADE:-4}
judgment=${WALKTHROUGH_MIN_JUDGMENT:-2}
selected=(--bank "$bank" --prompt-class "$prompt")

run() {
    echo "$ exam-pp $*"
    if ! "$EXAM_PP_PYTHON" -m exam_pp --quiet "$@" 2>> "$folder/$prefix-notes.txt"; then
        tail -n 1 "$folder/$prefix-notes.txt" >&2
        exit 1
    fi
}
: > "$folder/$prefix-notes.txt"
cd "$folder"

# Manual verification. A bank entry is spurious if passages judged below 1 cover it (Table 3).
run verify grading "$graded" "${selected[@]}" -o "$prefix-verify-grading.txt"
run verify spurious "$graded" "${selected[@]}" --min-grade "$grade" --min-judgment 1 -o "$prefix-bad-question.txt"
run verify uncovered "$graded" "${selected[@]}" --min-grade "$grade" --min-judgment "$judgment" \
    -o "$prefix-uncovered-passages.txt"
run verify grid "$graded" "${selected[@]}" -o "$prefix-grid-display.txt"

# Evaluation
if [[ $official == judgments ]]; then
    official=$folder/official_${prefix}_leaderboard.json
    run evaluate judgments "$graded" --runs "$runs" -m nDCG@10 --format official -o "$official"
fi
solo=$prompt-minrating-$grade.solo
correlation=$prompt-minlevel-$grade.correlation.tsv
run evaluate qrels "$graded" "${selected[@]}" --label binary --min-grade "$grade" \
    -o "$prefix-rubric-qrels-$solo.qrels"
run evaluate qrels "$graded" "${selected[@]}" --min-grade "$grade" --runs "$runs" -m RR --format tsv \
    -o "$prefix-rubric-qrels-leaderboard-$solo.mrr.tsv"
run evaluate cover "$graded" "${selected[@]}" --min-grade "$grade" --format published \
    -o "$prefix-rubric-cover-leaderboard-$solo.tsv"

# Analyses with the official leaderboard and the manual judgments
run evaluate qrels "$graded" "${selected[@]}" --min-grade "$grade" --runs "$runs" -m RR --format published \
    --official "$official" -o "$prefix-rubric-qrels-leaderboard-$correlation"
run evaluate cover "$graded" "${selected[@]}" --min-grade "$grade" --format published \
    --official "$official" -o "$prefix-rubric-cover-leaderboard-$correlation"
run analyze agreement "$graded" "${selected[@]}" --min-judgment "$judgment" \
    --min-answers 1 --min-answers 2 --min-answers 5 --format latex \
    -o "$prefix-rubric-inter-annotator-$prompt.tex"
echo "Written to $folder"
