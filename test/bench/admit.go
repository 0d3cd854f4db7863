package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// admitWorkers is how many reviews are under way at once.
const admitWorkers = 4

// admitting measures the judging of changes: the decision alone, the webhook against one that always allows, and what it adds
// to an update through the API server.
func (b *bench) admitting(ctx context.Context) error {
	if err := b.deciding(ctx); err != nil {
		return err
	}
	if err := b.handling(ctx); err != nil {
		return err
	}
	return b.updating(ctx)
}

// deciding measures a decision among ever more policies, of which five concern the change.
func (b *bench) deciding(ctx context.Context) error {
	stage := &stage{sizes: b.sizes}
	req := freeze.Request{
		Actions: workload.ChangeScale, Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: stage.namespaceOf(0), Name: deploymentName(0), User: "pipeline", Now: admitNow,
		NamespaceLabels: []workload.Pairs{workload.NewPairs(map[string]string{"env": "prod", "team": "shop"})},
	}
	req.Old = &freeze.Facts{Labels: workload.NewPairs(stage.deployment(0).Labels)}
	req.New = req.Old
	sizes := []int{10, 1_000, 10_000}
	sets := map[int]*freeze.Set{}
	for _, n := range sizes {
		set, err := freezeFleet(n, req.Namespace)
		if err != nil {
			return err
		}
		if v := set.Decide(req); v.Allowed {
			return fmt.Errorf("the change to be judged among %d policies is not refused", n)
		}
		sets[n] = set
	}
	rounds := map[int][]float64{}
	for range b.pureRounds {
		for _, n := range sizes {
			r := testing.Benchmark(func(t *testing.B) {
				for t.Loop() {
					sets[n].Decide(req)
				}
			})
			rounds[n] = append(rounds[n], float64(r.T.Nanoseconds())/float64(r.N))
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	for _, n := range sizes {
		name := fmt.Sprintf("admit_decide_ns_%d", n)
		b.report.rounds(name, rounds[n])
		b.report.figure(name, median(rounds[n]), "ns")
	}
	var growth []float64
	for i := range rounds[10] {
		growth = append(growth, rounds[10_000][i]/rounds[10][i])
	}
	b.report.rounds("admit_decide_ratio", growth)
	b.report.figure("admit_decide_ratio", median(growth), "ratio")
	return nil
}

// judgeOf makes our webhook, with so many policies. It notes nothing, as metrics would.
func (b *bench) judgeOf(policies int) (http.Handler, error) {
	a, err := compileAdapter()
	if err != nil {
		return nil, err
	}
	set, err := freezeFleet(policies, (&stage{sizes: b.sizes}).namespaceOf(0))
	if err != nil {
		return nil, err
	}
	return &admit.Judge{Freezes: freezes{set, a}, Clock: clocktesting.NewFakePassiveClock(admitNow), Log: logr.Discard()}, nil
}

// allowing is a webhook that always allows, as controller-runtime makes it.
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

// times are those of many requests.
type times struct {
	each []time.Duration
	took time.Duration
}

func (t times) p99() float64 {
	sorted := slices.Sorted(slices.Values(t.each))
	return sorted[len(sorted)*99/100].Seconds() * 1000
}

func (t times) rate() float64 { return float64(len(t.each)) / t.took.Seconds() }

// handling measures our webhook against one that always allows: same machine, same client, in turns.
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
	var p99, rps []float64
	for round := range b.admitRounds + 1 {
		var mine, bare times
		for _, turn := range turns(round, func() (err error) { mine, err = b.ask(ctx, ours, body); return err }, func() (err error) { bare, err = b.ask(ctx, null, body); return err }) {
			if err := turn(); err != nil {
				return err
			}
		}
		if round == 0 {
			continue // connections and caches are warm now
		}
		b.report.say("judging %d reviews of %d bytes: p99 %.3f ms, %.0f/s; always allowing: p99 %.3f ms, %.0f/s", len(mine.each), len(body), mine.p99(), mine.rate(), bare.p99(), bare.rate())
		p99, rps = append(p99, mine.p99()/bare.p99()), append(rps, mine.rate()/bare.rate())
	}
	b.report.rounds("admit_p99_ratio", p99)
	b.report.rounds("admit_rps_ratio", rps)
	b.report.figure("admit_p99_ratio", median(p99), "ratio")
	b.report.figure("admit_rps_ratio", median(rps), "ratio")
	return nil
}

// turns are two things in an order that changes from round to round.
func turns(round int, a, b func() error) []func() error {
	if round%2 == 1 {
		return []func() error{b, a}
	}
	return []func() error{a, b}
}

// ask sends one review many times.
func (b *bench) ask(ctx context.Context, server *httptest.Server, body []byte) (times, error) {
	client := server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = admitWorkers
	return b.timed(ctx, b.reviews, func(ctx context.Context, _ int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+admit.JudgePath, bytes.NewReader(body))
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

// timed does n things, so many at a time, and takes the time of each.
func (b *bench) timed(ctx context.Context, n int, do func(context.Context, int) error) (times, error) {
	var mu sync.Mutex
	t := times{each: make([]time.Duration, 0, n)}
	began := time.Now()
	err := parallel(ctx, admitWorkers, n, func(ctx context.Context, i int) error {
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

// updating measures updates of Deployments through the API server, judged by our webhook and by one that always allows.
func (b *bench) updating(ctx context.Context) error {
	s, err := b.stage(ctx)
	if err != nil {
		return err
	}
	if err := s.grow(ctx, s.perNamespace); err != nil {
		return err
	}
	judge, err := b.judgeOf(1000)
	if err != nil {
		return err
	}
	var added []float64
	for round := range b.admitRounds {
		var mine, bare times
		for _, turn := range turns(round, func() (err error) { mine, err = s.updated(ctx, b, judge); return err }, func() (err error) { bare, err = s.updated(ctx, b, allowing()); return err }) {
			if err := turn(); err != nil {
				return err
			}
		}
		b.report.say("%d updates, judged: p99 %.2f ms; always allowed: p99 %.2f ms", len(mine.each), mine.p99(), bare.p99())
		added = append(added, mine.p99()-bare.p99())
	}
	b.report.rounds("admit_added_p99_ms", added)
	b.report.figure("admit_added_p99_ms", median(added), "ms")
	return nil
}

// updated updates Deployments of one namespace while a webhook judges them.
func (s *stage) updated(ctx context.Context, b *bench, webhook http.Handler) (t times, err error) {
	server := overTLS(webhook)
	defer server.Close()
	if err := s.judgedBy(ctx, server); err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.judgedByNobody()) }()
	namespace := s.namespaceOf(0)
	patch := func(ctx context.Context, i int) error {
		body := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"bench/turn":"%d-%d"}}}}}`, time.Now().UnixNano(), i)
		_, err := s.clients.AppsV1().Deployments(namespace).Patch(ctx, deploymentName(i%s.perNamespace), types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "bench"})
		if apierrors.IsConflict(err) {
			return nil // two workers met on one object
		}
		return err
	}
	if _, err := b.timed(ctx, s.perNamespace, patch); err != nil { // the first ones wait for the configuration
		return t, fmt.Errorf("update Deployments: %w", err)
	}
	time.Sleep(500 * time.Millisecond)
	if t, err = b.timed(ctx, b.updatesJudged, patch); err != nil {
		return t, fmt.Errorf("update Deployments: %w", err)
	}
	return t, nil
}

// judgedBy has the API server send changes of Deployments to a server on this machine.
func (s *stage) judgedBy(ctx context.Context, server *httptest.Server) error {
	url := server.URL + admit.JudgePath
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	rules := []admit.FreezeRule{{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: workload.ChangeRollOut}}
	config := admit.FreezeConfiguration(admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}, rules, admit.FreezeScope{})
	_, err := s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, config, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the webhook configuration: %w", err)
	}
	return nil
}

func (s *stage) judgedByNobody() error {
	return s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.Background(), admit.FreezeConfigurationName, metav1.DeleteOptions{})
}
