package timeline

import "time"

// Run is a day of a timeline, or several days in a row under the same name.
type Run struct {
	// First and Last are the begins of days.
	First, Last time.Time
	Name        string
}

// Coming lists the days on which the timeline is on at some time. The first searched day is that of the given instant,
// in the time zone of the instant. days is the number of searched days. most is the largest number of returned runs.
func (t Timeline) Coming(at time.Time, days, most int) (runs []Run) {
	loc := at.Location()
	yesterday, today := Midnight(at, -1, loc), Midnight(at, 0, loc)
	for day := range days {
		tomorrow := Midnight(at, day+1, loc)
		for _, name := range t.names(today, tomorrow) {
			if last := len(runs) - 1; last >= 0 && runs[last].Name == name && !runs[last].Last.Before(yesterday) {
				runs[last].Last = today
				continue
			}
			if len(runs) == most {
				return runs
			}
			runs = append(runs, Run{First: today, Last: today, Name: name})
		}
		yesterday, today = today, tomorrow
	}
	return runs
}

// maxNames is the largest number of listed names of one day.
const maxNames = 4

// names returns the names of the states in which the timeline is on between two instants.
func (t Timeline) names(from, to time.Time) (names []string) {
	for at := from; at.Before(to) && len(names) < maxNames; {
		st := t.At(at)
		if st.Active && (len(names) == 0 || names[len(names)-1] != st.Name) {
			names = append(names, st.Name)
		}
		if st.Until.IsZero() {
			break
		}
		at = st.Until
	}
	return names
}
