#!/usr/bin/env bash
# Install the wheel of dist/ into a new environment of each Python named, and run packaging/smoke.py there.
# A Python that this machine does not have, not under pyenv either, is left out; at least one must be there.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(ls "$PWD"/dist/ratewise-*.whl)
smoke=$PWD/packaging/smoke.py
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH

find_python() {
  if "$1" --version > /dev/null 2>&1; then
    command -v "$1"
  elif command -v pyenv > /dev/null; then
    ls "$(pyenv root)"/versions/*/bin/"$1" 2> /dev/null | tail -1
  fi
}

checked=0
for name in "$@"; do
  python=$(find_python "$name" || true)
  if [ -z "$python" ]; then
    echo "$name is not here: left out"
    continue
  fi
  "$python" -m venv "$folder/new"
  "$folder/new/bin/pip" install --quiet --disable-pip-version-check "$wheel[cli]"
  (cd "$folder" && new/bin/python "$smoke")
  rm -rf "$folder/new"
  checked=$((checked + 1))
done
test "$checked" -gt 0
