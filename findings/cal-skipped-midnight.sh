#!/bin/sh
# Go module github.com/rickar/cal/v2 v2.1.31, All Souls' Day (2 November) of 2004 in Brazil, as computed in São Paulo.
# In that night the clocks went from 00:00 to 01:00. The holiday is the midnight in the zone of the process (cal.DefaultLoc), and
# time.Date may return the hour before a midnight that does not exist.
# Seen: the holiday is on 1 November, and 2 November is a working day. With TZ=UTC it is on 2 November.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
America/Sao_Paulo: 2004-11-01, 2 November is a working day: true
UTC: 2004-11-02, 2 November is a working day: false
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/br"
)

func main() {
	days := cal.NewBusinessCalendar()
	days.AddHoliday(br.Holidays...)
	holiday, _ := br.Finados.Calc(2004)
	works := days.IsWorkday(time.Date(2004, time.November, 2, 12, 0, 0, 0, time.Local))
	fmt.Printf("%s: %s, 2 November is a working day: %t\n", time.Local, holiday.Format(time.DateOnly), works)
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/rickar/cal/v2@v2.1.31 2>/dev/null
go build -o program .
for zone in America/Sao_Paulo UTC; do TZ=$zone ./program; done | tee seen
diff noted seen
