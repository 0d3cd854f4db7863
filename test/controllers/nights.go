package main

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/test/harness"
)

var noon = time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)

// nights has three nights: in the first the manager is killed in the transition and asleep, in the second an owner edits and the manager
// is down over the due wake, and the third is undisturbed.
func (r *run) nights(ctx context.Context) (err error) {
	if r.manager, err = startManager(r.env.Cluster.Kubeconfig, noon); err != nil {
		return err
	}
	defer func() { r.manager.kill() }()
	if err := r.remember(ctx); err != nil {
		return err
	}
	for night := range 3 {
		dusk, dawn := noon.AddDate(0, 0, night).Add(9*time.Hour), noon.AddDate(0, 0, night).Add(21*time.Hour)
		since := time.Now()
		if err := r.manager.set(dusk); err != nil {
			return err
		}
		if night == 0 {
			if err := errors.Join(r.restart(dusk), r.fall(ctx, since), r.restart(dusk)); err != nil {
				return err
			}
		}
		if err := r.fall(ctx, since); err != nil {
			return err
		}
		if night == 1 {
			if err := errors.Join(r.patch(ctx), r.fall(ctx, since)); err != nil {
				return err
			}
		}
		since = time.Now()
		if night == 1 {
			err = r.restart(dawn)
		} else {
			err = r.manager.set(dawn)
		}
		if err := errors.Join(err, r.rise(ctx, since)); err != nil {
			return err
		}
	}
	return nil
}

// restart kills the manager and starts another at an instant.
func (r *run) restart(at time.Time) (err error) {
	r.manager.kill()
	r.manager, err = startManager(r.env.Cluster.Kubeconfig, at)
	return err
}

// remember keeps specs and numbers of pods, once the pods of every object are there.
func (r *run) remember(ctx context.Context) error {
	return r.each(func(s *scenario) error {
		return harness.Poll(ctx, patience, func() error {
			_, settled, all, able, err := r.look(ctx, s)
			hasPods := s.adapter.Spec.Pods != nil && s.adapter.Spec.Pods.Selector != ""
			if err == nil && (all != able || !settled && !s.adapter.Spec.RunsToCompletion || all == 0 && hasPods) {
				err = errors.New("not all pods are there")
			}
			s.pods, s.spec = able, runtime.DeepCopyJSONValue(s.target.Object["spec"])
			return err
		})
	})
}
