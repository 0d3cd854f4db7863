#!/bin/sh
# Go module github.com/apognu/gocal v0.9.1, a meeting on each working day as a daily rule: FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR.
# RFC 5545, 3.3.10: BYDAY limits a daily rule, so from Monday 4 January 2027 five occurrences are that week's Monday to Friday.
# Seen: each step of a day lists the working days of the seven days from it, so most days are listed several times, and COUNT=10 ends
# on 11 January instead of 15 January. The weekly form of the same rule is right.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
DAILY: 04 05 06 07 08 05 06 07 08 11
WEEKLY: 04 05 06 07 08 11 12 13 14 15
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
	for _, frequency := range []string{"DAILY", "WEEKLY"} {
		file := strings.Join([]string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//example//EN", "BEGIN:VEVENT", "UID:a",
			"DTSTAMP:20270101T000000Z", "DTSTART:20270104T090000Z", "DTEND:20270104T093000Z",
			"RRULE:FREQ=" + frequency + ";COUNT=10;BYDAY=MO,TU,WE,TH,FR", "END:VEVENT", "END:VCALENDAR", ""}, "\r\n")
		from, to := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)
		c := gocal.NewParser(strings.NewReader(file))
		c.Start, c.End = &from, &to
		if err := c.Parse(); err != nil {
			panic(err)
		}
		fmt.Print(frequency, ":")
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
