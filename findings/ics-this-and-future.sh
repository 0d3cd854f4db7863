#!/bin/sh
# A daily event at 9 that is moved to 15 from 6 January 2027 on, by RECURRENCE-ID;RANGE=THISANDFUTURE.
# RFC 5545, 3.8.4.4: the change concerns that instance and all later ones, so the 6th, 7th and 8th are at 15.
# npm node-ical 0.27.2 (README.md: changed occurrences are handled), ical.js 2.2.1 and Go module github.com/apognu/gocal v0.9.1.
# Seen: node-ical and gocal move the 6th alone, without an error. ical.js moves all three.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts node-ical@0.27.2 ical.js@2.2.1
cat >noted <<'NOTED'
node-ical: 04 at 09, 05 at 09, 06 at 15, 07 at 09, 08 at 09
ical.js: 04 at 09, 05 at 09, 06 at 15, 07 at 15, 08 at 15
gocal: 04 at 09, 05 at 09, 06 at 15, 07 at 09, 08 at 09
NOTED
printf '%s\r\n' BEGIN:VCALENDAR VERSION:2.0 PRODID:-//example//EN \
	BEGIN:VEVENT UID:a DTSTAMP:20270101T000000Z DTSTART:20270104T090000Z DTEND:20270104T100000Z 'RRULE:FREQ=DAILY;COUNT=5' END:VEVENT \
	BEGIN:VEVENT UID:a DTSTAMP:20270101T000000Z 'RECURRENCE-ID;RANGE=THISANDFUTURE:20270106T090000Z' \
	DTSTART:20270106T150000Z DTEND:20270106T160000Z END:VEVENT END:VCALENDAR >calendar.ics
cat >program.mjs <<'PROGRAM'
import { readFileSync } from 'fs'
import nodeIcal from 'node-ical'
import ICAL from 'ical.js'

const libraries = {
  'node-ical': (file) => {
    const event = Object.values(nodeIcal.sync.parseICS(file)).find((part) => part.type === 'VEVENT')
    const january = { from: new Date('2027-01-01T00:00:00Z'), to: new Date('2027-02-01T00:00:00Z') }
    return nodeIcal.expandRecurringEvent(event, january).map((one) => one.start.toISOString())
  },
  'ical.js': (file) => {
    const [series, change] = new ICAL.Component(ICAL.parse(file)).getAllSubcomponents('vevent')
    const event = new ICAL.Event(series, { exceptions: [change] })
    const all = []
    for (let it = event.iterator(), at; (at = it.next()); ) all.push(event.getOccurrenceDetails(at).startDate.toString())
    return all
  },
}
for (const [library, starts] of Object.entries(libraries)) {
  const texts = starts(readFileSync('calendar.ics', 'utf8')).map((at) => `${at.slice(8, 10)} at ${at.slice(11, 13)}`)
  console.log(`${library}: ${texts.join(', ')}`)
}
PROGRAM
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apognu/gocal"
)

func main() {
	file, err := os.Open("calendar.ics")
	if err != nil {
		panic(err)
	}
	from, to := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	calendar := gocal.NewParser(file)
	calendar.Start, calendar.End = &from, &to
	if err := calendar.Parse(); err != nil {
		panic(err)
	}
	var texts []string
	for _, event := range calendar.Events {
		texts = append(texts, event.Start.UTC().Format("02 at 15"))
	}
	slices.Sort(texts)
	fmt.Printf("gocal: %s\n", strings.Join(texts, ", "))
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/apognu/gocal@v0.9.1 2>/dev/null
(node program.mjs && go run .) | tee seen
diff noted seen
