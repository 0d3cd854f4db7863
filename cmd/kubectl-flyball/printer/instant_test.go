package printer_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
)

func TestParseAcceptsInstantsInTheZone(t *testing.T) {
	berlin, err := printer.ParseZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"now": "2037-05-11T12:00:00Z", "+2h": "2037-05-11T14:00:00Z", "-1d": "2037-05-10T12:00:00Z",
		"2037-05-11T18:00:00+02:00": "2037-05-11T16:00:00Z", "2037-05-11T18:00": "2037-05-11T16:00:00Z",
		"2037-05-11 18:00:30":       "2037-05-11T16:00:30Z",
		"2037-10-25T02:30:00+01:00": "2037-10-25T01:30:00Z", "2037-10-25T03:30": "2037-10-25T02:30:00Z",
		"2037-05-11T9:00": "2037-05-11T07:00:00Z", "2037-05-11 18:00:30.5": "2037-05-11T16:00:30Z", " 2037-05-11T18:00 ": "2037-05-11T16:00:00Z",
	} {
		got, err := printer.ParseInstant(text, now, berlin)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %s, %v; want %s", text, got.UTC(), err, want)
		}
	}
	for text, part := range map[string]string{
		"":                     "empty",
		"18:00":                "add the date, as in 2037-05-11T18:00",
		"9:00":                 "add the date, as in 2037-05-11T9:00",
		"25:00":                "there is no such time of day",
		"12:60":                "there is no such time of day",
		"18:00:99":             "there is no such time of day",
		"2037-02-30":           "there is no such day",
		"2037-02-30T18:00":     "there is no such day",
		"2037-05-11T25:00":     "there is no such time of day",
		"2037-05-11 18:00:60":  "there is no such time of day",
		"2037-13-11T18:00:00Z": "there is no such day",
		"2037-05-11":           "add the time of day, as in 2037-05-11T18:00",
		"2037-10-25T02:30":     "give 2037-10-25T02:30:00+02:00 or 2037-10-25T02:30:00+01:00",
		"2037-03-29T02:30":     "skips it",
		"05/04/2026 18:00":     "give an RFC 3339 instant",
		"+2 fortnights":        "read the span",
	} {
		if _, err := printer.ParseInstant(text, now, berlin); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want an error with %q", text, err, part)
		}
	}
	for zone, test := range map[string]struct{ text, part string }{
		"Australia/Lord_Howe": {"2037-04-05T01:45", "give 2037-04-05T01:45:00+11:00 or 2037-04-05T01:45:00+10:30"}, // half an hour twice
		"Antarctica/Casey":    {"2023-03-09T01:30", "give 2023-03-09T01:30:00+11:00 or 2023-03-09T01:30:00+08:00"}, // three hours twice
		"Pacific/Apia":        {"2011-12-30T12:00", "skips it"},                                                    // a day
	} {
		where, err := printer.ParseZone(zone)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := printer.ParseInstant(test.text, now, where); err == nil || !strings.Contains(err.Error(), test.part) {
			t.Errorf("%q in %s: %v, want an error with %q", test.text, zone, err, test.part)
		}
	}
	if _, err := printer.ParseZone("Europe/Atlantis"); err == nil || !strings.Contains(err.Error(), "IANA") {
		t.Errorf("a zone that does not exist: %v", err)
	}
}

// TestNextOccurrenceOfATimeOfDay resolves a time of day to its next occurrence in the zone, today or tomorrow.
func TestNextOccurrenceOfATimeOfDay(t *testing.T) {
	berlin, err := printer.ParseZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2037, 5, 11, 22, 30, 0, 0, time.UTC) // half past midnight on the 12th in Berlin
	for text, want := range map[string]string{
		"22:00": "2037-05-12T20:00:00Z", "00:15": "2037-05-12T22:15:00Z", "0:30": "2037-05-12T22:30:00Z", "00:31": "2037-05-11T22:31:00Z",
		"today 18:00": "2037-05-12T16:00:00Z", "Tomorrow 08:00": "2037-05-13T06:00:00Z", "today 00:15": "2037-05-11T22:15:00Z",
		"2037-05-11T18:00": "2037-05-11T16:00:00Z", "+2h": "2037-05-12T00:30:00Z",
	} {
		got, err := printer.ParseNext(text, now, berlin)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%q is %s, %v; want %s", text, got.UTC(), err, want)
		}
	}
	for text, part := range map[string]string{"25:00": "there is no such time of day", "tomorrow": "give an RFC 3339 instant",
		"tomorrow 25:00": "give an RFC 3339 instant"} {
		if _, err := printer.ParseNext(text, now, berlin); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want an error with %q", text, err, part)
		}
	}
	change := time.Date(2037, 3, 28, 22, 0, 0, 0, time.UTC)
	if _, err := printer.ParseNext("02:30", change, berlin); err == nil || !strings.Contains(err.Error(), "skips it") {
		t.Errorf("a time of day that tomorrow does not have: %v", err)
	}
}
