#!/bin/sh
# npm date-holidays 3.37.0, the own days of three communities of Spain in 2026.
# By the lists for 2026 (BOE-A-2025-21667, the source that the package names): 9 October in Valencia, 9 June in Murcia, 28 July in Cantabria.
# Seen: none in Valencia and Murcia; in Cantabria 28 June in place of 28 July.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts date-holidays@3.37.0
cat >noted <<'NOTED'
ES VC 2026-10-09: none
ES MC 2026-06-09: none
ES CB 2026-06-28: Día de las Instituciones de Cantabria
ES CB 2026-07-28: none
NOTED
cat >program.mjs <<'PROGRAM'
import Holidays from 'date-holidays'

const show = (country, state, ...days) => {
  for (const day of days) {
    const names = (new Holidays(country, state).getHolidays(Number(day.slice(0, 4))))
      .filter((h) => h.type === 'public' && h.date.startsWith(day)).map((h) => h.name)
    console.log([country, state, day].filter(Boolean).join(' ') + ':', names.join(', ') || 'none')
  }
}

show('ES', 'VC', '2026-10-09')
show('ES', 'MC', '2026-06-09')
show('ES', 'CB', '2026-06-28', '2026-07-28')
PROGRAM
node program.mjs | tee seen
diff noted seen
