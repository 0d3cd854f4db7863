package analysis

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"
)

// TestDemandsOfOddForms checks that unusual but unambiguous files can be read, and that any other file is refused.
func TestDemandsOfOddForms(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("minute,cores\n29000000,1\n")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	at := time.Unix(29000000*60, 0)
	for _, test := range []struct {
		reason, text, fault string
		cores               float64
	}{
		{"minutes", "minute,cores\n29000000,1.5\n", "", 1.5},
		{"columns the other way round, spaces, a comment and a mark of the order of bytes",
			"\ufeffcores , minute\n# from a spreadsheet\n500m, 29000000 \n", "", 0.5},
		{"an instant with a zone", "time,cpu\n" + at.In(time.FixedZone("", 3600)).Format(time.RFC3339) + ",2\n", "", 2},
		{"packed", packed.String(), "", 1},
		{"nothing", "", "there are no samples in it", 0},
		{"a head alone", "minute,cores\n", "there are no samples in it", 0},
		{"no head", "29000000,1\n", "there is no field", 0},
		{"a column twice", "minute,cores,cores\n29000000,1,2\n", "the column cores is there twice", 0},
		{"two clocks", "minute,time,cores\n29000000,2025-02-19T05:20:00Z,2\n", "there are two columns for the same", 0},
		{"two demands", "minute,cores,cpu\n29000000,1,2\n", "there are two columns for the same", 0},
		{"a line that is cut off", "minute,cores\n29000000\n", "wrong number of fields", 0},
		{"no number", "minute,cores\n29000000,NaN\n", "cores", 0},
		{"below zero", "minute,cores\n29000000,-1\n", "cores", 0},
		{"seconds for minutes", "minute,cores\n1740000000,1\n", "is no minute of Unix time", 0},
		{"an instant without a zone", "time,cpu\n2025-02-19T05:20:00,2\n", "time", 0},
	} {
		all, err := ReadDemand([]string{"-"}, strings.NewReader(test.text), CSV, func(string) {})
		switch {
		case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
			t.Errorf("%s: %v, %v", test.reason, all, err)
		case test.fault == "" && (err != nil || len(all) != 1 || all[0].Cores != test.cores || !all[0].At.Equal(at)):
			t.Errorf("%s: %v, %v", test.reason, all, err)
		}
	}
}
