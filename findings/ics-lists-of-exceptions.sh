#!/bin/sh
# A daily event whose excepted days are in one line, or in a line each. RFC 5545, 3.8.5.1: EXDATE is a list, so both forms are the same:
# of 4 to 8 January 2027 the 5th and the 7th are left out.
# Go modules github.com/apognu/gocal v0.9.1 (README.md: EXDATE is among the handled forms), github.com/emersion/go-ical of 2025-03-29.
# Seen: gocal reads the line with two days as no exception at all, without an error, in strict mode too; go-ical refuses the event.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
a line each: gocal 04 06 08, go-ical 04 06 08
one line: gocal 04 05 06 07 08, go-ical an error
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/apognu/gocal"
	"github.com/emersion/go-ical"
)

func main() {
	for _, form := range [][2]string{
		{"a line each", "EXDATE:20270105T090000Z\r\nEXDATE:20270107T090000Z"},
		{"one line", "EXDATE:20270105T090000Z,20270107T090000Z"},
	} {
		file := strings.Join([]string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//example//EN", "BEGIN:VEVENT", "UID:a",
			"DTSTAMP:20270101T000000Z", "DTSTART:20270104T090000Z", "DTEND:20270104T100000Z", "RRULE:FREQ=DAILY;COUNT=5", form[1],
			"END:VEVENT", "END:VCALENDAR", ""}, "\r\n")
		fmt.Printf("%s: gocal%s, go-ical%s\n", form[0], goCal(file), goIcal(file))
	}
}

func goCal(file string) (days string) {
	from, to := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
	calendar := gocal.NewParser(strings.NewReader(file))
	calendar.Start, calendar.End = &from, &to
	calendar.Strict = gocal.StrictParams{Mode: gocal.StrictModeFailFeed}
	if err := calendar.Parse(); err != nil {
		return " an error"
	}
	for _, event := range calendar.Events {
		days += event.Start.Format(" 02")
	}
	return days
}

func goIcal(file string) (days string) {
	calendar, err := ical.NewDecoder(strings.NewReader(file)).Decode()
	if err != nil {
		panic(err)
	}
	set, err := calendar.Events()[0].RecurrenceSet(time.UTC)
	if err != nil {
		return " an error"
	}
	for _, day := range set.All() {
		days += day.Format(" 02")
	}
	return days
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/apognu/gocal@v0.9.1 github.com/emersion/go-ical@v0.0.0-20250329121855-f41e73efc392 2>/dev/null
go run . | tee seen
diff noted seen
