package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// mark returns the symbol of an hour in a state.
func mark(s state) string { return [...]string{"█", "▒", "·", " ", "▓", " "}[s] }

// chart returns one row for each target. A column stands for one, two or four hours, whichever fits the width. If only
// one half of a column is awake, the column shows half a block, so no detail is lost with two hours.
func chart(s *screen, tracks []track, begin time.Time, width int) []string {
	perColumn := 4
	for _, n := range []int{2, 1} {
		if chartWidth(n) <= width {
			perColumn = n
		}
	}
	out := []string{"  " + fit("", nameWidth) + " " + s.in(dim, chartHead(begin, perColumn))}
	for i := range tracks {
		out = append(out, "  "+fit(tracks[i].String(), nameWidth)+" "+chartRow(s, &tracks[i], begin, perColumn)+" "+share(&tracks[i], begin))
	}
	legend := "█ awake  ▒ reduced  · asleep"
	if slices.ContainsFunc(tracks, func(t track) bool { return t.resource == freezes }) {
		legend += "  ▓ frozen"
	}
	legend += fmt.Sprintf("  (blank) off    %d h a column", perColumn)
	// Below the columns, if there is room.
	indent := max(min(2+nameWidth+1, width-utf8.RuneCountInString(legend)), 2)
	return append(out, strings.Repeat(" ", indent)+s.in(dim, legend))
}

// chartWidth returns the width of a chart with the given hours per column.
func chartWidth(perColumn int) int {
	return 2 + nameWidth + 1 + days*(24/perColumn+1) + morning(perColumn) + 1 + len("100%")
}

// morning returns the number of columns of the day after the week.
func morning(perColumn int) int { return (lastHour - days*24 + perColumn - 1) / perColumn }

func chartHead(begin time.Time, perColumn int) string {
	var b strings.Builder
	for day := range days {
		label := begin.AddDate(0, 0, day).Format("Mon 2")
		if day == holiday && 24/perColumn >= len("Thu 14 holiday") {
			label += " holiday"
		}
		b.WriteString(fit(label, 24/perColumn) + " ")
	}
	return b.String() + fit(begin.AddDate(0, 0, days).Format("Mon 2"), max(morning(perColumn), len("Mon 18")))
}

func chartRow(s *screen, t *track, begin time.Time, perColumn int) string {
	var b strings.Builder
	for column := range days*24/perColumn + morning(perColumn) {
		if first := column * perColumn; first > 0 && first%24 == 0 {
			b.WriteString(s.in(dim, "│"))
		}
		b.WriteString(cell(s, t, begin, column*perColumn, perColumn))
	}
	return b.String()
}

// cell returns one column, starting at an hour.
func cell(s *screen, t *track, begin time.Time, hour, hours int) string {
	middle := func(part, parts int) state {
		within := time.Duration(2*part+1) * time.Duration(hours) * time.Hour / time.Duration(2*parts)
		return t.at(begin.Add(time.Duration(hour)*time.Hour + within))
	}
	if hours == 1 {
		only := middle(0, 1)
		return s.in(paintOf(only), mark(only))
	}
	first, second := middle(0, 2), middle(1, 2)
	switch {
	case first == second:
		return s.in(paintOf(first), mark(first))
	case first == awake:
		return s.in(paintOf(awake), "▌")
	case second == awake:
		return s.in(paintOf(awake), "▐")
	default:
		return s.in(paintOf(first), mark(first))
	}
}

// share returns the percentage of the week in which a target was not awake.
func share(t *track, begin time.Time) string {
	if t.week == nil {
		return "   -"
	}
	resting := 0
	for hour := range days * 24 {
		if t.at(begin.Add(time.Duration(hour)*time.Hour+30*time.Minute)) != awake {
			resting++
		}
	}
	return fmt.Sprintf("%3d%%", resting*100/(days*24))
}
