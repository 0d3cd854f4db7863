package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// difference is a holiday of one source only.
type difference struct {
	// place is a country or a subdivision, such as AT and DE-BE.
	place string
	// day is YYYY-MM-DD.
	day string
	// side is more if only the product has the day, less if only the second source has it.
	side string
}

// differences returns the days of one source only. A day that is a bank holiday in the second source agrees with either answer.
func differences(ours map[string][]string, theirs map[string]map[string]string) (all []difference) {
	for _, place := range slices.Sorted(maps.Keys(ours)) {
		for _, day := range ours[place] {
			if theirs[place][day] == "" {
				all = append(all, difference{place, day, "more"})
			}
		}
		for _, day := range slices.Sorted(maps.Keys(theirs[place])) {
			if theirs[place][day] == "public" && !slices.Contains(ours[place], day) {
				all = append(all, difference{place, day, "less"})
			}
		}
	}
	return all
}

// reason explains differences. A line of explained.txt is "places | side | days | why".
type reason struct {
	line, side, why string
	// places are places, and CH-* for all subdivisions.
	places []string
	// days are YYYY-MM-DD, MM-DD for each year, a weekday, or * for each day.
	days []string
	used bool
}

func parse(text string) (all []*reason, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, " | ", 4)
		if len(parts) != 4 || parts[1] != "more" && parts[1] != "less" {
			return nil, fmt.Errorf("explained.txt: %q is not of the form: places | more or less | days | why", line)
		}
		all = append(all, &reason{line: line, places: strings.Fields(parts[0]), side: parts[1], days: strings.Fields(parts[2]), why: parts[3]})
	}
	return all, nil
}

// explain returns the first explanation of a difference, and marks the explanation as used.
func explain(reasons []*reason, d difference) string {
	country, _, isPart := strings.Cut(d.place, "-")
	at, _ := time.Parse(time.DateOnly, d.day)
	for _, r := range reasons {
		placed := slices.Contains(r.places, d.place) || isPart && slices.Contains(r.places, country+"-*")
		dated := slices.ContainsFunc(r.days, func(day string) bool {
			return day == "*" || day == d.day || day == d.day[len("2006-"):] || day == at.Weekday().String()
		})
		if placed && dated && r.side == d.side {
			r.used = true
			return r.why
		}
	}
	return ""
}
