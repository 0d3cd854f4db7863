package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/local"
)

// quiet counts the requests of an idle manager in two situations: while all targets are decided again without effect,
// and while nothing happens. The metrics of the API server do not identify the client, and the API server also calls
// itself. So the requests are counted in the audit log. This is done on a separate cluster, because writing the log
// would slow down other measurements.
func (b *bench) quiet(ctx context.Context) (err error) {
	s, err := b.start(ctx, local.Options{Audit: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := errors.Join(s.grow(ctx, s.targets), s.schedule(ctx)); err != nil {
		return err
	}
	n := nightOf(0)
	o, err := s.operator(ctx, n.dusk.Add(-time.Hour), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	if _, err := o.transition(ctx, n.dusk, s.targets); err != nil {
		return err
	}
	if err := o.meter.settle(ctx, 1500*time.Millisecond, time.Minute); err != nil {
		return err
	}
	noop, err := s.noop(ctx, o)
	if err != nil {
		return err
	}
	idle, err := s.idleFor(ctx, s.idle)
	if err != nil {
		return err
	}
	b.report.figure("noop_requests", noop, "requests")
	b.report.figure("idle_requests_per_minute", idle*float64(time.Minute)/float64(s.idle), "requests/min")
	return nil
}

// noop triggers a decision of every target by touching the schedule, every namespace and every target. No touch changes
// a decision. It returns the number of the manager's requests.
func (s *stage) noop(ctx context.Context, o *operator) (float64, error) {
	began := time.Now()
	for _, touch := range []func(context.Context) error{s.touchSchedule, s.touchNamespaces, s.touchTargets} {
		judged, err := o.decisions()
		if err != nil {
			return 0, err
		}
		if err := touch(ctx); err != nil {
			return 0, err
		}
		if err := o.judgedAgain(ctx, judged, s.targets); err != nil {
			return 0, err
		}
	}
	if err := o.meter.settle(ctx, 2*time.Second, time.Minute); err != nil {
		return 0, err
	}
	made, err := s.audited(began)
	s.report.say("requests of the manager while all %d targets were judged again three times: %q", s.targets, made)
	return made.sum(), err
}

// idleFor waits while nothing happens and returns the number of the manager's requests.
func (s *stage) idleFor(ctx context.Context, d time.Duration) (float64, error) {
	began := time.Now()
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(d):
	}
	made, err := s.audited(began)
	s.report.say("requests of the manager in %s in which nothing happened: %q", d, made)
	return made.sum(), err
}

// audited counts the manager's requests in the audit log since an instant. Watches and leases do not count.
func (s *stage) audited(since time.Time) (tally, error) {
	all, err := s.env.Cluster.Audit()
	if err != nil {
		return nil, err
	}
	made, known := tally{}, false
	for _, r := range all {
		if !strings.HasPrefix(r.UserAgent, "flyball-manager") {
			continue
		}
		known = true
		c := call{verb: strings.ToUpper(r.Verb), resource: r.URI}
		if r.Object != nil {
			c = call{c.verb, r.Object.APIGroup, r.Object.Resource, r.Object.Subresource}
		}
		if !r.Received.Before(since) && !ignored(c) {
			made[c]++
		}
	}
	if !known {
		return nil, errors.New("count the manager's requests: the audit log does not know the manager")
	}
	return made, nil
}

// judgedAgain waits until n more targets were decided.
func (o *operator) judgedAgain(ctx context.Context, before uint64, n int) error {
	deadline := time.Now().Add(time.Minute)
	for {
		now, err := o.decisions()
		if err != nil {
			return err
		}
		if now-before >= uint64(n) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("wait for every target to be judged again: %d of %d were", now-before, n)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// touch returns a merge patch that changes one label or annotation without any meaning.
func touch(kind string) []byte {
	return []byte(`{"metadata":{"` + kind + `":{"bench.flyball.dev/touched":"` + time.Now().UTC().Format("20060102T150405.000000000") + `"}}}`)
}

func (s *stage) touchSchedule(ctx context.Context) error {
	return s.env.Patch(ctx, &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nights"}}, string(touch("annotations")))
}

func (s *stage) touchNamespaces(ctx context.Context) error {
	return parallel(ctx, s.writers, (s.targets+s.perNamespace-1)/s.perNamespace, func(ctx context.Context, i int) error {
		_, err := s.clients.CoreV1().Namespaces().Patch(ctx, namespaceName(i), types.MergePatchType, touch("labels"), metav1.PatchOptions{})
		return err
	})
}

func (s *stage) touchTargets(ctx context.Context) error { return s.touchDeployments(ctx, 0, s.targets) }

// touchDeployments labels the Deployments with numbers in [from, to).
func (s *stage) touchDeployments(ctx context.Context, from, to int) error {
	return parallel(ctx, s.writers, to-from, func(ctx context.Context, i int) error {
		_, err := s.clients.AppsV1().Deployments(s.namespaceOf(from+i)).
			Patch(ctx, deploymentName(from+i), types.MergePatchType, touch("labels"), metav1.PatchOptions{FieldManager: "bench"})
		return err
	})
}
