package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/crds/v1alpha1"
)

func BenchmarkDecide(b *testing.B) {
	d, err := newDecision()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("transition", func(b *testing.B) { d.benchmark(b, d.awake) })
	b.Run("settled", func(b *testing.B) { d.benchmark(b, d.asleep) })
}

func TestMedianOfValues(t *testing.T) {
	for want, values := range map[float64][]float64{3: {3}, 2: {1, 9, 2}, 2.5: {9, 2, 3, 1}} {
		before := append([]float64(nil), values...)
		if got := median(values); got != want {
			t.Errorf("the median of %v is %v, want %v", values, got, want)
		}
		if diff := cmp.Diff(before, values); diff != "" {
			t.Errorf("the rounds were put in another order: %s", diff)
		}
	}
}

func TestFigureLines(t *testing.T) {
	var out bytes.Buffer
	r := report{out: &out, log: t.Output()}
	r.begin([]string{"edge_ratio", "noop_requests", "decide_ns", "edge_cpu_ratio", "edge_requests_per_change"})
	r.figure("react_max_ms", 2, "ms")
	r.figure("edge_ratio", 1.0625, "ratio")
	r.figure("noop_requests", 0, "requests")
	r.figure("decide_ns", 12345.67, "ns")
	r.rounds("edge_cpu_ratio", []float64{1, 1.2})
	r.figure("edge_cpu_ratio", 1.1, "ratio")
	r.remark = "(quick)"
	r.figure("edge_requests_per_change", 1, "requests/change")
	if out.Len() > 0 {
		t.Errorf("printed before the end of the part: %q", out.String())
	}
	r.end(false)
	r.begin([]string{"react_max_ms"})
	r.figure("react_max_ms", 1, "ms")
	r.end(true)
	want := "figure edge_ratio 1.062 ratio\nfigure noop_requests 0 requests\nfigure decide_ns 12345.7 ns\n" +
		"figure edge_cpu_ratio 1.100 ratio (noisy)\nfigure edge_requests_per_change 1.000 requests/change (quick)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestNoFigureIsInTwoParts(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range names() {
		if seen[name] {
			t.Errorf("%s is measured twice", name)
		}
		seen[name] = true
	}
	if diff := cmp.Diff([]string{"edge_ratio", "decide_ns"}, selected("edge_ratio, decide_ns")); diff != "" {
		t.Error(diff)
	}
}

func TestIgnoredRequests(t *testing.T) {
	for c, want := range map[call]bool{
		{verb: "WATCH", resource: "deployments"}:      true,
		{verb: "PUT", resource: "leases"}:             true,
		{verb: "GET", subresource: "/metrics"}:        true,
		{verb: "GET", subresource: "/livez/etcd"}:     true,
		{verb: "GET", subresource: "/openapi/v3"}:     false,
		{verb: "LIST", resource: "deployments"}:       false,
		{verb: "PATCH", resource: "clusterschedules"}: false,
	} {
		if got := ignored(c); got != want {
			t.Errorf("%s: ignored %t, want %t", c, got, want)
		}
	}
	before := tally{{verb: "PATCH", resource: "deployments", group: "apps"}: 3, {verb: "GET", resource: "pods"}: 1}
	after := tally{{verb: "PATCH", resource: "deployments", group: "apps"}: 10, {verb: "GET", resource: "pods"}: 1,
		{verb: "GET", subresource: "/openapi/v3"}: 1}
	made := after.since(before)
	if made.sum() != 8 || made.String() != "7 PATCH deployments.apps, 1 GET /openapi/v3" {
		t.Errorf("made %v: %s", made.sum(), made)
	}
}

func TestMeterCountsSuccessfulPatches(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/refused") {
			w.WriteHeader(http.StatusConflict)
		}
	}))
	defer s.Close()
	m := &meter{}
	client, err := rest.HTTPClientFor(m.on(&rest.Config{Host: s.URL}))
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, path string) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	reached := m.expect(2)
	const web = "/apis/apps/v1/namespaces/shop/deployments/"
	send(http.MethodPatch, web+"a")
	send(http.MethodPatch, web+"refused")
	send(http.MethodGet, web+"a")
	send(http.MethodPatch, "/apis/flyball.dev/v1alpha1/clusterschedules/nights/status")
	if _, err := m.await(t.Context(), reached, time.Millisecond); err == nil ||
		!strings.Contains(err.Error(), "1 went through and 1 did not") {
		t.Errorf("after one patch: %v", err)
	}
	send(http.MethodPatch, web+"b")
	last, err := m.await(t.Context(), reached, time.Second)
	if err != nil || time.Since(last) > time.Minute {
		t.Errorf("after two patches: %v, %v", last, err)
	}
}

func TestParallelStopsAtTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	done := make([]bool, 1000)
	err := parallel(t.Context(), 4, len(done), func(ctx context.Context, i int) error {
		switch {
		case i == 10:
			return broken
		case i > 10:
			<-ctx.Done() // the other workers could do all the rest before the error is known
		}
		done[i] = true
		return nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
	if done[len(done)-1] {
		t.Error("everything was done in spite of the error")
	}
	if err := parallel(t.Context(), 4, len(done), func(context.Context, int) error { return nil }); err != nil {
		t.Errorf("without an error: %v", err)
	}
}

// TestNightsMatchSchedule checks that the nights of the schedule equal the instants that are set on the manager's
// clock.
func TestNightsMatchSchedule(t *testing.T) {
	p, err := compilePolicy(nightly("nights"))
	if err != nil {
		t.Fatal(err)
	}
	for round := range fullSizes().transitionRounds {
		n := nightOf(round)
		if st := p.State(n.dusk); !st.Asleep || !st.Since.Equal(n.dusk) || !st.Next.Equal(n.dawn) {
			t.Errorf("round %d: at dusk %s the schedule is %+v", round, n.dusk, st)
		}
		if st := p.State(n.dawn); st.Asleep || !st.Since.Equal(n.dawn) {
			t.Errorf("round %d: at dawn %s the schedule is %+v", round, n.dawn, st)
		}
	}
}

func TestPercentileOfValues(t *testing.T) {
	values := make([]float64, 201)
	for i := range values {
		values[i] = float64(200 - i)
	}
	for p, want := range map[int]float64{0: 0, 50: 100, 99: 198, 100: 200} {
		if got := percentile(values, p); got != want {
			t.Errorf("the %dth percentile is %v, want %v", p, got, want)
		}
	}
}

func TestInTurnsAlternatesKinds(t *testing.T) {
	var order string
	block := func(name string, took time.Duration) func() (durations, error) {
		return func() (durations, error) {
			order += name
			return durations{each: []time.Duration{took}, took: took}, nil
		}
	}
	a, b, err := inTurns(4, block("a", time.Second), block("b", time.Minute))
	if err != nil || order != "abbaabba" {
		t.Errorf("the order is %s, error %v", order, err)
	}
	if len(a.each) != 4 || a.took != 4*time.Second || len(b.each) != 4 || b.took != 4*time.Minute {
		t.Errorf("the blocks are %v and %v", a, b)
	}
	broken := errors.New("broken")
	if _, _, err := inTurns(1, block("a", 0), func() (durations, error) { return durations{}, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// TestDecisionsAmongMorePoliciesAreTheSame checks that a round uses all sets equally often, and that each set refuses
// the change for the same reasons.
func TestDecisionsAmongMorePoliciesAreTheSame(t *testing.T) {
	b := &bench{sizes: quickSizes()}
	req, sets, err := b.decisions()
	if err != nil {
		t.Fatal(err)
	}
	want := sets[0].Decide(req)
	for i, set := range sets {
		if rules, exceptions := set.Len(); rules+exceptions != decidedAmong[i] {
			t.Errorf("there are %d rules and %d exceptions, want %d", rules, exceptions, decidedAmong[i])
		}
		if diff := cmp.Diff(want, set.Decide(req)); diff != "" {
			t.Errorf("among %d policies: %s", decidedAmong[i], diff)
		}
	}
	for i, took := range decideRound(sets, req) {
		if len(took) != decideSlices {
			t.Errorf("set %d was asked in %d slices, want %d", i, len(took), decideSlices)
		}
	}
}

func TestObserverWaitsForTheLast(t *testing.T) {
	seen := func(o *observer, name string, replicas int32) {
		d := (&stage{sizes: sizes{perNamespace: 1}}).deployment(0)
		d.Namespace, d.Name, d.Spec.Replicas = "shop", name, &replicas
		o.note(d)
	}
	o := &observer{}
	due := o.expect(true, "shop/a", "shop/b")
	seen(o, "a", 0)
	seen(o, "b", 3)
	seen(o, "c", 0)
	select {
	case <-due.done:
		t.Fatal("b is awake still")
	default:
	}
	seen(o, "b", 0)
	if last, err := o.await(t.Context(), due); err != nil || last.IsZero() {
		t.Errorf("after all: %v, %v", last, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.await(ended, o.expect(false, "shop/a")); !errors.Is(err, context.Canceled) {
		t.Errorf("a was not seen awake, error %v", err)
	}
}

// TestWindowsOnMachineClock checks windows that are not nights. One is open throughout the measurement, and one has a
// single transition.
func TestWindowsOnMachineClock(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 7, 0, time.UTC)
	for _, tc := range []struct {
		reason        string
		windows       []v1alpha1.Window
		before, after bool
	}{
		{"always", always("always").Spec.Asleep, true, true},
		{"to sleep", []v1alpha1.Window{transitionAt(now, true)}, false, true},
		{"to wake", []v1alpha1.Window{transitionAt(now, false)}, true, false},
	} {
		c := always(tc.reason)
		c.Spec.Asleep = tc.windows
		p, err := compilePolicy(c)
		if err != nil {
			t.Fatal(err)
		}
		if before, after := p.State(now.Add(-time.Second)).Asleep, p.State(now).Asleep; before != tc.before || after != tc.after {
			t.Errorf("%s: asleep %t and then %t", tc.reason, before, after)
		}
	}
}

func TestNoisyTimingsAreRepeated(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		noisy  bool
	}{
		{nil, false}, {[]float64{3}, false}, {[]float64{0, 0}, false}, {[]float64{10, 10.9}, false}, {[]float64{10, 11.2}, true},
		{[]float64{10, 10, 10, 10, 20}, false}, {[]float64{10, 10, 10, 12, 12, 12}, true}, {[]float64{-10, -12}, true},
	} {
		if got := isNoisy(tc.values); got != tc.noisy {
			t.Errorf("%v is noisy: %t, want %t", tc.values, got, tc.noisy)
		}
	}
	quiet, noisy := []float64{1, 1, 1}, []float64{1, 2, 3}
	b := &bench{}
	b.halfTime.Store(math.MaxInt64)
	for _, tc := range []struct {
		wanted int
		of     [][]float64
		again  bool
	}{
		{1, [][]float64{nil}, true}, {3, [][]float64{quiet}, false}, {4, [][]float64{quiet}, true}, {3, [][]float64{quiet, noisy}, true},
		{1, [][]float64{noisy}, false},
	} {
		if got := b.again(tc.wanted, tc.of...); got != tc.again {
			t.Errorf("%d rounds wanted, of %v: again %t, want %t", tc.wanted, tc.of, got, tc.again)
		}
	}
	b.halfTime.Store(1)
	if b.again(3, noisy) || !b.again(4, noisy) {
		t.Error("in the second half of the limit, not exactly the wanted rounds are measured")
	}
}

// A part whose limit is over ends with an error and has no figures. The parts that start an API server end before the start.
func TestEveryPartEndsAtItsLimit(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range parts() {
		var out bytes.Buffer
		b := &bench{sizes: quickSizes(), report: &report{out: &out, log: t.Output()}, patience: time.Minute}
		if err := b.measureAll(over, []part{p}); err == nil || out.Len() > 0 {
			t.Errorf("%s printed %q and ended with the error %v", p.figures, out.String(), err)
		}
	}
}
