#!/bin/sh
# npm ts-ics 2.4.6 (README.md: it aims at full compliance with RFC 5545), days counted from the end of the month, and rules by weekday.
# RFC 5545, 3.3.10: BYMONTHDAY=-1 is the last day of the month, BYSETPOS=-1 the last of the set, and each day keeps the time of DTSTART.
# Seen, from 4 January 2027 at 09:00: the day before the last one; the last working day but one; all monthly rules by weekday at 00:00;
# and COUNT=7 of working days has five, since it counts the days of the weekend.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts ts-ics@2.4.6
cat >noted <<'NOTED'
FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3: 01-30T09:00 02-27T09:00 03-30T09:00
FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;UNTIL=20270401T000000Z: 01-28T00:00 02-25T00:00 03-30T00:00
FREQ=MONTHLY;BYDAY=2MO;COUNT=3: 01-11T00:00 02-08T00:00 03-08T00:00
FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR;COUNT=7: 01-04T09:00 01-05T09:00 01-06T09:00 01-07T09:00 01-08T09:00
NOTED
cat >program.mjs <<'PROGRAM'
import { convertIcsCalendar, extendByRecurrenceRule } from 'ts-ics'

for (const rule of ['FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3', 'FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;UNTIL=20270401T000000Z',
  'FREQ=MONTHLY;BYDAY=2MO;COUNT=3', 'FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR;COUNT=7']) {
  const text = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//example//EN', 'BEGIN:VEVENT', 'UID:a', 'DTSTAMP:20270101T000000Z',
    'DTSTART:20270104T090000Z', 'RRULE:' + rule, 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n')
  const event = convertIcsCalendar(undefined, text).events[0]
  const days = extendByRecurrenceRule(event.recurrenceRule, { start: event.start.date, end: new Date('2027-12-31T00:00:00Z') })
  console.log(`${rule}:`, days.map((at) => at.toISOString().slice(5, 16)).join(' '))
}
PROGRAM
TZ=UTC node program.mjs | tee seen
diff noted seen
