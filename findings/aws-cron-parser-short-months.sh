#!/bin/sh
# npm aws-cron-parser 1.1.12 (EventBridge expressions), the 29th to the 31st in months without these days.
# A date that does not exist does not fire: after 31 January 2027 the next 31st is 31 March.
# Seen: the missing day fires in the next month, as many days after its 1st: the 31st of February as 3 March, that of April as 1 May. The
# last day of the month, L, is right.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts aws-cron-parser@1.1.12
cat >noted <<'NOTED'
0 10 31 * ? *: 2027-01-31 2027-03-03 2027-03-31 2027-05-01
0 10 30 * ? *: 2027-01-30 2027-03-02 2027-03-30 2027-04-30
0 10 29 2 ? *: 2027-03-01 2028-02-29 2029-03-01 2030-03-01
0 10 L * ? *: 2027-01-31 2027-02-28 2027-03-31 2027-04-30
NOTED
cat >program.mjs <<'PROGRAM'
import aws from 'aws-cron-parser'

for (const expression of ['0 10 31 * ? *', '0 10 30 * ? *', '0 10 29 2 ? *', '0 10 L * ? *']) {
  const cron = aws.parse(expression)
  const days = []
  for (let at = new Date('2027-01-01T00:00:00Z'); days.length < 4; ) {
    at = aws.next(cron, at)
    days.push(at.toISOString().slice(0, 10))
  }
  console.log(expression + ':', days.join(' '))
}
PROGRAM
node program.mjs | tee seen
diff noted seen
