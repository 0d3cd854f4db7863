#!/bin/sh
# npm date-holidays 3.37.0, holidays of three states of Brazil.
# Pernambuco: 6 March since Lei 16.059/2017. Paraná: Lei 18.384/2014 made 19 December a working day. Paraíba: Lei 10.601/2015
# left 5 August and repealed 26 July.
# Seen: the days of the laws before: the first Sunday of March, 19 December and 26 July.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts date-holidays@3.37.0
cat >noted <<'NOTED'
BR PE 2026-03-01: Revolução Pernambucana de 1817
BR PE 2026-03-06: none
BR PR 2028-12-19: Emancipação política do estado do Paraná
BR PB 2028-07-26: Homenagem à memória do ex-presidente João Pessoa
BR PB 2028-08-05: Nossa Senhora das Neves
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

show('BR', 'PE', '2026-03-01', '2026-03-06')
show('BR', 'PR', '2028-12-19')
show('BR', 'PB', '2028-07-26', '2028-08-05')
PROGRAM
node program.mjs | tee seen
diff noted seen
