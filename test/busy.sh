#!/usr/bin/env bash
# Runs the whole suite again and again while something else keeps every core busy: whoever relies on how long something takes is
# found so. Nothing is tried twice. It is not part of CI.
#   ROUNDS  how often, 10 by default
#   SUITES  which packages, all of them by default
#   BURNERS how many busy loops there are, one a core by default; 0 where something else is at work already, such as the same from another checkout
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-10}
(cd test/cluster && go run ./cmd/flyball-cluster build --level metrics --with helm --with prometheus --with promtool)

# As in test/run.sh: the same inputs for properties each time, no tables of debuggers, garbage collected a quarter as often.
export RAPID_SEED=${RAPID_SEED:-1} GOFLAGS="${GOFLAGS:+$GOFLAGS }-ldflags=-w" GOGC=${GOGC:-400}

work=$(mktemp -d)
burners=()
trap 'kill "${burners[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

# Test binaries are linked once and not in every round. Those that take longest come first, so that the last one does not run alone.
first="./test/integration/tortoise ./test/integration ./test/integration/scaledown ./test/integration/freeze ./test/integration/autoscaling"
printf '== building the tests\n'
list() { go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' "$@"; }
{
    # shellcheck disable=SC2086 # several packages are several words
    list ${SUITES:-$first ./test/... ./...}
    # The local control plane is a module of its own.
    [ -n "${SUITES:-}" ] || (cd test/cluster && list ./...)
} | awk 'NF && !seen[$1]++ {print NR, $1, $2}' >"$work/packages"
xargs -P "$(nproc)" -L 1 bash -c 'cd "$3" && go test -c -o "$0/$1.test" .' "$work" <"$work/packages"

for _ in $(seq "${BURNERS:-$(nproc)}"); do
    while :; do :; done &
    burners+=($!)
done

# one NUMBER PACKAGE DIR runs the tests of a package in its folder, as go test does, and prints how long they took, how long they and the
# servers that they started kept a processor, and their output if they fail.
one() {
    local log=$work/$1.log used TIMEFORMAT='%R s, %U s + %S s of processors'
    if used=$( { time bash -c 'cd "$0" && exec "$1" -test.timeout 60m >"$2" 2>&1' "$3" "$work/$1.test" "$log"; } 2>&1); then
        printf 'ok   %s (%s)\n' "$2" "$used"
    else
        printf 'FAIL %s (%s)\n%s\n' "$2" "$used" "$(<"$log")"
        return 1
    fi
}
export -f one
export work

failed=0
for round in $(seq "$rounds"); do
    printf '\n== round %s of %s (%s s)\n' "$round" "$rounds" "$SECONDS"
    xargs -P $(($(nproc) + 2)) -L 1 bash -c 'one "$@"' one <"$work/packages" || failed=$((failed + 1))
done
printf '\n== %s of %s rounds failed (%s s)\n' "$failed" "$rounds" "$SECONDS"
[ "$failed" -eq 0 ]
