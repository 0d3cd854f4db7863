#!/bin/sh
# Go module github.com/reugn/go-quartz v0.15.2, days that not every named month has: 29 February, and the 31st of April and May.
# Its README.md: the Quartz format. A date that does not exist does not fire: 29 February 2028 and 31 May 2027 are the first firings.
# Seen: the missing day fires on the 1st of the next month: 1 March 2027 and 1 May 2027. With "*" as the month it is left out, as said.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
0 0 8 29 2 ? from 2027-01-10: 2027-03-01 2028-02-29
0 0 8 31 4,5 ? from 2027-01-10: 2027-05-01 2027-05-31
0 0 8 30 2,3 ? from 2028-01-10: 2028-03-01 2028-03-30
0 0 8 31 * ? from 2027-01-10: 2027-01-31 2027-03-31
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"time"

	"github.com/reugn/go-quartz/quartz"
)

func main() {
	for _, c := range [][2]string{
		{"0 0 8 29 2 ?", "2027-01-10"}, {"0 0 8 31 4,5 ?", "2027-01-10"}, {"0 0 8 30 2,3 ?", "2028-01-10"}, {"0 0 8 31 * ?", "2027-01-10"},
	} {
		at, err := time.Parse(time.DateOnly, c[1])
		if err != nil {
			panic(err)
		}
		trigger, err := quartz.NewCronTriggerWithLoc(c[0], time.UTC)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s from %s:", c[0], c[1])
		for range 2 {
			next, err := trigger.NextFireTime(at.UnixNano())
			if err != nil {
				panic(err)
			}
			at = time.Unix(0, next).UTC()
			fmt.Print(at.Format(" 2006-01-02"))
		}
		fmt.Println()
	}
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/reugn/go-quartz@v0.15.2 2>/dev/null
go run . | tee seen
diff noted seen
