#!/bin/sh
# npm date-holidays 3.37.0, 20 November in Brazil: a holiday of the whole country since Lei 14.759/2023.
# The four states Amazonas, Mato Grosso, Rio de Janeiro and São Paulo had it before; their entries end on 21 December 2023.
# Seen: an entry of a state that has ended hides the entry of the country, so the four states have no holiday, and Bahia has.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts date-holidays@3.37.0
cat >noted <<'NOTED'
BR 2026-11-20: Dia da Consciência Negra
BR BA 2026-11-20: Dia da Consciência Negra
BR AM 2026-11-20: none
BR MT 2026-11-20: none
BR RJ 2026-11-20: none
BR SP 2026-11-20: none
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

for (const state of [undefined, 'BA', 'AM', 'MT', 'RJ', 'SP']) show('BR', state, '2026-11-20')
PROGRAM
node program.mjs | tee seen
diff noted seen
