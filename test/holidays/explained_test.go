package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestEachDifferenceIsOfOneSource(t *testing.T) {
	got := differences(map[string][]string{"AT": {"2026-01-01", "2026-01-06", "2026-12-24"}},
		map[string]map[string]string{"AT": {"2026-01-01": "public", "2026-12-24": "bank", "2026-12-25": "public", "2026-12-31": "bank"}})
	want := []difference{{"AT", "2026-01-06", "more"}, {"AT", "2026-12-25", "less"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(difference{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExplanationsFitByPlaceSideAndDay(t *testing.T) {
	reasons, err := parse("# a comment\n\nCH-* BR | less | Sunday 01-06 | a\nCH | more | * | b\nAT | more | 2026-05-01 | c\n")
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[difference]string{
		{"CH-ZH", "2026-04-05", "less"}: "a",
		{"CH-ZH", "2026-01-06", "less"}: "a",
		{"BR", "2026-04-05", "less"}:    "a",
		{"CH", "2026-04-05", "less"}:    "",
		{"CH-ZH", "2026-04-05", "more"}: "",
		{"CH", "2026-04-06", "more"}:    "b",
		{"AT", "2027-05-01", "more"}:    "",
	} {
		if got := explain(reasons, d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	var used []bool
	for _, r := range reasons {
		used = append(used, r.used)
	}
	if diff := cmp.Diff([]bool{true, true, false}, used, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
	if _, err := parse("AT | other | * | why"); err == nil {
		t.Error("a side that is none is read")
	}
}
