#!/bin/sh
# Go module github.com/netresearch/go-cron v0.9.1, a daily firing in the nights in which the clocks move. Its documents (doc.go, README.md)
# say: a skipped time fires right after the gap, a midnight that does not exist is normalized, a repeated time fires once.
# Seen: 02:30 in Berlin fires after the gap (at 03:30), as said. The midnight that São Paulo skipped on 4 November 2018 never fires, and
# 02:30 of 31 October 2027 fires twice in Berlin.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
Europe/Berlin 30 2 * * *: 28 03:30 +0200, 29 02:30 +0200
America/Sao_Paulo 0 0 * * *: 05 00:00 -0200, 06 00:00 -0200
Europe/Berlin 30 2 * * *: 31 02:30 +0200, 31 02:30 +0100
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/netresearch/go-cron"
)

func main() {
	for _, night := range []struct{ zone, expression, after string }{
		{"Europe/Berlin", "30 2 * * *", "2027-03-28 00:30"},
		{"America/Sao_Paulo", "0 0 * * *", "2018-11-03 12:00"},
		{"Europe/Berlin", "30 2 * * *", "2027-10-31 00:30"},
	} {
		zone, err := time.LoadLocation(night.zone)
		if err != nil {
			panic(err)
		}
		schedule, err := cron.ParseStandard(night.expression)
		if err != nil {
			panic(err)
		}
		after, err := time.ParseInLocation("2006-01-02 15:04", night.after, zone)
		if err != nil {
			panic(err)
		}
		first := schedule.Next(after)
		fmt.Printf("%s %s: %s, %s\n", night.zone, night.expression, first.Format("02 15:04 -0700"),
			schedule.Next(first).Format("02 15:04 -0700"))
	}
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/netresearch/go-cron@v0.9.1 2>/dev/null
go run . | tee seen
diff noted seen
