#!/bin/sh
# Go module github.com/apognu/gocal v0.9.1, rules that end with UNTIL, as calendar programs write "ends on".
# RFC 5545, 3.3.10: an occurrence at the instant of UNTIL belongs to the rule, so days 4 to 8 January 2027 have five occurrences.
# Seen: the last one is missing if UNTIL is its start, and present if UNTIL is a second later; for whole days it is always missing.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
until its start: 04 05 06 07
a second later: 04 05 06 07 08
whole days: 04 05 06 07
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/apognu/gocal"
)

func main() {
	for _, form := range [][3]string{
		{"until its start", "DTSTART:20270104T090000Z\r\nDTEND:20270104T100000Z", "20270108T090000Z"},
		{"a second later", "DTSTART:20270104T090000Z\r\nDTEND:20270104T100000Z", "20270108T090001Z"},
		{"whole days", "DTSTART;VALUE=DATE:20270104\r\nDTEND;VALUE=DATE:20270105", "20270108"},
	} {
		file := strings.Join([]string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//example//EN", "BEGIN:VEVENT", "UID:a",
			"DTSTAMP:20270101T000000Z", form[1], "RRULE:FREQ=DAILY;UNTIL=" + form[2], "END:VEVENT", "END:VCALENDAR", ""}, "\r\n")
		from, to := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
		c := gocal.NewParser(strings.NewReader(file))
		c.Start, c.End = &from, &to
		if err := c.Parse(); err != nil {
			panic(err)
		}
		fmt.Print(form[0], ":")
		for _, e := range c.Events {
			fmt.Print(e.Start.Format(" 02"))
		}
		fmt.Println()
	}
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/apognu/gocal@v0.9.1 2>/dev/null
go run . | tee seen
diff noted seen
