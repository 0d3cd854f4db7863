#!/bin/sh
# Go module github.com/reugn/go-quartz v0.15.2, a daily firing at midnight where the clocks skip it: São Paulo on 4 November 2018, and Cairo
# on 30 April 2027. It fires at another hour in such a night.
# Seen: in Cairo at 01:00, right after the gap; in São Paulo at 23:00, an hour before the day begins, so the third has two firings.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
America/Sao_Paulo: 3 00:00, 3 23:00, 5 00:00
Africa/Cairo: 29 00:00, 30 01:00, 1 00:00
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata"

	"github.com/reugn/go-quartz/quartz"
)

func main() {
	for _, night := range [][2]string{{"America/Sao_Paulo", "2018-11-02 12:00"}, {"Africa/Cairo", "2027-04-28 12:00"}} {
		zone, err := time.LoadLocation(night[0])
		if err != nil {
			panic(err)
		}
		at, err := time.ParseInLocation("2006-01-02 15:04", night[1], zone)
		if err != nil {
			panic(err)
		}
		midnight, err := quartz.NewCronTriggerWithLoc("0 0 0 * * ?", zone)
		if err != nil {
			panic(err)
		}
		var fires []string
		for range 3 {
			next, err := midnight.NextFireTime(at.UnixNano())
			if err != nil {
				panic(err)
			}
			at = time.Unix(0, next).In(zone)
			fires = append(fires, at.Format("2 15:04"))
		}
		fmt.Printf("%s: %s\n", night[0], strings.Join(fires, ", "))
	}
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/reugn/go-quartz@v0.15.2 2>/dev/null
go run . | tee seen
diff noted seen
