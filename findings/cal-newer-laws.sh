#!/bin/sh
# Go module github.com/rickar/cal/v2 v2.1.31, holidays of 2027 that laws of earlier years have changed.
# Luxembourg: 9 May since the law of 25 April 2019. Mecklenburg-Vorpommern: 8 March since 2023 (Feiertagsgesetz, § 2). New Zealand: Matariki,
# in 2027 on 25 June (Te Kāhui o Matariki Public Holiday Act 2022). Mexico: Constitution Day on the first Monday of February since 2006,
# and no day in lieu of Labour Day (Ley Federal del Trabajo, art. 74).
# Seen: the first three days are no holidays; in Mexico Friday the 5th is free instead of Monday the 1st, and 30 April is free.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
Luxembourg 9 May: false
Mecklenburg-Vorpommern 8 March: false
New Zealand 25 June: false
Mexico 1 February: false
Mexico 5 February: true
Mexico 30 April: true
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/de"
	"github.com/rickar/cal/v2/lu"
	"github.com/rickar/cal/v2/mx"
	"github.com/rickar/cal/v2/nz"
)

func main() {
	for _, day := range []struct {
		place    string
		holidays []*cal.Holiday
		month    time.Month
		day      int
	}{
		{"Luxembourg", lu.Holidays, time.May, 9},
		{"Mecklenburg-Vorpommern", de.HolidaysMV, time.March, 8},
		{"New Zealand", nz.Holidays, time.June, 25},
		{"Mexico", mx.Holidays, time.February, 1},
		{"Mexico", mx.Holidays, time.February, 5},
		{"Mexico", mx.Holidays, time.April, 30},
	} {
		days := cal.NewBusinessCalendar()
		days.AddHoliday(day.holidays...)
		at := time.Date(2027, day.month, day.day, 12, 0, 0, 0, time.UTC)
		actual, observed, _ := days.IsHoliday(at)
		fmt.Printf("%s %s: %t\n", day.place, at.Format("2 January"), actual || observed)
	}
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/rickar/cal/v2@v2.1.31 2>/dev/null
go run . | tee seen
diff noted seen
