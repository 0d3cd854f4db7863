// Command calendars compares the occurrences of random calendar files with two other implementations, the npm packages rrule (the
// starts of rules) and ical.js (all of it). Each difference must be explained by a row of docs/calendars.md.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

// pinned are the other implementations.
var pinned = []string{"rrule@2.8.1", "ical.js@2.2.1"}

//go:embed second.js
var script []byte

func main() {
	seed := flag.Uint64("seed", 1, "seed of the random files")
	count := flag.Int("count", 1000, "number of random files")
	flag.Parse()
	if err := run(context.Background(), *seed, *count); err != nil {
		fmt.Fprintln(os.Stderr, "check-calendars:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, seed uint64, count int) error {
	r := rand.New(rand.NewPCG(seed, 0))
	var samples []*sample
	for len(samples) < count {
		s, err := draw(r)
		if err != nil {
			return err
		}
		if s != nil {
			samples = append(samples, s)
		}
	}
	answers, err := second(ctx, samples)
	if err != nil {
		return err
	}
	rows, err := read(table)
	if err != nil {
		return err
	}
	bad, late := 0, 0
	for i, s := range samples {
		ours, err := occurrences(s)
		if err != nil {
			return fmt.Errorf("%w:\n%s", err, s.file())
		}
		theirs := map[string]any{"rrule": answers[i].rruleSpans(s), "ical.js": answers[i].icalSpans()}
		if answers[i].ICal == nil {
			late++
			delete(theirs, "ical.js")
		}
		// No row explains that both list the same days of a rule. RDATEs and moved occurrences are no days of the rule.
		listed, _ := theirs["rrule"].([]span)
		agree := len(listed) > len(s.again)+len(s.moved) && reflect.DeepEqual(theirs["rrule"], theirs["ical.js"])
		for library, spans := range theirs {
			if !reflect.DeepEqual(spans, any(ours)) && (agree || !explained(rows, library, s)) {
				bad++
				print(library, s, ours, spans)
			}
		}
	}
	for _, r := range rows {
		fmt.Printf("%5d differences of %-7s explained: %s\n", r.used, r.library, strings.Join(r.kinds, ", "))
	}
	fmt.Printf("%5d files had no answer of ical.js within %s\n", late, patience)
	if late > count/10 {
		return errors.New("too many files had no answer: try again on an idle machine")
	}
	if bad > 0 {
		return fmt.Errorf("%d differences without explanation: see %s", bad, table)
	}
	fmt.Printf("%d files agree with %s, but for the explained differences\n", count, strings.Join(pinned, " and "))
	return nil
}

// print prints a difference without explanation.
func print(library string, s *sample, ours []span, theirs any) {
	fmt.Printf("NOT EXPLAINED: %s, %s\n%s", library, strings.Join(s.kinds(), ", "), s.file())
	got, ok := theirs.([]span)
	if !ok {
		fmt.Printf("  %v\n", theirs)
		return
	}
	only := func(side string, a, b []span) {
		for _, one := range a {
			if !slices.Contains(b, one) {
				fmt.Printf("  only %s: %s to %s\n", side, time.Unix(one.From, 0).UTC().Format(clockForm), time.Unix(one.To, 0).UTC().Format(clockForm))
				return // the first one is enough
			}
		}
	}
	only("ours", ours, got)
	only("theirs", got, ours)
}

// occurrences returns the times of the sample as the product reads them.
func occurrences(s *sample) ([]span, error) {
	read, err := times.ParseICS(s.file(), time.UTC)
	if err != nil {
		return nil, err
	}
	if len(read.Problems) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(read.Problems, "; "))
	}
	line, errs := timeline.ParseCalendar("", timeline.CalendarSpec{Events: read.Events}, nil)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	var all []span
	for at := from; at.Before(to); {
		st := line.At(at)
		if st.Until.IsZero() {
			st.Until = to
		}
		if st.Active {
			all = append(all, span{at.Unix(), st.Until.Unix()})
		}
		at = st.Until
	}
	return joined(all), nil
}

// answer is the answer of the other implementations.
type answer struct {
	RRule, ICal json.RawMessage
}

func (a answer) icalSpans() any {
	var pairs [][2]int64
	if err := json.Unmarshal(a.ICal, &pairs); err != nil {
		return string(a.ICal)
	}
	var all []span
	for _, p := range pairs {
		all = append(all, span{p[0], p[1]})
	}
	return joined(all)
}

func (a answer) rruleSpans(s *sample) any {
	var seconds []int64
	if err := json.Unmarshal(a.RRule, &seconds); err != nil {
		return string(a.RRule)
	}
	var starts []time.Time
	for _, at := range seconds {
		starts = append(starts, time.Unix(at, 0).UTC())
	}
	return s.spans(starts)
}

// set is the text for rrule: the rule with its exceptions, by readings.
func (s *sample) set() string {
	form := func(list ...time.Time) string {
		var all []string
		for _, at := range list {
			all = append(all, at.Format(clockForm+"Z"))
		}
		return strings.Join(all, ",")
	}
	text := "DTSTART:" + form(s.start)
	rule := s.rule
	if rule == "" {
		rule = "FREQ=DAILY;COUNT=1"
	}
	if before, until, ok := strings.Cut(rule, "UNTIL="); ok && s.zone != "" {
		at, err := time.Parse(clockForm+"Z", until)
		if err != nil {
			panic(err) // the generator has written it
		}
		rule = before + "UNTIL=" + form(readingOf(at, s.location()))
	}
	text += "\nRRULE:" + rule
	if len(s.left) > 0 {
		text += "\nEXDATE:" + form(s.left...)
	}
	if len(s.again) > 0 {
		text += "\nRDATE:" + form(s.again...)
	}
	return text
}

// second installs the other implementations in a directory of their own, and returns their answers.
func second(ctx context.Context, samples []*sample) (all []answer, err error) {
	dir, err := os.MkdirTemp("", "calendars")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "second.mjs"), script, 0o600); err != nil {
		return nil, fmt.Errorf("write the script: %w", err)
	}
	args := append([]string{"install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir}, pinned...)
	install := exec.CommandContext(ctx, "npm", args...)
	install.Stderr = os.Stderr
	if err := install.Run(); err != nil {
		return nil, fmt.Errorf("install %v: %w", pinned, err)
	}
	for len(all) < len(samples) {
		more, err := answersOf(ctx, dir, samples[len(all):])
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// patience is the longest time for one file. Some rules make ical.js search for ever.
const patience = 2 * time.Second

// answersOf returns the answers up to the first file without an answer of ical.js within the patience. There ICal is nil.
func answersOf(ctx context.Context, dir string, samples []*sample) (all []answer, err error) {
	type input struct {
		File string `json:"file"`
		Set  string `json:"set"`
	}
	in := struct {
		To      int64   `json:"to"`
		Samples []input `json:"samples"`
	}{To: to.Unix()}
	for _, s := range samples {
		in.Samples = append(in.Samples, input{s.file(), s.set()})
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode the files: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	node := exec.CommandContext(ctx, "node", "second.mjs")
	node.Dir, node.Stdin, node.Stderr = dir, bytes.NewReader(raw), os.Stderr
	out, err := node.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to node: %w", err)
	}
	if err := node.Start(); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	late := time.AfterFunc(10*patience, stop) // node starts
	for answers := json.NewDecoder(out); len(all) < len(samples); {
		var a answer
		if answers.Decode(&a.RRule) != nil {
			break
		}
		if err := answers.Decode(&a.ICal); err != nil {
			a.ICal = nil
		}
		if all = append(all, a); a.ICal == nil {
			break
		}
		late.Reset(patience)
	}
	stopped := !late.Stop()
	if err := node.Wait(); err != nil && !stopped || len(all) == 0 {
		return nil, fmt.Errorf("run node: %w", err)
	}
	return all, nil
}
