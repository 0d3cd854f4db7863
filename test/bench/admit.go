package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/admission/register"
)

const (
	// reviewers is the number of parallel reviews, and updaters is the number of parallel updates. The API server, its
	// storage and the webhook must have a core for each of them. Otherwise requests wait for each other and not for the
	// webhook.
	reviewers, updaters = 4, 2
	// reviewBlock and updateBlock are the numbers of requests to one webhook before the next webhook's turn. They are
	// small, so that other load on the machine affects both webhooks equally. They are also large enough that each webhook
	// pays for its own garbage collection.
	reviewBlock, updateBlock = 250, 50
)

// judgeOf returns our webhook with the given number of policies. It records no metrics.
func (b *bench) judgeOf(policies int) (http.Handler, error) {
	a, err := compileAdapter()
	if err != nil {
		return nil, err
	}
	set, err := freezeFleet(policies, (&stage{sizes: b.sizes}).namespaceOf(0))
	if err != nil {
		return nil, err
	}
	return &freezeadmission.Judge{Freezes: freezes{set, a}, Clock: clocktesting.NewFakePassiveClock(admitNow), Log: logr.Discard()}, nil
}

// allowing returns a webhook that always allows, made by controller-runtime.
func allowing() http.Handler {
	return &admission.Webhook{
		Handler:        admission.HandlerFunc(func(context.Context, admission.Request) admission.Response { return admission.Allowed("") }),
		LogConstructor: func(logr.Logger, *admission.Request) logr.Logger { return logr.Discard() },
	}
}

// overTLS serves a webhook on this machine.
func overTLS(h http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	return server
}

// durations are those of many requests.
type durations struct {
	each []time.Duration
	took time.Duration
}

// p99 returns the 99th percentile in milliseconds.
func (t durations) p99() float64 { return t.quantile(99) }

// quantile returns a percentile of the durations in milliseconds.
func (t durations) quantile(percent int) float64 {
	sorted := slices.Sorted(slices.Values(t.each))
	return sorted[len(sorted)*percent/100].Seconds() * 1000
}

// add adds the durations of another block.
func (t *durations) add(block durations) {
	t.each = append(t.each, block.each...)
	t.took += block.took
}

func (t durations) rate() float64 { return float64(len(t.each)) / t.took.Seconds() }

// handling measures our webhook against a webhook that always allows. Both run in turns on the same machine, with the
// same client.
func (b *bench) handling(ctx context.Context) error {
	body, err := b.rollOutReview()
	if err != nil {
		return err
	}
	judge, err := b.judgeOf(1000)
	if err != nil {
		return err
	}
	ours, null := overTLS(judge), overTLS(allowing())
	defer ours.Close()
	defer null.Close()
	ask := func(server *httptest.Server) func() (durations, error) {
		return func() (durations, error) { return b.ask(ctx, server, body) }
	}
	var p99, rps []float64
	for round := 0; b.again(b.admitRounds, p99, rps); round++ {
		mine, bare, err := inTurns(b.reviews/reviewBlock, ask(ours), ask(null))
		if err != nil {
			return err
		}
		if round == 0 {
			continue // connections and caches are warm now
		}
		b.report.say("judging %d reviews of %d bytes: p99 %.3f ms, %.0f/s; always allowing: p99 %.3f ms, %.0f/s", len(mine.each), len(body),
			mine.p99(), mine.rate(), bare.p99(), bare.rate())
		p99, rps = append(p99, mine.p99()/bare.p99()), append(rps, mine.rate()/bare.rate())
	}
	b.report.rounds("admit_p99_ratio", p99)
	b.report.rounds("admit_rps_ratio", rps)
	b.report.figure("admit_p99_ratio", median(p99), "ratio")
	b.report.figure("admit_rps_ratio", median(rps), "ratio")
	return nil
}

// inTurns runs equal numbers of blocks of two kinds and alternates which kind comes first.
func inTurns(blocks int, a, b func() (durations, error)) (ofA, ofB durations, err error) {
	kinds := [2]func() (durations, error){a, b}
	var of [2]durations
	for i := range 2 * blocks {
		kind := (i + i/2) % 2 // the order is a b, b a, a b
		collect()
		block, err := kinds[kind]()
		if err != nil {
			return ofA, ofB, err
		}
		of[kind].add(block)
	}
	return of[0], of[1], nil
}

// ask sends one block of equal reviews.
func (b *bench) ask(ctx context.Context, server *httptest.Server, body []byte) (durations, error) {
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = reviewers
	return timed(ctx, reviewers, reviewBlock, func(ctx context.Context, _ int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+register.JudgePath, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"allowed":true`)) {
			return fmt.Errorf("a review was answered with %d %s: %w", resp.StatusCode, answer, errors.Join(err, errNotAllowed))
		}
		return nil
	})
}

var errNotAllowed = errors.New("not allowed")

// timed runs do n times with some workers, and records each duration.
func timed(ctx context.Context, workers, n int, do func(context.Context, int) error) (durations, error) {
	var mu sync.Mutex
	t := durations{each: make([]time.Duration, 0, n)}
	began := time.Now()
	err := parallel(ctx, workers, n, func(ctx context.Context, i int) error {
		start := time.Now()
		err := do(ctx, i)
		took := time.Since(start)
		mu.Lock()
		t.each = append(t.each, took)
		mu.Unlock()
		return err
	})
	t.took = time.Since(began)
	return t, err
}
