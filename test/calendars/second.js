// Prints two lines of JSON for each sample: the starts by rrule, as readings in seconds, and the occurrences by ical.js, as [start, end]
// in seconds. A fault is a text. Input: {"to": seconds, "samples": [{"file", "set"}]}.
import { readFileSync, writeSync } from 'node:fs'
import ICAL from 'ical.js'
import rrule from 'rrule'

const { to, samples } = JSON.parse(readFileSync(0, 'utf8'))

function attempt(run) {
  try {
    return run()
  } catch (e) {
    return 'fails: ' + e.message
  }
}

function readings(set) {
  return rrule.rrulestr(set, { forceset: true }).between(new Date(0), new Date(to * 1000), true).map((d) => d.getTime() / 1000)
}

function occurrences(file) {
  ICAL.TimezoneService.reset()
  const calendar = new ICAL.Component(ICAL.parse(file))
  for (const zone of calendar.getAllSubcomponents('vtimezone')) ICAL.TimezoneService.register(zone)
  const [main, ...overrides] = calendar.getAllSubcomponents('vevent').map((c) => new ICAL.Event(c))
  for (const o of overrides) main.relateException(o)
  const all = []
  const add = (item, start, end) => {
    if (item.component.getFirstPropertyValue('status') !== 'CANCELLED') all.push([start.toUnixTime(), end.toUnixTime()])
  }
  if (!main.isRecurring()) {
    add(main, main.startDate, main.endDate)
    return all
  }
  const next = main.iterator()
  for (let at = next.next(); at && at.toUnixTime() < to + 10 * 86400; at = next.next()) {
    const found = main.getOccurrenceDetails(at)
    add(found.item, found.startDate, found.endDate)
  }
  return all
}

const print = (answer) => writeSync(1, JSON.stringify(answer) + '\n')
for (const s of samples) {
  print(attempt(() => readings(s.set)))
  print(attempt(() => occurrences(s.file)))
}
