#!/usr/bin/env bash
# Runs every test. Builds the local control plane first (minutes the first time, seconds after that), so that no test's own
# time limit pays for it.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }
say "local control plane: building what is missing"
(cd test/cluster && go run ./cmd/flyball-cluster build --level metrics --with helm)

say "unit and property tests"
go test -timeout 20m ./engine/... ./crds/... ./adapters/... ./cmd/... ./schemas/... ./deploy/... ./test/local/... ./test/demo/... ./test/bench/...

say "local control plane tests"
(cd test/cluster && go test -timeout 20m ./...)

say "integration tests and samples on a real API server"
go test -timeout 40m ./test/integration/... ./test/samples/... ./test/deploy/...

say "all tests passed"
