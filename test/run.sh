#!/usr/bin/env bash
# Runs every test. Builds the local control plane first (minutes the first time, seconds after that), so that no test's own
# time limit pays for it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Properties are tried with the same inputs each time, so that whether a change passes is not a matter of luck. make properties looks for
# more.
export RAPID_SEED=${RAPID_SEED:-1}

# A failed test fails the run; test/report/quarantine.txt names the exceptions. The times of all packages are printed at the end.
tools=$(mktemp -d)
export TEST_TIMES=$tools/times
: >"$TEST_TIMES"
go build -o "$tools/report" ./test/report
tests() { "$tools/report" "$@"; }

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
say "browser for the pages"
test/browser/chromium
test/browser/axe
say "local control plane: building what is missing"
(cd test/cluster && go run ./cmd/flyball-cluster build --level metrics --with helm --with prometheus --with promtool)

# Some hundred test binaries are linked, which takes a third less without symbols and the tables of debuggers. Stack traces need none. Memory is there,
# and processors are short: garbage is collected a quarter as often as by default. Without paths of this folder, packages built in another
# one, such as the clone of .ci/run, come from Go's build cache. make lint vets.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath -ldflags=-s -vet=off" GOGC=${GOGC:-400}

# The race detector makes everything many times slower, and sees a race only where goroutines run: in the packages whose tests start some or
# run code that does, and in the manager as a whole, in one suite. All others run without it, with every property at full length, and so does
# test/admission, which measures its own memory: the detector needs several times as much.
concurrent=$(go list ./engine/admission/serve ./engine/controller ./engine/controller/adapters ./engine/controller/freezes ./engine/controller/notifications ./engine/idle \
    ./engine/inspect ./engine/pods ./engine/reconcile/... ./engine/status ./engine/tuning ./engine/watch ./engine/workers \
    ./engine/world/... ./cmd/kubectl-flyball/ui)
# Suites that start a control plane of their own, those that take longest first, so that the last one does not run alone.
suites=$(go list ./test/integration/library ./test/integration/adapters ./test/integration/tortoise ./test/integration/failures ./test/integration/outage ./test/integration/freeze ./test/integration/schedules ./test/integration/scaledown \
    ./test/docs ./test/admission ./test/integration/... ./test/samples/... ./test/deploy/... ./test/monitoring/... ./test/local/... ./test/demo \
    ./test/bench ./test/bench/tortoise)
# One suite runs the manager as a whole under the race detector, and only there.
raced=flyball.dev/flyball/test/integration/workloads
suites=$(grep -vxF "$raced" <<<"$suites")
others=$(go list ./test/structure ./engine/... ./crds/... ./adapters/... ./cmd/... ./docs/... ./schemas/... ./deploy/... ./test/demo/... ./test/bench/... ./test/report ./test/holidays ./test/calendars |
    grep -vxF "$concurrent" | grep -vxF "$suites")

# What needs no cluster, or little of one, runs beside the suites, which wait for their clocks and servers a good part of the time. It
# gives way to them. The go command prints what a package has to say in one piece, so their output does not mix.
gently() { nice -n 5 "$tools/report" -timeout 30m "$@"; }
beside() {
    set -e
    say "unit and property tests; tests of the pages in a browser, a module of its own"
    { (cd test/browser && tests -count=1 -timeout 40m ./... >&3) | gently $others; } 3>&1
    (cd docs/site && gently -count=1 ./...) # the cache does not see the documents, which are outside of the module
    say "unit tests of what runs at once, with the race detector"
    gently -race $concurrent
    # The tests of the local control plane wait most of the time, so the last suite runs beside them. A pipe through which nothing goes
    # fails if either fails, and leaves both open to an interrupt, which the shell keeps from what is started with "&".
    say "local control plane tests; integration tests of workloads on a real API server, with the race detector"
    { (cd test/cluster && gently ./... >&3) | gently -race $raced; } 3>&1
}
set -m # a process group of its own, so that it can be interrupted with all that it runs
(beside) &
beside=$!
set +m
trap 'kill -INT -- "-$beside" 2>/dev/null || true; wait; rm -rf "$tools"' EXIT # nothing of it is left running

failed=0
say "integration tests and samples on a real API server; unit tests run beside them"
# shellcheck disable=SC2086 # several packages are several words
tests -timeout 40m -p $(($(nproc) + 2)) $suites || failed=1

wait "$beside" || failed=1

say "time of each package, with its three slowest tests or specs"
sort -rn "$TEST_TIMES"
if [ "$failed" -ne 0 ]; then
    say "tests failed: the lines above that begin with FAIL say which"
    exit 1
fi
say "all tests passed"
