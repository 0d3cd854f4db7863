// Prints the holidays of date-holidays as JSON: by place, by day, "public" or "bank". Input: {"places": [], "years": []}.
// Holidays of a part of a day, such as the evening of 24 December, are left out.
const Holidays = require('date-holidays')
const { places, years } = JSON.parse(require('fs').readFileSync(0, 'utf8'))
const day = 24 * 60 * 60 * 1000
const all = {}
for (const place of places) {
  const [country, subdivision] = place.split('-')
  const days = (all[place] = {})
  const known = new Holidays(country, subdivision)
  if (subdivision && !(new Holidays().getStates(country) || {})[subdivision]) continue
  for (const year of years) {
    for (const h of known.getHolidays(year) || []) {
      const length = Math.round((h.end - h.start) / day)
      if (h.type !== 'public' && h.type !== 'bank' || !h.date.includes(' 00:00:00') || length < 1) continue
      for (let i = 0; i < length; i++) {
        const at = new Date(Date.parse(h.date.slice(0, 10) + 'T00:00:00Z') + i * day).toISOString().slice(0, 10)
        if (days[at] !== 'public') days[at] = h.type
      }
    }
  }
}
process.stdout.write(JSON.stringify(all))
