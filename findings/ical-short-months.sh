#!/bin/sh
# npm ical.js 2.2.1, a yearly rule for the 31st of October and November.
# RFC 5545, 3.3.10: a rule ignores dates that do not exist, so only 31 October is left. The same rule with FREQ=MONTHLY is read so.
# Seen: 1 December of each year too.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts ical.js@2.2.1
cat >noted <<'NOTED'
MONTHLY: 2027-10-31 2028-10-31 2029-10-31 2030-10-31
YEARLY: 2027-10-31 2027-12-01 2028-10-31 2028-12-01
NOTED
cat >program.mjs <<'PROGRAM'
import ICAL from 'ical.js'

const occurrences = (...lines) => {
  const text = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//example//EN', 'BEGIN:VEVENT', 'UID:a', 'DTSTAMP:20270101T000000Z',
    ...lines, 'END:VEVENT', 'END:VCALENDAR'].join('\r\n')
  const event = new ICAL.Event(new ICAL.Component(ICAL.parse(text)).getFirstSubcomponent('vevent'))
  const all = []
  for (let it = event.iterator(), at; all.length < 4 && (at = it.next()); ) all.push(at.toString())
  return all.join(' ')
}

for (const freq of ['MONTHLY', 'YEARLY']) {
  console.log(freq + ':', occurrences('DTSTART;VALUE=DATE:20271031', `RRULE:FREQ=${freq};BYMONTH=10,11;BYMONTHDAY=31`))
}
PROGRAM
node program.mjs | tee seen
diff noted seen
