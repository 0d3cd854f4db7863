#!/usr/bin/env bash
# Runs integration suites again and again while something else keeps every core busy: whoever relies on how long something takes
# is found so. It is not part of CI.
#   ROUNDS  how often, 10 by default
#   SUITES  which packages, every integration suite by default
#   BURNERS how many busy loops there are, one a core by default; 0 where something else is at work already, such as the same from another checkout
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-10}
suites=${SUITES:-./test/integration/...}
(cd test/cluster && go run ./cmd/flyball-cluster build --level metrics)

burners=()
trap 'kill "${burners[@]}" 2>/dev/null || true' EXIT
for _ in $(seq "${BURNERS:-$(nproc)}"); do
    while :; do :; done &
    burners+=($!)
done

failed=0
for round in $(seq "$rounds"); do
    printf '\n== round %s of %s (%s s)\n' "$round" "$rounds" "$SECONDS"
    # shellcheck disable=SC2086 # several packages are several words
    go test -count=1 -timeout 60m $suites || failed=$((failed + 1))
done
printf '\n== %s of %s rounds failed (%s s)\n' "$failed" "$rounds" "$SECONDS"
[ "$failed" -eq 0 ]
