package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

var noon = time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)

// calm is the time without changes in which no pod may come back.
const calm = 20 * time.Second

type run struct {
	env       *harness.Env
	project   *project
	manager   *manager
	scenarios []*scenario
}

// nights tries the kinds of a project for three nights on a control plane.
func (p *project) nights(ctx context.Context, root string) (_ []*scenario, err error) {
	env, err := harness.Up(ctx, local.Options{Level: cmp.Or(p.Level, local.LevelWorkloads)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, env.Cluster.Stop()) }()
	defer p.end()
	if err := p.prepare(ctx, env); err != nil {
		return nil, err
	}
	if err := env.InstallAdapters(ctx); err != nil {
		return nil, err
	}
	r := &run{env: env, project: p}
	for _, kind := range p.Kinds {
		files, err := p.manifests(root, kind)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if err := r.add(ctx, file, fmt.Sprintf("real-%d", len(r.scenarios)+1)); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if r.manager, err = startManager(env.Cluster.Kubeconfig, noon); err != nil {
		return nil, err
	}
	defer func() { r.manager.kill() }()
	r.each(func(s *scenario) error { return r.remember(ctx, s) })
	r.each(func(s *scenario) error { return r.begin(ctx, s) })
	for _, night := range []func(context.Context) error{r.killed, r.edited, r.late} {
		if !slices.ContainsFunc(r.scenarios, func(s *scenario) bool { return s.fault == nil }) {
			break
		}
		if err := night(ctx); err != nil {
			return nil, err
		}
	}
	p.stop()
	return r.scenarios, p.ended
}

// killed is a night in which Flyball is killed in mid-transition and asleep.
func (r *run) killed(ctx context.Context) error {
	dusk, since := noon.Add(9*time.Hour), time.Now()
	if err := errors.Join(r.manager.set(dusk), r.restart(dusk)); err != nil {
		return err
	}
	r.fall(ctx, since)
	if err := r.restart(dusk); err != nil {
		return err
	}
	r.calm(ctx)
	r.each(func(s *scenario) error { return r.ask(ctx, s, dusk) })
	since = time.Now()
	err := r.manager.set(noon.Add(21 * time.Hour))
	r.rise(ctx, since)
	return err
}

// edited is a night in which owners edit their objects. The project's controllers are down when Flyball wakes the objects.
func (r *run) edited(ctx context.Context) error {
	since := time.Now()
	if err := r.manager.set(noon.Add(33 * time.Hour)); err != nil {
		return err
	}
	r.fall(ctx, since)
	r.each(func(s *scenario) error { return r.patch(ctx, s) })
	r.calm(ctx)
	if err := errors.Join(r.project.down(r.env), r.manager.set(noon.Add(45*time.Hour))); err != nil {
		return err
	}
	// With its webhooks away, a write may have to wait.
	_ = harness.Poll(ctx, calm, func() error {
		for _, s := range r.scenarios {
			if now, err := r.look(ctx, s); err != nil || now.asleep && s.fault == nil {
				return errors.Join(err, errors.New("asleep"))
			}
		}
		return nil
	})
	since = time.Now()
	err := r.project.up(r.env)
	r.rise(ctx, since)
	return err
}

// late is a night after which Flyball is away at dawn.
func (r *run) late(ctx context.Context) error {
	since := time.Now()
	if err := r.manager.set(noon.Add(57 * time.Hour)); err != nil {
		return err
	}
	r.fall(ctx, since)
	r.calm(ctx)
	since = time.Now()
	err := r.restart(noon.Add(69 * time.Hour))
	r.rise(ctx, since)
	return err
}

// restart kills the manager and starts another at an instant.
func (r *run) restart(at time.Time) (err error) {
	r.manager.kill()
	r.manager, err = startManager(r.env.Cluster.Kubeconfig, at)
	return err
}

// remember keeps the owners' wishes and the number of pods, once the pods are there.
func (r *run) remember(ctx context.Context, s *scenario) error {
	hasPods := s.objects[0].GetAnnotations()["pods"] != "none"
	var now seen
	last, err := -1, error(nil)
	if err := harness.PollEvery(ctx, time.Second, patience, func() error {
		now, err = r.look(ctx, s)
		if err == nil && (now.able == 0 && hasPods || now.bound != now.able || now.able != last || !now.settled && s.settles()) {
			err = fmt.Errorf("%d of %d pods, settled %t", now.able, now.bound, now.settled)
		}
		last = now.able
		return err
	}); err != nil {
		return err
	}
	s.pods = now.pods
	s.owners, err = r.wanted(ctx, s)
	return err
}

// begin makes the changes before the first night.
func (r *run) begin(ctx context.Context, s *scenario) error {
	obj := s.objects[0]
	changes := obj.GetAnnotations()[before]
	if changes == "" {
		return nil
	}
	for body := range strings.Lines(changes) {
		was := kept(obj)
		if err := r.env.Patch(ctx, obj.DeepCopy(), body); err != nil {
			return err
		}
		// Until its controller has seen the change, the object looks as settled as before.
		if err := harness.Poll(ctx, patience, func() error {
			err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			if err == nil && (reflect.DeepEqual(was, kept(obj)) && !paused(obj) || !reached(obj)) {
				err = errors.New("the controller has not seen the change")
			}
			return err
		}); err != nil {
			return err
		}
	}
	return r.remember(ctx, s)
}

// paused reports whether the Deployment controller has seen that an object is paused.
func paused(obj *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool { return c.(map[string]any)["reason"] == "DeploymentPaused" })
}

// fall waits until the pods of all objects are gone.
func (r *run) fall(ctx context.Context, since time.Time) {
	r.each(func(s *scenario) error {
		if s.stays() {
			return nil
		}
		return harness.Poll(ctx, patience, func() error {
			now, err := r.look(ctx, s)
			switch {
			case err != nil:
				return err
			case now.own && now.settled && now.bound > s.left && !s.settlesApart(true):
				s.fail(fmt.Errorf("settled asleep with %d pods", now.bound))
			case now.asleep && now.settled && now.bound == s.left:
				s.gone = max(s.gone, time.Since(since))
				return nil
			}
			return fmt.Errorf("ledger %t, settled %t, %d pods", now.asleep, now.settled, now.bound)
		})
	})
}

// calm watches that no pod comes back.
func (r *run) calm(ctx context.Context) {
	until := time.Now().Add(calm)
	_ = harness.PollEvery(ctx, 200*time.Millisecond, patience, func() error {
		r.each(func(s *scenario) error {
			now, err := r.look(ctx, s)
			switch {
			case err != nil:
				return err
			case s.stays() && (!slices.Equal(now.pods, s.pods) || now.asleep):
				return fmt.Errorf("it does not stay: pods %v, before %v, ledger %t", now.pods, s.pods, now.asleep)
			case !s.stays() && (now.bound != s.left || !now.asleep):
				return fmt.Errorf("%d pods and not %d, ledger %t", now.bound, s.left, now.asleep)
			}
			return nil
		})
		if time.Now().Before(until) {
			return errors.New("it is night")
		}
		return nil
	})
}

// rise waits until all objects are as their owners want, with their pods.
func (r *run) rise(ctx context.Context, since time.Time) {
	r.each(func(s *scenario) error {
		err := harness.Poll(ctx, patience, func() error {
			now, err := r.look(ctx, s)
			switch {
			case err != nil:
				return err
			case now.asleep:
				return errors.New("the ledger is still there")
			case s.stays() && !slices.Equal(now.pods, s.pods):
				return fmt.Errorf("it has not stayed: pods %v, before %v", now.pods, s.pods)
			case now.settled && now.able < len(s.pods) && !s.settlesApart(false):
				s.fail(fmt.Errorf("settled awake with %d of %d pods", now.able, len(s.pods)))
			case now.able != len(s.pods) || !now.settled && s.settles():
				return fmt.Errorf("%d of %d pods, settled %t", now.able, len(s.pods), now.settled)
			}
			return nil
		})
		s.ready = max(s.ready, time.Since(since))
		if err == nil {
			err = r.exact(ctx, s)
		}
		if err == nil {
			s.night++
		}
		return err
	})
}

// each calls do for every object without a fault.
func (r *run) each(do func(*scenario) error) {
	for _, s := range r.scenarios {
		if s.fault != nil {
			continue
		}
		if s.fail(do(s)); s.fault != nil {
			r.warn(s)
		}
	}
}

// warn prints the warnings of a scenario.
func (r *run) warn(s *scenario) {
	var events corev1.EventList
	if err := r.env.Client.List(context.Background(), &events, client.InNamespace(s.namespace)); err != nil {
		fmt.Fprintln(os.Stderr, "list the events:", err)
	}
	for _, e := range events.Items {
		if e.Type != corev1.EventTypeNormal {
			fmt.Fprintf(os.Stderr, "  %s %s: %s %s\n", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
}
