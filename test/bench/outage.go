package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// outages measures the recovery of the manager if a transition comes during an outage of the API server. The manager
// uses the machine's clock, because its retries do so too.
func (b *bench) outages(ctx context.Context) (err error) {
	own := &bench{sizes: b.sizes, opts: b.opts, report: b.report}
	own.targets = b.outageTargets
	s, err := own.start(ctx, local.Options{}) // a cluster that can be stopped
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := s.grow(ctx, s.targets); err != nil {
		return err
	}
	c := always("outages")
	c.Spec.Asleep = []v1alpha1.Window{transitionAt(time.Now().AddDate(1, 0, 0), true)}
	if err := s.env.Client.Create(ctx, c); err != nil {
		return fmt.Errorf("create the schedule: %w", err)
	}
	o := s.live()
	defer func() { err = errors.Join(err, o.stop()) }()
	var took []float64
	for i := range s.outageRounds {
		// The transition comes early or in the middle of the outage. After a longer failure the retries are further apart.
		lead := []time.Duration{announceLimit, s.outage / 2}[i/2%2]
		ms, err := s.acrossOutage(ctx, o, c, i%2 == 0, lead)
		if err != nil {
			return fmt.Errorf("outage number %d: %w", i, err)
		}
		took = append(took, ms)
	}
	b.report.rounds("outage_recovery_ms", took)
	b.report.figure("outage_recovery_ms", slices.Max(took), "ms")
	return nil
}

// transitionAt returns a window that starts at an instant, or ends at it.
func transitionAt(at time.Time, start bool) v1alpha1.Window {
	text := at.UTC().Format(time.RFC3339)
	if start {
		return v1alpha1.Window{Start: text, End: "2090-01-01T00:00:00Z"}
	}
	return v1alpha1.Window{Start: "2020-01-01T00:00:00Z", End: text}
}

// announceLimit is the time limit for the manager to learn the next transition.
const announceLimit = 4 * time.Second

// acrossOutage lets a transition come while the API server does not run. It returns the milliseconds from the return of
// the API server to the answer to the last patch. The API server has returned when a bare reader gets its first answer.
func (s *stage) acrossOutage(ctx context.Context, o *operator, c *v1alpha1.ClusterSchedule, asleep bool, lead time.Duration) (float64,
	error) {
	if err := o.awaitTargets(ctx, c.Name, s.targets, stateName(!asleep)); err != nil {
		return 0, err
	}
	transition := time.Now().Add(lead).Truncate(time.Second)
	if err := s.announce(ctx, c, transitionAt(transition, asleep), transition); err != nil {
		return 0, err
	}
	if err := s.env.Cluster.StopAPIServer(); err != nil {
		return 0, err
	}
	stopped, reached := time.Now(), o.meter.expect(s.targets)
	if left := time.Until(transition); left < 0 {
		return 0, fmt.Errorf("the transition was %s before the API server was away", -left)
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(s.outage):
	}
	returned, err := s.comeBack(ctx)
	if err != nil {
		return 0, err
	}
	last, err := o.meter.await(ctx, reached, transitionLimit)
	if err != nil {
		return 0, err
	}
	took := last.Sub(returned)
	s.report.say("%d targets %s %.1f s after the return of an API server that was away for %.1f s, from %.1f s before the transition",
		s.targets, stateName(asleep), took.Seconds(), returned.Sub(stopped).Seconds(), transition.Sub(stopped).Seconds())
	return max(took.Seconds()*1000, 0), s.verify(ctx, asleep)
}

// announce sets the schedule's next transition, and waits until the manager knows it.
func (s *stage) announce(ctx context.Context, c *v1alpha1.ClusterSchedule, w v1alpha1.Window, transition time.Time) error {
	body := fmt.Sprintf(`{"spec":{"asleep":[{"start":%q,"end":%q}]}}`, w.Start, w.End)
	if err := s.env.Patch(ctx, &v1alpha1.ClusterSchedule{ObjectMeta: c.ObjectMeta}, body); err != nil {
		return fmt.Errorf("set the next transition: %w", err)
	}
	return harness.Poll(ctx, time.Until(transition), func() error {
		var cur v1alpha1.ClusterSchedule
		if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(c), &cur); err != nil {
			return err
		}
		if next := cur.Status.NextTransitionTime; next == nil || !next.Time.Equal(transition) {
			return fmt.Errorf("the next transition is %s, want %s", next, transition)
		}
		return nil
	})
}

// comeBack starts the API server again. A client reads a Deployment continuously, and comeBack returns the time of its
// first answer.
func (s *stage) comeBack(ctx context.Context) (answered time.Time, err error) {
	asked := make(chan error, 1)
	go func() {
		asked <- harness.Poll(ctx, harness.Patience, func() error {
			_, err := s.clients.AppsV1().Deployments(s.namespaceOf(0)).Get(ctx, deploymentName(0), metav1.GetOptions{})
			answered = time.Now()
			return err
		})
	}()
	err = s.env.Cluster.StartAPIServer()
	err = errors.Join(err, <-asked)
	return answered, err
}
