package main

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbersAcceptsListsAndRanges(t *testing.T) {
	for text, want := range map[string][]uint64{"7": {7}, "1-3,7": {1, 2, 3, 7}, "2,1": {2, 1}} {
		if got, err := numbers(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q is read as %v, error %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "3-1", "1-", "-1", "1,,2"} {
		if got, err := numbers(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// TestAPart runs two contenders through a day. Only figures that need no other contender are printed, and a gate that
// fails is an error.
func TestAPart(t *testing.T) {
	var out bytes.Buffer
	err := run(&out, io.Discard, strings.Fields("--seeds 1 --families weekly --contenders flyball,hpa-70 --days 9"))
	if !strings.Contains(out.String(), "figure tortoise_ceiling_lost 0.000 ratio\ngate tortoise_ceiling_lost holds: at most 0\n") {
		t.Errorf("error %v, output:\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "at_equal_cost") {
		t.Errorf("there is no frontier, and a distance to it:\n%s", out.String())
	}
	if failed := strings.Contains(out.String(), "FAILS"); failed != (err != nil) {
		t.Errorf("a gate fails: %t, error %v", failed, err)
	}
}

func TestUnknownFamiliesAndContendersAreRefused(t *testing.T) {
	for _, args := range []string{"--families weekly,month", "--contenders flyball,hpa"} {
		if err := run(io.Discard, io.Discard, strings.Fields(args)); err == nil || !strings.Contains(err.Error(), "weekly") &&
			!strings.Contains(err.Error(), "flyball-all") {
			t.Errorf("%s: the error is %v", args, err)
		}
	}
}

func TestADirectoryWithoutSeries(t *testing.T) {
	if err := run(io.Discard, io.Discard, []string{"--traces", filepath.Join(t.TempDir(), "none")}); err == nil ||
		!strings.Contains(err.Error(), "*.csv.gz") {
		t.Errorf("the error is %v", err)
	}
}
