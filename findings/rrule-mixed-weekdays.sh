#!/bin/sh
# npm rrule 2.8.1, rules with weekdays with and without a number, such as each Monday and the fourth Tuesday of a month.
# RFC 5545, 3.3.10: each value of BYDAY adds its days, so January 2027 has the four Mondays and Tuesday the 26th.
# Seen: no day at all; and for MO,4MO the fourth Monday only. Days must be in both sets, the days without and the days with a number.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts rrule@2.8.1
cat >noted <<'NOTED'
MO: 04 11 18 25
4TU: 26
MO,4TU: none
MO,4MO: 25
NOTED
cat >program.mjs <<'PROGRAM'
import rrule from 'rrule'

for (const days of ['MO', '4TU', 'MO,4TU', 'MO,4MO']) {
  const rule = rrule.rrulestr('DTSTART:20270104T090000Z\nRRULE:FREQ=MONTHLY;UNTIL=20270131T090000Z;BYDAY=' + days)
  console.log(days + ':', rule.all().map((at) => at.toISOString().slice(8, 10)).join(' ') || 'none')
}
PROGRAM
node program.mjs | tee seen
diff noted seen
