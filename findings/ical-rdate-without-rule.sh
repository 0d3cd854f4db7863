#!/bin/sh
# npm ical.js 2.2.1, an event with further days (RDATE) and without a rule.
# RFC 5545, 3.8.5.2 and 3.8.5.3: DTSTART is the first instance, and RDATE adds others: 5, 12 and 19 April 2027.
# Seen: 12 and 19 April. With a rule of one occurrence beside RDATE the first day is there.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts ical.js@2.2.1
cat >noted <<'NOTED'
without a rule: 2027-04-12 2027-04-19
with a rule:    2027-04-05 2027-04-12 2027-04-19
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

const start = 'DTSTART;VALUE=DATE:20270405', further = 'RDATE;VALUE=DATE:20270412,20270419'
console.log('without a rule:', occurrences(start, further))
console.log('with a rule:   ', occurrences(start, 'RRULE:FREQ=WEEKLY;COUNT=1', further))
PROGRAM
node program.mjs | tee seen
diff noted seen
