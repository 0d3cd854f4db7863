#!/bin/sh
# npm date-holidays 3.37.0, days of 2027 by two laws of 2025.
# Slovakia: zákon 261/2025 Z. z. makes 8 May and 15 September working days in 2026 only. Taiwan: the act on memorial days and festivals
# (presidential decree 11400053171 of 28 May 2025) makes 1 May, 28 September, 25 October and 25 December free for everybody.
# Seen: the days of Slovakia are no holidays in 2027 either, and none of Taiwan's is one: each is an "observance".
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts date-holidays@3.37.0
cat >noted <<'NOTED'
SK 2025-09-15: public
SK 2026-09-15: observance
SK 2027-05-08: observance
SK 2027-09-15: observance
TW 2027-05-01: observance
TW 2027-09-28: observance
TW 2027-10-25: observance
TW 2027-12-25: observance
NOTED
cat >program.mjs <<'PROGRAM'
import Holidays from 'date-holidays'

const show = (country, ...days) => {
  for (const day of days) {
    const types = new Holidays(country).getHolidays(Number(day.slice(0, 4))).filter((h) => h.date.startsWith(day)).map((h) => h.type)
    console.log(`${country} ${day}:`, types.join(', ') || 'none')
  }
}

show('SK', '2025-09-15', '2026-09-15', '2027-05-08', '2027-09-15')
show('TW', '2027-05-01', '2027-09-28', '2027-10-25', '2027-12-25')
PROGRAM
node program.mjs | tee seen
diff noted seen
