#!/usr/bin/env bash
# Runs every test. Builds the local control plane first (minutes the first time, seconds after that), so that no test's own
# time limit pays for it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Properties are tried with the same inputs each time, so that whether a change passes is not a matter of luck. make properties looks for
# more.
export RAPID_SEED=${RAPID_SEED:-1}

# on_server runs suites that need a real API server. They wait for controllers, webhooks and metrics of other processes, so a machine that
# stands still for long enough fails one of them without cause. A suite that fails is therefore run once more, alone, and told of at the
# end: a suite that is named there often has a fault, of its own or of the product. make test-busy gives no second try.
second_try=""
on_server() {
    local log failed
    log=$(mktemp)
    go test "$@" 2>&1 | tee "$log" && rm -f "$log" && return
    failed=$(sed -nE 's/^FAIL\t(flyball\.dev\/\S+)\t[0-9.]+s$/\1/p' "$log")
    # What was not built cannot pass alone, either.
    if [ -z "$failed" ] || grep -qE '^FAIL\s.*\[.* failed\]' "$log"; then
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
    second_try+=" $failed"
    say "failed, run once more alone:" $failed
    go test -timeout 40m -p 1 $failed
}

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
say "local control plane: building what is missing"
(cd test/cluster && go run ./cmd/flyball-cluster build --level metrics --with helm --with prometheus --with promtool)

# Some hundred test binaries are linked, which takes a third less without the tables of debuggers. Stack traces need none.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-ldflags=-w"

# The race detector makes everything many times slower. What it watches is what runs at once: the packages with goroutines of
# their own, and the manager as a whole in one suite. The pure packages run without it, with every property at full length, and
# so does engine/admit, which measures its own memory: the detector needs several times as much.
concurrent=$(go list ./engine/apply ./engine/controller/... ./engine/cost ./engine/inspect ./engine/members ./engine/status ./engine/target ./engine/template \
    ./engine/tuning ./engine/usage ./engine/watch ./engine/workers ./engine/world/... ./cmd/flyball-manager/...)
# Suites that start a control plane of their own, those that take longest first, so that the last one does not run alone.
suites=$(go list ./test/integration/tortoise ./test/integration ./test/integration/scaledown ./test/integration/freeze ./test/integration/autoscaling \
    ./engine/admit ./test/integration/... ./test/samples/... ./test/deploy/... ./test/monitoring/... ./test/docs/... ./test/local/... ./test/demo \
    ./test/bench/tortoise)
others=$(go list ./engine/... ./crds/... ./adapters/... ./cmd/... ./docs/... ./schemas/... ./deploy/... ./test/demo/... ./test/bench/... |
    grep -vxF "$concurrent" | grep -vxF "$suites")

# These wait for their servers most of the time, so they run beside the unit tests.
cluster_log=$(mktemp)
(cd test/cluster && go test -timeout 20m ./...) >"$cluster_log" 2>&1 &
cluster=$!
trap wait EXIT # nothing of them is left running

say "unit and property tests"
go test -timeout 20m $others

say "unit tests of what runs at once, with the race detector"
go test -race -timeout 20m $concurrent

say "local control plane tests"
passed=0
wait "$cluster" || passed=$?
cat "$cluster_log"
rm -f "$cluster_log"
[ "$passed" -eq 0 ]

# Without the race detector kubectl flyball explain is witnessed in the suites of schedules and triggers: see test/integration/witness.
# A suite waits for its clock and its API server a third of the time: one more than there are processors keeps them busy.
say "integration tests and samples on a real API server"
# shellcheck disable=SC2086 # several packages are several words
on_server -timeout 40m -p $(($(nproc) + 1)) $suites

say "integration tests of triggers on a real API server, with the race detector"
go test -race -timeout 20m ./test/integration/trigger

if [ -n "$second_try" ]; then
    say "passed only when run once more, alone:" $second_try
fi
say "all tests passed"
