#!/usr/bin/env bash
# Kills a grading of the demo N times at random moments (kill -9), lets it finish, and compares the output
# with the output of an uninterrupted run.
#
#   scripts/torture_kill.sh [N]        MODEL=google/flan-t5-small scripts/torture_kill.sh 50     SEED=7 ...
#
# Prints "N kills, 0 grades lost, output identical" and exits with 0, or prints the difference and exits with 1.
set -euo pipefail

kills=${1:-3}
model=${MODEL:-fake}
passages=${PASSAGES_PER_QUERY:-10}
RANDOM=${SEED:-1}
root=$(cd "$(dirname "$0")/.." && pwd)
if [[ -n ${EXAM_PP_PYTHON:-} ]]; then # an interpreter with exam_pp; the default is that of scripts/test
    python=$EXAM_PP_PYTHON
else
    source "$root/scripts/_environment.sh" dev
    python=$PYTHON
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
demo="$root/data/demo"

exam_pp() { "$python" -m exam_pp --quiet "$@"; }
grade() {
    exec "$python" -m exam_pp --quiet grade "$work/passages.jsonl" -o "$1" --bank "$demo/questions.jsonl" \
        --prompt self-rated --model "$model" \
        --max-passages "$passages" -M batch_tokens=1024 --threads 1
}
journaled() {
    # Opening the database replays the write-ahead log that the killed process left. A process that was killed
    # early may have left a file without a table, which holds no grades.
    "$python" - "$1" <<'PY'
import pathlib, sqlite3, sys
path = pathlib.Path(sys.argv[1])
journal = sqlite3.connect(path) if path.exists() else sqlite3.connect(":memory:")
tables = {name for (name,) in journal.execute("SELECT name FROM sqlite_master")}
print(journal.execute("SELECT count(*) FROM checked_replies").fetchone()[0] if "checked_replies" in tables else 0)
PY
}

exam_pp import -o "$work/passages.jsonl" --runs "$demo/runs" --texts "$demo/passages.tsv" \
    --qrels "$demo/qrels.txt" --queries "$demo/queries.jsonl"
started=$(date +%s%N)
(grade "$work/whole.jsonl.gz")
milliseconds=$((($(date +%s%N) - started) / 1000000))

done_kills=0
lost=0
before=0
output="$work/killed.jsonl.gz"
while ((done_kills < kills)); do
    (grade "$output") 2>>"$work/stderr" &
    process=$!
    delay=$((RANDOM * 32768 + RANDOM))
    delay=$((delay % (milliseconds * 9 / 10) + milliseconds / 20))
    sleep "$((delay / 1000)).$(printf '%03d' $((delay % 1000)))"
    if kill -9 "$process" 2>/dev/null; then
        wait "$process" 2>/dev/null || true
        done_kills=$((done_kills + 1))
        if [[ -e $output ]]; then # the run had just finished; the journal is deleted after the output is written
            cmp "$work/whole.jsonl.gz" "$output" || exit 1
            rm -f "$output" "$work/.${output##*/}".journal* && before=0
            continue
        fi
        after=$(journaled "$work/.${output##*/}.journal")
        ((after >= before)) || lost=$((lost + before - after))
        before=$after
    else # the run ended before the kill: start again
        wait "$process"
        cmp "$work/whole.jsonl.gz" "$output" || exit 1
        rm -f "$output" && before=0
    fi
done
(grade "$output")
if ! cmp "$work/whole.jsonl.gz" "$output"; then
    echo "$done_kills kills, $lost grades lost, output differs"
    exit 1
fi
echo "$done_kills kills, $lost grades lost, output identical"
((lost == 0))
