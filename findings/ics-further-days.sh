#!/bin/sh
# A weekly event of two occurrences with two further days (RDATE), and one excepted day (EXDATE).
# RFC 5545, 3.8.5.2: RDATE adds to the days of the rule. Valid days: 4, 20 and 27 January 2027; the rule's 11 January is excepted.
# Go module github.com/emersion/go-ical of 2025-03-29 (Component.RecurrenceSet) and npm node-ical 0.27.2 (expandRecurringEvent).
# Seen: both leave out the further days, without an error. go-ical adds the values of EXDATE once more in place of those of RDATE.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts node-ical@0.27.2
cat >noted <<'NOTED'
go-ical: 2027-01-04
node-ical: 2027-01-04
NOTED
printf '%s\r\n' BEGIN:VCALENDAR VERSION:2.0 PRODID:-//example//EN BEGIN:VEVENT UID:a DTSTAMP:20270101T000000Z \
	DTSTART:20270104T090000Z DTEND:20270104T100000Z 'RRULE:FREQ=WEEKLY;COUNT=2' EXDATE:20270111T090000Z \
	RDATE:20270120T090000Z RDATE:20270127T090000Z END:VEVENT END:VCALENDAR >calendar.ics
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/emersion/go-ical"
)

func main() {
	file, err := os.Open("calendar.ics")
	if err != nil {
		panic(err)
	}
	calendar, err := ical.NewDecoder(file).Decode()
	if err != nil {
		panic(err)
	}
	days, err := calendar.Events()[0].RecurrenceSet(time.UTC)
	if err != nil {
		panic(err)
	}
	fmt.Print("go-ical:")
	for _, day := range days.All() {
		fmt.Print(day.Format(" 2006-01-02"))
	}
	fmt.Println()
}
PROGRAM
cat >program.mjs <<'PROGRAM'
import nodeIcal from 'node-ical'

const event = Object.values(nodeIcal.sync.parseFile('calendar.ics')).find((part) => part.type === 'VEVENT')
const occurrences = nodeIcal.expandRecurringEvent(event, { from: new Date('2027-01-01T00:00:00Z'), to: new Date('2027-03-01T00:00:00Z') })
console.log('node-ical:', occurrences.map((one) => one.start.toISOString().slice(0, 10)).join(' '))
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/emersion/go-ical@v0.0.0-20250329121855-f41e73efc392 2>/dev/null
(go run . && node program.mjs) | tee seen
diff noted seen
