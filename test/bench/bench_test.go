package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func BenchmarkDecide(b *testing.B) {
	d, err := newDecision()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("edge", func(b *testing.B) { d.benchmark(b, d.awake) })
	b.Run("settled", func(b *testing.B) { d.benchmark(b, d.asleep) })
}

func TestMedian(t *testing.T) {
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
	r := report{out: &out}
	r.figure("edge_ratio", 1.0625, "ratio")
	r.figure("noop_requests", 0, "requests")
	r.figure("decide_ns", 12345.67, "ns")
	r.remark = "(quick)"
	r.figure("edge_requests_per_change", 1, "requests/change")
	want := "figure edge_ratio 1.062 ratio\nfigure noop_requests 0 requests\nfigure decide_ns 12345.7 ns\nfigure edge_requests_per_change 1.000 requests/change (quick)\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestEveryPartHasFiguresOfItsOwn(t *testing.T) {
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

func TestRequestsThatDoNotCount(t *testing.T) {
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
	after := tally{{verb: "PATCH", resource: "deployments", group: "apps"}: 10, {verb: "GET", resource: "pods"}: 1, {verb: "GET", subresource: "/openapi/v3"}: 1}
	made := after.since(before)
	if made.sum() != 8 || made.String() != "7 PATCH deployments.apps, 1 GET /openapi/v3" {
		t.Errorf("made %v: %s", made.sum(), made)
	}
}

func TestMeterCountsPatchesThatWentThrough(t *testing.T) {
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
	if _, err := m.await(t.Context(), reached, time.Millisecond); err == nil || !strings.Contains(err.Error(), "1 went through and 1 did not") {
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
	err := parallel(t.Context(), 4, len(done), func(_ context.Context, i int) error {
		done[i] = true
		if i == 10 {
			return broken
		}
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

// The nights of the schedule and the instants at which the manager's clock is put must be the same.
func TestNightsAreThoseOfTheSchedule(t *testing.T) {
	p, err := compilePolicy(nightly("nights"))
	if err != nil {
		t.Fatal(err)
	}
	for round := range fullSizes().edgeRounds {
		n := nightOf(round)
		if st := p.State(n.dusk); !st.Asleep || !st.Since.Equal(n.dusk) || !st.Next.Equal(n.dawn) {
			t.Errorf("round %d: at dusk %s the schedule is %+v", round, n.dusk, st)
		}
		if st := p.State(n.dawn); st.Asleep || !st.Since.Equal(n.dawn) {
			t.Errorf("round %d: at dawn %s the schedule is %+v", round, n.dawn, st)
		}
	}
}
