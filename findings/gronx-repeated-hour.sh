#!/bin/sh
# Go module github.com/adhocore/gronx v1.20.4, "*/30 * * * *" in Berlin on 31 October 2027, when the hour from 02:00 comes twice.
# A step of 30 minutes is at most 30 minutes of elapsed time in any other night.
# Seen: nothing fires in the first of the two hours, so 90 minutes pass between two firings.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
Europe/Berlin: 01:30 +0200, 02:00 +0100 after 1h30m0s, 02:30 +0100 after 30m0s
UTC: 23:30 +0000, 00:00 +0000 after 30m0s, 00:30 +0000 after 30m0s
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/adhocore/gronx"
)

func main() {
	for _, name := range []string{"Europe/Berlin", "UTC"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		at := time.Date(2027, 10, 30, 23, 30, 0, 0, time.UTC).In(zone)
		fmt.Print(name, ": ", at.Format("15:04 -0700"))
		for range 2 {
			next, err := gronx.NextTickAfter("*/30 * * * *", at, false)
			if err != nil {
				panic(err)
			}
			fmt.Printf(", %s after %s", next.Format("15:04 -0700"), next.Sub(at))
			at = next
		}
		fmt.Println()
	}
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/adhocore/gronx@v1.20.4 2>/dev/null
go run . | tee seen
diff noted seen
