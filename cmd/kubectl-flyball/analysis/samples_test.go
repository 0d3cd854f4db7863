package analysis

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/workload"
)

var noon = time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)

func silent(string) {}

// TestBothFormatsGiveTheSameSamples checks that both formats give the same samples, with numbers and with
// quantities, and that the samples are
// sorted by time whatever the order of the lines.
func TestBothFormatsGiveTheSameSamples(t *testing.T) {
	want := []workload.Sample{
		{At: noon, Container: "app", CPU: 250, Memory: 256 << 20, Replicas: 3, Throttled: 0.5},
		{At: noon, Container: "side", CPU: -1, Memory: -1, Replicas: 3, OOMKills: 2, MemoryLimit: 1 << 30},
		{At: noon.Add(time.Minute), Container: "app", CPU: 1500, Memory: -1, Replicas: 0},
	}
	for name, text := range map[string]string{
		"a.csv": "\ufefftime, container, cpu, memory, replicas, throttled, oom_kills, memory_limit\n# a " +
			"comment\n2037-05-11T12:01:00Z,app,1.5,,0,,,\n2037-05-11T14:00:00+02:00,app,250m,256Mi,3,0.5,0,\n2037-05-11T12:00:00Z,side,,,3,,2,1Gi\n",
		"b.csv": "replicas,time,container,cpu,memory,throttled,oom_kills,memory_limit\n" +
			"3,2125656000,app,0.25,268435456,0.5,,\n3,2125656000,side,,,,2,1073741824\n0,2125656060,app,1500m,,,,\n",
		"c.jsonl": `{"time":2125656000,"container":"app","cpu":0.25,"memory":268435456,"replicas":3,"throttled":0.5}` + "\n\n" +
			`{"time":"2037-05-11T12:00:00Z","container":"side","replicas":"3","oom_kills":2,"memory_limit":"1Gi"}` + "\n" +
			`{"time":2125656060.0,"container":"app","cpu":"1500m","memory":null,"replicas":0}`,
		"d.ndjson": `{"time":"2037-05-11T12:00:00Z","container":"app","cpu":"250m","memory":"256Mi","replicas":3,"throttled":"0.5"}` + "\n" +
			`{"time":2125656000,"container":"side","replicas":3,"oom_kills":2,"memory_limit":1073741824}` + "\n" +
			`{"time":2125656060,"container":"app","cpu":1.5,"replicas":0}` + "\n",
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFiles([]string{file}, nil, "", []string{"app", "side"}, silent)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		format := CSV
		if strings.HasSuffix(name, "l") || strings.HasSuffix(name, "json") {
			format = JSONLines
		}
		if got, err = ReadFiles([]string{"-"}, strings.NewReader(text), format, []string{"app", "side"}, silent); err != nil ||
			!cmp.Equal(want, got) {
			t.Errorf("%s from standard input: %v, %v", name, got, err)
		}
	}
}

// TestNotEveryLineIsNamed checks that a file in a completely different format does not cause an error for every line.
func TestNotEveryLineIsNamed(t *testing.T) {
	_, err := ReadFiles([]string{"-"}, strings.NewReader("time,container,replicas,cpu\n"+strings.Repeat("x,app,1,1\n", 1000)), CSV,
		[]string{"app"}, silent)
	if n := strings.Count(err.Error(), "\n") + 1; n != mostFaults || !strings.HasPrefix(err.Error(), "-:2: time:") {
		t.Errorf("%d faults are named: %v", n, err)
	}
	_, err = ReadFiles([]string{"-"}, strings.NewReader("\n{\"container\": \""+strings.Repeat("x", longestLine)+"\"}"), JSONLines, nil, silent)
	if err == nil || !strings.HasPrefix(err.Error(), "-:2: ") {
		t.Errorf("of a line that is too long it says %v", err)
	}
}

func TestInvalidAmountsAreRefused(t *testing.T) {
	for _, text := range []string{"NaN", "-1", "-5m", "+Inf", "1e30", "x", "1 Gi"} {
		if n, err := amount(text); err == nil {
			t.Errorf("%q is %v", text, n)
		}
	}
	for text, want := range map[string]float64{"0": 0, "100m": 0.1, "1k": 1000, "2Ki": 2048, "1e3": 1000} {
		if n, err := amount(text); err != nil || math.Abs(n-want) > 1e-9 {
			t.Errorf("%q is %v, %v, want %v", text, n, err, want)
		}
	}
}

// TestMemoryIsBounded checks that reading stops with an error at the first sample beyond the limit, counted over all
// files, and that lines of progress are printed before.
func TestMemoryIsBounded(t *testing.T) {
	defer func(n int) { mostSamples = n }(mostSamples)
	mostSamples = told + 2
	lines := func(from, n int) string {
		b := &strings.Builder{}
		b.WriteString("time,container,replicas,cpu\n")
		for i := range n {
			fmt.Fprintf(b, "%d,app,1,1\n", 1_000_000_000+from+i)
		}
		return b.String()
	}
	first := filepath.Join(t.TempDir(), "first.csv")
	if err := os.WriteFile(first, []byte(lines(0, told)), 0o600); err != nil {
		t.Fatal(err)
	}
	var heard []string
	read := func(more int) ([]workload.Sample, error) {
		heard = nil
		return ReadFiles([]string{first, "-"}, strings.NewReader(lines(told, more)), CSV, []string{"app"},
			func(what string) { heard = append(heard, what) })
	}
	all, err := read(2)
	if len(all) != mostSamples || err != nil {
		t.Errorf("there are %d samples, %v", len(all), err)
	}
	if diff := cmp.Diff([]string{"reading " + first, fmt.Sprintf("reading %s, %d samples", first, told), "reading -"}, heard); diff != "" {
		t.Error(diff)
	}
	if _, err = read(10); err == nil || strings.Count(err.Error(), "\n") > 0 ||
		!strings.HasPrefix(err.Error(), "-:4: there are more than 100002 samples") {
		t.Errorf("of one too many it says %v", err)
	}
}
