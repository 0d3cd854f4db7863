#!/bin/sh
# npm cron-parser 5.10.6 and cron 4.4.0 on Lord Howe Island, whose clocks move by half an hour at 2 in the night: back on 4 April 2027 and
# forward on 3 October 2027.
# Seen: cron-parser raises an error for noon of 4 April, ten hours after the shift, and never fires for the skipped 02:15 of 3 October. cron
# fires twice for that 02:15, at 01:45 before the gap and at 02:45. Both fire once, after the gap, for a skipped 02:30 of Sydney.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts cron-parser@5.10.6 cron@4.4.0
cat >noted <<'NOTED'
cron-parser Lord_Howe 0 12 * * * from 3 Apr: 3 Apr 12:00, error
cron-parser Lord_Howe 0 12 * * * from 2 Oct: 2 Oct 12:00, 3 Oct 12:00
cron-parser Lord_Howe 15 2 * * * from 3 Oct: 4 Oct 02:15, 5 Oct 02:15
cron Lord_Howe 15 2 * * * from 3 Oct: 3 Oct 01:45, 3 Oct 02:45
cron-parser Sydney 30 2 * * * from 3 Oct: 3 Oct 03:30, 4 Oct 02:30
cron Sydney 30 2 * * * from 3 Oct: 3 Oct 03:30, 4 Oct 02:30
NOTED
cat >program.mjs <<'PROGRAM'
import parser from 'cron-parser'
import { CronTime } from 'cron'

const next = {
  'cron-parser': (cron, zone, at) => parser.CronExpressionParser.parse(cron, { tz: zone, currentDate: at }).next().toDate(),
  cron: (cron, zone, at) => new CronTime(cron, zone).getNextDateFrom(at, zone).toJSDate(),
}
const form = (at, zone) => {
  const part = Object.fromEntries(new Intl.DateTimeFormat('en-US', { timeZone: zone, month: 'short', day: 'numeric', hour: '2-digit',
    minute: '2-digit', hourCycle: 'h23' }).formatToParts(at).map((p) => [p.type, p.value]))
  return `${part.day} ${part.month} ${part.hour}:${part.minute}`
}
for (const [library, town, cron, from] of [
  ['cron-parser', 'Lord_Howe', '0 12 * * *', '2027-04-02T14:00:00Z'],
  ['cron-parser', 'Lord_Howe', '0 12 * * *', '2027-10-01T14:00:00Z'],
  ['cron-parser', 'Lord_Howe', '15 2 * * *', '2027-10-02T14:00:00Z'],
  ['cron', 'Lord_Howe', '15 2 * * *', '2027-10-02T14:00:00Z'],
  ['cron-parser', 'Sydney', '30 2 * * *', '2027-10-02T14:00:00Z'],
  ['cron', 'Sydney', '30 2 * * *', '2027-10-02T14:00:00Z'],
]) {
  const zone = 'Australia/' + town
  const fires = []
  let at = new Date(from)
  try {
    for (let i = 0; i < 2; i++) fires.push(form((at = next[library](cron, zone, at)), zone))
  } catch {
    fires.push('error')
  }
  console.log(`${library} ${town} ${cron} from ${form(new Date(from), zone).slice(0, 5)}: ${fires.join(', ')}`)
}
PROGRAM
node program.mjs | tee seen
diff noted seen
