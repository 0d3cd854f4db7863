package timeline

import "time"

// Run is a day of a timeline, or several days in a row under the same name.
type Run struct {
	// First and Last are midnights.
	First, Last time.Time
	Name        string
}

// Coming lists the days, from a midnight on, on which the timeline is on at some time. days is the number of searched
// days. most is the largest number of returned runs.
func (t Timeline) Coming(midnight time.Time, days, most int) (runs []Run) {
	for range days {
		tomorrow := midnight.AddDate(0, 0, 1)
		for _, name := range t.names(midnight, tomorrow) {
			if last := len(runs) - 1; last >= 0 && runs[last].Name == name && !runs[last].Last.AddDate(0, 0, 1).Before(midnight) {
				runs[last].Last = midnight
				continue
			}
			if len(runs) == most {
				return runs
			}
			runs = append(runs, Run{First: midnight, Last: midnight, Name: name})
		}
		midnight = tomorrow
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
