package main

import (
	"os"
	"strings"
	"testing"
)

func TestWeekReport(t *testing.T) {
	file, err := weekReport(t.Context(), "../..", t.TempDir(), monday(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"office-hours", "holiday", "Mon 2037-05-11 00:00 CEST to Mon 2037-05-18 00:00 CEST", ">checkout "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report has no %q", want)
		}
	}
}
