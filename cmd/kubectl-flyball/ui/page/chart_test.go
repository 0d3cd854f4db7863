package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
)

// TestTheWeekMarksWeekendsTodayAndNow checks the shades behind the rows, and that an exception has a row with its time.
func TestTheWeekMarksWeekendsTodayAndNow(t *testing.T) {
	text, all := rendered(t, demoReport(t)) // from a Monday, at 10:00
	classes := map[string]int{}
	for _, n := range all {
		classes[n.Data+" "+attribute(n, "class")]++
	}
	for class, want := range map[string]int{"rect weekend": 4, "rect today": 2, "text now-label": 2} { // of the week and of the savings
		if got := classes[class]; got != want {
			t.Errorf("%d of %s, want %d", got, class, want)
		}
	}
	for _, want := range []string{`<span class="next">from Wed 14:00 until Wed 15:00</span>`, `<text class="long today"`,
		"Asleep (no replicas) from Mon 20:00 until Tue 08:00, because of Schedule/shop/office-hours."} {
		if !strings.Contains(text, want) {
			t.Errorf("the report has no %q", want)
		}
	}
}

// TestRowsWithTheSameBarsShareAShape checks that the size of a report does not grow with the bars of each target.
func TestRowsWithTheSameBarsShareAShape(t *testing.T) {
	size := func(targets int) (length, count int) {
		var text strings.Builder
		text.WriteString(`{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: shop, name: nights}, spec: {target:
  {kinds: [{group: apps, kind: Deployment}]}, timeZone: UTC, asleep: [{name: night, from: "20:00", to: "08:00"}]}}`)
		for i := range targets {
			_, _ = fmt.Fprintf(&text, "\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web-%d}, "+
				"spec: {replicas: 2}}", i)
		}
		file := filepath.Join(t.TempDir(), "many.yaml")
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		w, err := source.Files{Paths: []string{file}, FlyballNamespace: source.DefaultNamespace}.Load()
		if err != nil {
			t.Fatal(err)
		}
		from := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
		r, err := page.Of(t.Context(), w, page.Input{Now: from, From: from, To: from.AddDate(0, 0, 7), FreezesTo: from, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		made, all := rendered(t, r)
		return len(made), len(all)
	}
	bytes10, elements10 := size(10)
	bytes110, elements110 := size(110)
	if each := (bytes110 - bytes10) / 100; each > 600 {
		t.Errorf("a target takes %d bytes", each)
	}
	if each := (elements110 - elements10) / 100; each > 8 {
		t.Errorf("a target takes %d elements", each)
	}
}

// TestReportsAreHeadedByTheirLength checks that the file and the text say day, week or month.
func TestReportsAreHeadedByTheirLength(t *testing.T) {
	from := time.Date(2037, 5, 11, 0, 0, 0, 0, time.UTC)
	w := demo(t)
	for days, want := range map[int]string{1: "Day", 7: "Week", 10: "10 days", 31: "Month"} {
		r, err := page.Of(t.Context(), w, page.Input{Now: from, From: from, To: from.AddDate(0, 0, days), FreezesTo: from, Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		_, all := rendered(t, r)
		if !slices.ContainsFunc(all, func(n *html.Node) bool { return n.Data == "h2" && n.FirstChild.Data == want }) {
			t.Errorf("the report of %d days has no heading %s", days, want)
		}
	}
}

// TestEachFillOfThePictureExists: the legend has all states, and each has a pattern of its own.
func TestEachFillOfThePictureExists(t *testing.T) {
	text, _ := rendered(t, demoReport(t))
	for _, s := range page.BarStates() {
		if fill := "fill-" + strings.ReplaceAll(string(s), " ", "-"); !strings.Contains(text, `url(#`+fill+`)`) ||
			strings.Count(text, `id="`+fill+`"`) != 1 {
			t.Errorf("the state %q has no fill %s", s, fill)
		}
	}
}
