#!/bin/sh
# npm @datasert/cronjs-matcher 1.4.0, the fifth weekday of a month (1#5 is the fifth Monday).
# The fifth one is the 29th, 30th or 31st: in 2027 Mondays 29 March, 31 May, 30 August and 29 November.
# Seen: a fifth weekday on the 31st does not fire, so 31 May 2027 is missing. In npm cronosjs 1.7.1, of the same dialect, it fires.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts @datasert/cronjs-matcher@1.4.0 cronosjs@1.7.1
cat >noted <<'NOTED'
datasert 1#5: 2027-03-29 2027-08-30 2027-11-29 2028-05-29
cronosjs 1#5: 2027-03-29 2027-05-31 2027-08-30 2027-11-29
datasert 0#5: 2027-05-30 2027-08-29 2028-01-30 2028-04-30
cronosjs 0#5: 2027-01-31 2027-05-30 2027-08-29 2027-10-31
NOTED
cat >program.mjs <<'PROGRAM'
import { getFutureMatches } from '@datasert/cronjs-matcher'
import { CronosExpression } from 'cronosjs'

const start = new Date('2027-01-01T00:00:00Z')
for (const weekday of ['1#5', '0#5']) {
  const cron = '0 8 * * ' + weekday
  const days = getFutureMatches(cron, { startAt: start.toISOString(), timezone: 'UTC', matchCount: 4 }).map((at) => new Date(at))
  const others = CronosExpression.parse(cron, { timezone: 'UTC' }).nextNDates(start, 4)
  for (const [library, all] of [['datasert', days], ['cronosjs', others]]) {
    console.log(`${library} ${weekday}:`, all.map((at) => at.toISOString().slice(0, 10)).join(' '))
  }
}
PROGRAM
node program.mjs | tee seen
diff noted seen
