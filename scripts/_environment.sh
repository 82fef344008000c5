# Sourced by the other scripts: creates a virtual environment in .venv, or reuses it until pyproject.toml,
# constraints.txt or the Python version changes. Sets $PYTHON to its interpreter.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

find_python() {
    local name
    for name in "${PYTHON:-}" python3 python3.13 python3.12 python3.11 python; do
        if [[ -n "$name" ]] && "$name" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    echo "exam_pp needs Python 3.11 or later with the venv module; name one with PYTHON=/path/to/python." >&2
    exit 1
}

prepare_environment() {
    local base stamp digest
    base=$(find_python)
    stamp=.venv/.exam_pp-stamp
    digest=$("$base" -c 'import hashlib, pathlib, sys
files = [pathlib.Path(name).read_bytes() for name in ("pyproject.toml", "constraints.txt", "scripts/_environment.sh")]
print(hashlib.sha256(b"".join([sys.version.encode(), *files])).hexdigest())')
    PYTHON=$PWD/.venv/bin/python
    if [[ -f $stamp && -x $PYTHON && "$(cat "$stamp")" == "$digest" ]]; then
        return
    fi
    echo "Preparing the environment in .venv (a few minutes the first time) ..." >&2
    "$base" -m venv --clear .venv
    "$PYTHON" -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fast,openai,plots,diversity,browser,dev]' >&2
    echo "$digest" > "$stamp"
}

prepare_environment
# Scripts must neither use nor change files in the user's home folder.
export HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}" PYTHONNOUSERSITE=1
