package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const holidaysIntro = `# Holidays

The public holidays of a Calendar are those of the library [rickar/cal](https://github.com/rickar/cal), with corrections by the law in
[corrections.go](../engine/policy/times/corrections.go), and the days of regions in [regions.go](../engine/policy/times/regions.go). Each
country and subdivision has a list of its days from 2026 to 2028 in
[testdata/holidays](../engine/policy/times/testdata/holidays), which a test compares with the product. The lists and the
explanations below make this page (%s).

A day that falls on a weekend and its day in lieu both count. Holidays of a part of a day, of single towns, and those by the
sighting of the moon are missing: list them under %s.

## Checked until

A year is checked if the days were compared with the source, as it was found on the day. Later years, and places without a
year, get a warning.

| Place | Until | Source | Read |
|---|---|---|---|
`

const holidaysDifferences = `
## Differences from a second source

%s compares the days of this year and the next two with the npm package date-holidays. "More" are days that only the product
has, "less" those that only the package has.

| Place | | Days | Why |
|---|---|---|---|
`

// section is a part of a list of holidays with a source.
type section struct {
	places                []string
	source, read, checked string
}

// writeHolidays writes the page of holidays into a directory. root is the directory of the repository.
func writeHolidays(root, dir string) error {
	files, err := filepath.Glob(filepath.Join(root, "engine", "policy", "times", "testdata", "holidays", "*.txt"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%d lists of holidays were found: %w", len(files), err)
	}
	var page strings.Builder
	fmt.Fprintf(&page, holidaysIntro, "`make generate`", "`dates`")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a list of holidays: %w", err)
		}
		for _, s := range sections(string(raw)) {
			fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", strings.Join(s.places, ", "), s.checked, s.source, s.read)
		}
	}
	raw, err := os.ReadFile(filepath.Join(root, "test", "holidays", "explained.txt"))
	if err != nil {
		return fmt.Errorf("read the explanations of differences: %w", err)
	}
	fmt.Fprintf(&page, holidaysDifferences, "`make check-holidays`")
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			fmt.Fprintf(&page, "| %s |\n", strings.ReplaceAll(strings.ReplaceAll(line, " | * | ", " | all | "), "-*", ""))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "holidays.md"), []byte(page.String()), 0o644); err != nil {
		return fmt.Errorf("write the page of holidays: %w", err)
	}
	return nil
}

// sections returns the sections of a file of lists.
func sections(text string) (all []section) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), ": ")
		if key == "source" {
			all = append(all, section{source: value})
		}
		if len(all) == 0 {
			continue
		}
		last := &all[len(all)-1]
		place, _, isList := strings.Cut(key, " ")
		switch {
		case key == "read":
			last.read = value
		case key == "checked until":
			last.checked = value
		case !strings.HasPrefix(line, "#") && isList && !slices.Contains(last.places, place):
			last.places = append(last.places, place)
		}
	}
	return all
}
