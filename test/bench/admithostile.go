package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
)

const (
	// hostilePerSecond is the number of hostile bodies per second, each of hostileSize bytes.
	hostilePerSecond, hostileSize = 20, 3_000_000
)

// hostileBodies returns reviews that are expensive to read: deeply nested, with many members, or too large.
func hostileBodies() []string {
	fill := func(element string) string { return strings.Repeat(element, hostileSize/len(element)) }
	const user, object = `{"apiVersion":"admission.k8s.io/v1","request":{"uid":"1","userInfo":{"username":"eve","groups":[`,
		`{"apiVersion":"admission.k8s.io/v1","request":{"uid":"1","object":`
	return []string{
		object + fill("["),
		user + fill("[],") + `""]}}}`,
		object + `{"spec":[` + fill(`{"a":1},`) + `1]}}}`,
		object + `{"metadata":{"name":"` + fill("w") + `"}}}}`,
		object + fill("  ") + "1}}",
	}
}

// beset sends hostile bodies until stop is called.
func beset(ctx context.Context, server *httptest.Server) (stop func() (asked int)) {
	ctx, cancel := context.WithCancel(ctx)
	bodies := hostileBodies()
	// Hostile reviews use connections of their own.
	client := &http.Client{Transport: server.Client().Transport.(*http.Transport).Clone()}
	var all sync.WaitGroup
	asked := 0
	all.Go(func() {
		tick := time.NewTicker(time.Second / hostilePerSecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			body := bodies[asked%len(bodies)]
			all.Go(func() {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+register.JudgePath, strings.NewReader(body))
				if err != nil {
					return
				}
				if resp, err := client.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			})
			asked++
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return func() int {
		cancel()
		all.Wait()
		return asked
	}
}

// besieging compares the latency of honest reviews while hostile reviews arrive with their latency in a quiet time.
// Both use the same webhook, in turns.
func (b *bench) besieging(ctx context.Context) error {
	body, err := b.rollOutReview()
	if err != nil {
		return err
	}
	judge, err := b.judgeOf(1000)
	if err != nil {
		return err
	}
	server := overTLS(review.New(judge, logr.Discard()))
	defer server.Close()
	quiet := func() (durations, error) { return b.ask(ctx, server, body) }
	hostile := 0
	besieged := func() (durations, error) {
		stop := beset(ctx, server)
		t, err := b.ask(ctx, server, body)
		hostile += stop()
		return t, err
	}
	var ratios []float64
	for round := 0; b.again(b.admitRounds, ratios); round++ {
		with, without, err := inTurns(b.reviews/reviewBlock, besieged, quiet)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // connections and caches are warm now
		}
		b.report.say("judging beside hostile reviews: p99 %.3f ms; without: p99 %.3f ms; %d hostile ones so far", with.p99(), without.p99(),
			hostile)
		ratios = append(ratios, with.p99()/without.p99())
	}
	b.report.rounds("admit_hostile_p99_ratio", ratios)
	b.report.figure("admit_hostile_p99_ratio", median(ratios), "ratio")
	return nil
}
