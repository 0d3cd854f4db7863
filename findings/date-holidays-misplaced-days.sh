#!/bin/sh
# npm date-holidays 3.37.0, public holidays of 2027 in Cyprus and Ecuador.
# Green Monday is 48 days before the Orthodox Easter of 2 May: Monday, 15 March. Ecuador's Independence of Guayaquil is that of
# 9 October 1820 (Código del Trabajo, art. 65).
# Seen: Cyprus has Green Monday twice, as an observance on Monday and as the public holiday on Tuesday, 16 March; in Greece it is right.
# Guayaquil is on 10 September: day and month are exchanged.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts date-holidays@3.37.0
cat >noted <<'NOTED'
CY Καθαρά Δευτέρα: Mon 15 Mar observance, Tue 16 Mar public
GR Καθαρά Δευτέρα: Mon 15 Mar public
EC Independencia de Guayaquil: Fri 10 Sep public
NOTED
cat >program.mjs <<'PROGRAM'
import Holidays from 'date-holidays'

for (const [country, name] of [['CY', 'Καθαρά Δευτέρα'], ['GR', 'Καθαρά Δευτέρα'], ['EC', 'Independencia de Guayaquil']]) {
  const days = new Holidays(country).getHolidays(2027).filter((h) => h.name === name).map((h) => {
    const [weekday, day, month] = new Date(h.date.slice(0, 10)).toUTCString().split(/,? /)
    return `${weekday} ${day} ${month} ${h.type}`
  })
  console.log(`${country} ${name}:`, days.join(', '))
}
PROGRAM
node program.mjs | tee seen
diff noted seen
