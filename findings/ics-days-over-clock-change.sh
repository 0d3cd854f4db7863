#!/bin/sh
# DURATION:P1D and DURATION:PT24H of an event from noon of 27 March 2027 in Berlin. In the night the clocks go forward.
# RFC 5545, 3.3.6: a day of a duration is nominal, hours are exact, so the first ends at 12:00 and the second at 13:00 of 28 March.
# Go modules github.com/emersion/go-ical (2025-03-29) and github.com/apognu/gocal v0.9.1; npm node-ical 0.27.2 and ical.js 2.2.1.
# Seen: the first three take a day for 24 hours, ical.js takes 24 hours for a day, and each gives both events the same end.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts node-ical@0.27.2 ical.js@2.2.1
cat >noted <<'NOTED'
go-ical: P1D 11:00Z, PT24H 11:00Z
gocal: P1D 11:00Z, PT24H 11:00Z
node-ical: P1D 11:00Z, PT24H 11:00Z
ical.js: P1D 10:00Z, PT24H 10:00Z
NOTED
for length in P1D PT24H; do
	printf '%s\r\n' BEGIN:VCALENDAR VERSION:2.0 PRODID:-//example//EN \
		BEGIN:VTIMEZONE TZID:Europe/Berlin \
		BEGIN:DAYLIGHT DTSTART:19810329T020000 TZOFFSETFROM:+0100 TZOFFSETTO:+0200 \
		'RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU' END:DAYLIGHT \
		BEGIN:STANDARD DTSTART:19961027T030000 TZOFFSETFROM:+0200 TZOFFSETTO:+0100 \
		'RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU' END:STANDARD END:VTIMEZONE \
		BEGIN:VEVENT UID:a DTSTAMP:20270101T000000Z 'DTSTART;TZID=Europe/Berlin:20270327T120000' "DURATION:$length" \
		END:VEVENT END:VCALENDAR >$length.ics
done
cat >main.go <<'PROGRAM'
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
	_ "time/tzdata"

	"github.com/apognu/gocal"
	"github.com/emersion/go-ical"
)

func main() {
	for _, library := range []struct {
		name string
		end  func(file []byte) (time.Time, error)
	}{{"go-ical", goIcal}, {"gocal", goCal}} {
		var ends []string
		for _, length := range []string{"P1D", "PT24H"} {
			file, err := os.ReadFile(length + ".ics")
			if err != nil {
				panic(err)
			}
			end, err := library.end(file)
			if err != nil {
				panic(err)
			}
			ends = append(ends, length+end.UTC().Format(" 15:04Z"))
		}
		fmt.Printf("%s: %s\n", library.name, strings.Join(ends, ", "))
	}
}

func goIcal(file []byte) (time.Time, error) {
	calendar, err := ical.NewDecoder(bytes.NewReader(file)).Decode()
	if err != nil {
		return time.Time{}, err
	}
	return calendar.Events()[0].DateTimeEnd(time.UTC)
}

func goCal(file []byte) (time.Time, error) {
	from := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	to := from.AddDate(0, 2, 0)
	calendar := gocal.NewParser(bytes.NewReader(file))
	calendar.Start, calendar.End = &from, &to
	if err := calendar.Parse(); err != nil {
		return time.Time{}, err
	}
	return *calendar.Events[0].End, nil
}
PROGRAM
cat >program.mjs <<'PROGRAM'
import { readFileSync } from 'fs'
import nodeIcal from 'node-ical'
import ICAL from 'ical.js'

const libraries = {
  'node-ical': (file) => Object.values(nodeIcal.sync.parseICS(file)).find((part) => part.type === 'VEVENT').end,
  'ical.js': (file) => {
    const calendar = new ICAL.Component(ICAL.parse(file))
    ICAL.TimezoneService.register(calendar.getFirstSubcomponent('vtimezone'))
    return new ICAL.Event(calendar.getFirstSubcomponent('vevent')).endDate.toJSDate()
  },
}
for (const [library, end] of Object.entries(libraries)) {
  const ends = ['P1D', 'PT24H'].map((length) => `${length} ${end(readFileSync(length + '.ics', 'utf8')).toISOString().slice(11, 16)}Z`)
  console.log(`${library}: ${ends.join(', ')}`)
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/emersion/go-ical@v0.0.0-20250329121855-f41e73efc392 github.com/apognu/gocal@v0.9.1 2>/dev/null
(go run . && node program.mjs) | tee seen
diff noted seen
