package adapter

import (
	"cmp"
	"fmt"
	"strings"

	"flyball.dev/flyball/adapters/cases"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
)

// Cases are the golden cases of adapters with their results.
type Cases struct {
	Passed  bool           `json:"passed"`
	Results []cases.Result `json:"results"`
}

// RunCases runs the golden cases of every adapter in some directories. With update it writes the golden files instead
// of comparing with them.
func RunCases(dirs []string, update bool) (*Cases, error) {
	all := &Cases{Passed: true}
	for _, dir := range dirs {
		folders, err := cases.Folders(dir)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			results, err := cases.Run(folder, update)
			if err != nil {
				return nil, err
			}
			for _, r := range results {
				all.Passed = all.Passed && len(r.Failures) == 0
			}
			all.Results = append(all.Results, results...)
		}
	}
	return all, nil
}

// Names implements printer.Finding.
func (c *Cases) Names() []string {
	names := make([]string, len(c.Results))
	for i, r := range c.Results {
		names[i] = strings.TrimSuffix(r.Adapter+"/"+r.Case, "/")
	}
	return names
}

// Text implements printer.Finding.
func (c *Cases) Text(w *printer.Writer) {
	failed, rows := 0, make([][]printer.Cell, len(c.Results))
	for i, r := range c.Results {
		said := printer.Cell{Text: "ok", Style: printer.Good}
		if len(r.Failures) > 0 {
			failed++
			said = printer.Cell{Text: fmt.Sprintf("%d failures", len(r.Failures)), Style: printer.Bad}
			if len(r.Failures) == 1 {
				said.Text = "1 failure"
			}
		}
		rows[i] = []printer.Cell{{Text: r.Adapter}, {Text: cmp.Or(r.Case, "(all cases together)")}, said}
	}
	w.Grid("", []string{"ADAPTER", "CASE", "RESULT"}, rows)
	for _, r := range c.Results {
		if len(r.Failures) == 0 {
			continue
		}
		w.Heading("%s", strings.TrimSuffix(r.Adapter+" "+r.Case, " "))
		for _, failure := range r.Failures {
			for i, line := range strings.Split(strings.TrimRight(failure, "\n"), "\n") {
				w.Line("%s%s", strings.Repeat("  ", 1+min(i, 1)), line)
			}
		}
	}
}
