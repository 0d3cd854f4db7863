#!/bin/sh
# npm rrule 2.8.1, daily rules with TZID over the days on which the clocks move, in a process in UTC.
# RFC 5545, 3.3.5: each occurrence is at the same local time. In 2027 the clocks of New York move at 2 in the nights of 14 March and
# 7 November, those of Auckland at 3 in that of 4 April and at 2 in that of 26 September.
# Seen: one occurrence is an hour off, hours after the change in America (05:00) and the evening before it in New Zealand (20:00), since the
# offset is that of the local time taken as UTC.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts rrule@2.8.1
cat >noted <<'NOTED'
America/New_York 05:00: Mar 13 05:00, Mar 14 06:00, Mar 15 05:00
America/New_York 05:00: Nov 06 05:00, Nov 07 04:00, Nov 08 05:00
Pacific/Auckland 20:00: Apr 02 20:00, Apr 03 21:00, Apr 04 20:00
Pacific/Auckland 20:00: Sep 25 19:00, Sep 26 20:00, Sep 27 20:00
NOTED
cat >program.mjs <<'PROGRAM'
import rrule from 'rrule'

for (const [zone, start] of [
  ['America/New_York', '20270313T050000'],
  ['America/New_York', '20271106T050000'],
  ['Pacific/Auckland', '20270402T200000'],
  ['Pacific/Auckland', '20270925T200000'],
]) {
  const days = rrule.rrulestr(`DTSTART;TZID=${zone}:${start}\nRRULE:FREQ=DAILY;COUNT=3`).all()
  const form = new Intl.DateTimeFormat('en-US', { timeZone: zone, month: 'short', day: '2-digit', hour: '2-digit', minute: '2-digit',
    hourCycle: 'h23' })
  console.log(`${zone} ${start.slice(9, 11)}:00: ${days.map((at) => form.format(at).replace(', ', ' ')).join(', ')}`)
}
PROGRAM
TZ=UTC node program.mjs | tee seen
diff noted seen
