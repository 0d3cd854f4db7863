#!/bin/sh
# Ranges of weekdays that end with 7. crontab(5): 0 and 7 are both Sunday, so 0-7 and 1-7 are every day, and 6-7 is the weekend.
# Go modules github.com/hashicorp/cronexpr v1.1.3 and github.com/aptible/supercronic v0.2.48 (cronexpr/README.md of both: the domain is 0-7,
# and 7 is Sunday); npm cronosjs 1.7.1 and @datasert/cronjs-matcher 1.4.0. The days are those of 4 to 10 January 2027.
# Seen: 0-7 is Sunday alone in supercronic and cronosjs. 1-7 and 6-7 lack Sunday in hashicorp and @datasert, without an error, and
# supercronic refuses them. All four read the list 6,7 rightly.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts cronosjs@1.7.1 @datasert/cronjs-matcher@1.4.0
cat >noted <<'NOTED'
hashicorp: 0-7 Mon Tue Wed Thu Fri Sat Sun; 1-7 Mon Tue Wed Thu Fri Sat; 6-7 Sat; 6,7 Sat Sun
supercronic: 0-7 Sun; 1-7 refused; 6-7 refused; 6,7 Sat Sun
cronosjs: 0-7 Sun; 1-7 Mon Tue Wed Thu Fri Sat Sun; 6-7 Sat Sun; 6,7 Sat Sun
datasert: 0-7 Mon Tue Wed Thu Fri Sat Sun; 1-7 Mon Tue Wed Thu Fri Sat; 6-7 Sat; 6,7 Sat Sun
NOTED
cat >main.go <<'PROGRAM'
package main

import (
	"fmt"
	"strings"
	"time"

	supercronic "github.com/aptible/supercronic/cronexpr"
	hashicorp "github.com/hashicorp/cronexpr"
)

type expression interface{ Next(time.Time) time.Time }

func main() {
	show("hashicorp", func(cron string) (expression, error) { return hashicorp.Parse(cron) })
	show("supercronic", func(cron string) (expression, error) { return supercronic.Parse(cron) })
}

func show(library string, parse func(string) (expression, error)) {
	var texts []string
	for _, weekdays := range []string{"0-7", "1-7", "6-7", "6,7"} {
		text := weekdays
		cron, err := parse("0 8 * * " + weekdays)
		if err != nil {
			texts = append(texts, text+" refused")
			continue
		}
		end := time.Date(2027, 1, 11, 0, 0, 0, 0, time.UTC)
		for at := cron.Next(end.AddDate(0, 0, -7)); at.Before(end); at = cron.Next(at) {
			text += at.Format(" Mon")
		}
		texts = append(texts, text)
	}
	fmt.Printf("%s: %s\n", library, strings.Join(texts, "; "))
}
PROGRAM
cat >program.mjs <<'PROGRAM'
import { CronosExpression } from 'cronosjs'
import { getFutureMatches } from '@datasert/cronjs-matcher'

const start = new Date('2027-01-04T00:00:00Z'), end = new Date('2027-01-11T00:00:00Z')
const libraries = {
  cronosjs: (cron) => CronosExpression.parse(cron, { timezone: 'UTC' }).nextNDates(start, 7),
  datasert: (cron) => getFutureMatches(cron, { startAt: start.toISOString(), timezone: 'UTC', matchCount: 7 }).map((at) => new Date(at)),
}
for (const [library, next] of Object.entries(libraries)) {
  const texts = ['0-7', '1-7', '6-7', '6,7'].map((weekdays) => [weekdays, ...next('0 8 * * ' + weekdays)
    .filter((at) => at < end).map((at) => at.toUTCString().slice(0, 3))].join(' '))
  console.log(`${library}: ${texts.join('; ')}`)
}
PROGRAM
go mod init example.com/finding 2>/dev/null
go get github.com/hashicorp/cronexpr@v1.1.3 github.com/aptible/supercronic@v0.2.48 2>/dev/null
(go run . && node program.mjs) | tee seen
diff noted seen
