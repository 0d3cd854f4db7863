package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// table has the explanations, in a table: library, kinds of files in backticks, difference, section of the RFC.
const table = "docs/calendars.md"

// row explains the differences of a library in files of all its kinds.
type row struct {
	library string
	kinds   []string
	used    int
}

// read returns the rows of a table.
func read(file string) (rows []*row, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the explanations: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[2], "`") {
			continue
		}
		r := &row{library: strings.TrimSpace(cells[1])}
		for i, kind := range strings.Split(cells[2], "`") {
			if i%2 == 1 {
				r.kinds = append(r.kinds, kind)
			}
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, errors.New(file + " has no table of explanations")
	}
	return rows, nil
}

// explained reports whether a row explains a difference, and counts it for the first such row.
func explained(rows []*row, library string, s *sample) bool {
	kinds := s.kinds()
	for _, r := range rows {
		if r.library == library && !slices.ContainsFunc(r.kinds, func(kind string) bool { return !slices.Contains(kinds, kind) }) {
			r.used++
			return true
		}
	}
	return false
}
