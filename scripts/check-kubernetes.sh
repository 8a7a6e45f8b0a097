#!/usr/bin/env bash
# Checks deploy/kubernetes.yaml against the schemas of Kubernetes, which a package of Python contains. Where that cannot be
# installed, it says so and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
if ! timeout 300 python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  --target "$modules" kubernetes-validate==1.37.0 >"$modules.log" 2>&1; then
  echo "kubernetes: not checked: $(tail -n 1 "$modules.log")"
  rm -f "$modules.log"
  exit 0
fi
rm -f "$modules.log"
PYTHONPATH=$modules "$modules/bin/kubernetes-validate" --strict deploy/kubernetes.yaml
