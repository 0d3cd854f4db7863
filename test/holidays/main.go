// Command holidays compares the public holidays of all offered countries and subdivisions with a second source, the npm package
// date-holidays, for this year and the next two. Each difference must be explained in explained.txt, and each explanation used.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/timeline/recur"
)

// pinned is the second source.
const pinned = "date-holidays@3.37.0"

//go:embed second.js
var script []byte

//go:embed explained.txt
var explained string

func main() {
	if err := run(context.Background(), time.Now().Year()); err != nil {
		fmt.Fprintln(os.Stderr, "check-holidays:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, first int) error {
	reasons, err := parse(explained)
	if err != nil {
		return err
	}
	years := []int{first, first + 1, first + 2}
	ours := days(years)
	theirs, err := second(ctx, ours, years)
	if err != nil {
		return err
	}
	bad := 0
	for _, d := range differences(ours, theirs) {
		why := explain(reasons, d)
		if why == "" {
			why = "NOT EXPLAINED"
			bad++
		}
		fmt.Printf("%-7s %s %-6s %s\n", d.place, d.day, d.side, why)
	}
	for _, r := range reasons {
		if !r.used {
			fmt.Printf("UNUSED  %s\n", r.line)
			bad++
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d differences without explanation, or explanations without difference: see test/holidays/explained.txt", bad)
	}
	fmt.Printf("%d places agree with %s, but for the explained differences\n", len(ours), pinned)
	return nil
}

// days returns the product's holidays as YYYY-MM-DD, by place, such as AT and DE-BE.
func days(years []int) map[string][]string {
	all := map[string][]string{}
	for _, country := range times.Countries() {
		for _, sub := range append(times.Subdivisions(country), "") {
			spec := v1alpha1.CalendarHolidays{Country: country}
			if sub != "" {
				spec.Subdivisions = []string{sub}
			}
			found, errs := times.ParseHolidays(spec, nil)
			if len(errs) > 0 {
				continue // the country has holidays by subdivision only
			}
			place := strings.TrimSuffix(country+"-"+sub, "-")
			all[place] = []string{}
			end := time.Date(years[len(years)-1]+1, 1, 1, 0, 0, 0, 0, time.UTC)
			for d := time.Date(years[0], 1, 1, 0, 0, 0, 0, time.UTC); d.Before(end); d = d.AddDate(0, 0, 1) {
				if slices.ContainsFunc(found, func(h timeline.NamedDays) bool { return recur.Has(h.Days, d.Unix()/recur.DaySeconds) }) {
					all[place] = append(all[place], d.Format(time.DateOnly))
				}
			}
		}
	}
	return all
}

// second installs the second source in a directory of its own, and returns its holidays by place and day.
func second(ctx context.Context, ours map[string][]string, years []int) (all map[string]map[string]string, err error) {
	dir, err := os.MkdirTemp("", "holidays")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "second.js"), script, 0o600); err != nil {
		return nil, fmt.Errorf("write the script: %w", err)
	}
	install := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, pinned)
	install.Stderr = os.Stderr
	if err := install.Run(); err != nil {
		return nil, fmt.Errorf("install %s: %w", pinned, err)
	}
	in := struct {
		Places []string `json:"places"`
		Years  []int    `json:"years"`
	}{Years: years}
	for place := range ours {
		in.Places = append(in.Places, place)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode the places: %w", err)
	}
	node := exec.CommandContext(ctx, "node", "second.js")
	node.Dir, node.Stdin, node.Stderr = dir, bytes.NewReader(raw), os.Stderr
	out, err := node.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", pinned, err)
	}
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("decode the holidays of %s: %w", pinned, err)
	}
	return all, nil
}
