#!/bin/sh
# Go module github.com/robfig/cron/v3 v3.0.1 (Kubernetes 1.37 computes CronJobs with it), "0 12 * * *" on Lord Howe Island, whose clocks
# move by half an hour. In 2027 they move at 2 in the night of 4 April and of 3 October; noon comes ten hours later.
# Seen: neither day has a firing. The same expression in Sydney, whose clocks move by an hour in the same nights, fires each day.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >noted <<'NOTED'
Australia/Lord_Howe: 2 April 3 April 5 April
Australia/Lord_Howe: 1 October 2 October 4 October
Australia/Sydney: 2 April 3 April 4 April
Australia/Sydney: 1 October 2 October 3 October
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

func main() {
	noon, err := cron.ParseStandard("0 12 * * *")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"Australia/Lord_Howe", "Australia/Sydney"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			panic(err)
		}
		for _, at := range []time.Time{time.Date(2027, 4, 2, 0, 0, 0, 0, zone), time.Date(2027, 10, 1, 0, 0, 0, 0, zone)} {
			fmt.Print(name, ":")
			for range 3 {
				at = noon.Next(at)
				fmt.Print(at.Format(" 2 January"))
			}
			fmt.Println()
		}
	}
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/robfig/cron/v3@v3.0.1 2>/dev/null
go run . | tee seen
diff noted seen
