package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// deploymentsResource is the patched and watched resource.
var deploymentsResource = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// loop is the baseline of a transition. It sends the same patches as the manager, which are prepared before. It uses
// the same kind of client, and as many goroutines as the manager has workers. It does nothing else.
type loop struct {
	stage *stage
	// policies decide the patches.
	policies []*policy.Policy
	client   metadata.Interface
	meter    *meter
}

func (s *stage) loop() (*loop, error) {
	p, err := compilePolicy(nightly("nights"))
	if err != nil {
		return nil, err
	}
	l := &loop{stage: s, policies: []*policy.Policy{p}, meter: &meter{}}
	if l.client, err = metadata.NewForConfig(l.meter.on(s.env.Config)); err != nil {
		return nil, fmt.Errorf("make the client of the bare loop: %w", err)
	}
	return l, nil
}

// listTargets returns the schedule's targets as the manager's watch keeps them.
func (s *stage) listTargets(ctx context.Context) ([]*workload.Object, error) {
	var all []*workload.Object
	for i := 0; i*s.perNamespace < s.targets; i++ {
		raw, err := s.clients.AppsV1().RESTClient().Get().Resource("deployments").Namespace(namespaceName(i)).SetHeader("Accept",
			"application/json").DoRaw(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the Deployments of %s: %w", namespaceName(i), err)
		}
		rawjson.GetBytes(raw, "items").ForEach(func(_, item rawjson.Value) bool {
			var obj *workload.Object
			if obj, err = s.adapter.Project([]byte(item.Raw)); err == nil {
				all = append(all, obj)
			}
			return err == nil
		})
		if err != nil {
			return nil, fmt.Errorf("project a Deployment of %s: %w", namespaceName(i), err)
		}
	}
	if len(all) != s.targets {
		return nil, fmt.Errorf("list the targets: there are %d, want %d", len(all), s.targets)
	}
	return all, nil
}

// transition sends the patches of a transition and returns the time from the first request to the last answer.
func (l *loop) transition(ctx context.Context, at time.Time, profile string) (timing, error) {
	objects, err := l.stage.listTargets(ctx)
	if err != nil {
		return timing{}, err
	}
	patches := make([]*workload.Patch, len(objects))
	for i, obj := range objects {
		result, err := decide(l.policies, l.stage.adapter, obj, scheduledPairs, at)
		if err != nil {
			return timing{}, err
		}
		if result.Patch == nil || result.Patch.Next != nil {
			return timing{}, fmt.Errorf("prepare the bare loop: %s/%s needs no single patch", obj.Namespace, obj.Name)
		}
		patches[i] = result.Patch
	}
	return l.stage.timed(ctx, profile, func() (time.Duration, error) { return l.send(ctx, objects, patches) })
}

func (l *loop) send(ctx context.Context, objects []*workload.Object, patches []*workload.Patch) (time.Duration, error) {
	reached := l.meter.expect(len(objects))
	began := time.Now()
	err := parallel(ctx, l.stage.writers, len(objects), func(ctx context.Context, i int) error {
		_, err := l.client.Resource(deploymentsResource).Namespace(objects[i].Namespace).
			Patch(ctx, objects[i].Name, patches[i].Type, patches[i].Body, metav1.PatchOptions{FieldManager: apply.FieldManager})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("send the patches of the bare loop: %w", err)
	}
	last, err := l.meter.await(ctx, reached, time.Second)
	if err != nil {
		return 0, err
	}
	return last.Sub(began), nil
}

// timing is the cost of a transition.
type timing struct {
	// seconds is the wall time.
	Seconds float64 `json:"seconds"`
	effort
}

// timed measures a transition. With a profile, it also writes CPU profiles of this program and of the API server to
// files with that prefix.
func (s *stage) timed(ctx context.Context, profile string, transition func() (time.Duration, error)) (timing, error) {
	collect()
	before, err := s.effort(ctx)
	if err != nil {
		return timing{}, err
	}
	stop, err := s.profile(ctx, profile)
	if err != nil {
		return timing{}, err
	}
	took, err := transition()
	if err = errors.Join(err, stop()); err != nil {
		return timing{}, err
	}
	after, err := s.effort(ctx)
	return timing{took.Seconds(), after.since(before)}, err
}

func (r timing) String() string {
	return fmt.Sprintf("%.2f s (CPU: API server %.2f s, client %.2f s)", r.Seconds, r.Server, r.Own)
}

// verify reads the targets and returns an error unless all are asleep with a ledger, or all are awake without one.
func (s *stage) verify(ctx context.Context, asleep bool) error {
	objects, err := s.listTargets(ctx)
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if (len(obj.Ledger) > 0) != asleep || obj.LedgerError != "" {
			return fmt.Errorf("verify the targets: %s/%s has %d ledger entries (%s), want asleep %t", obj.Namespace, obj.Name, len(obj.Ledger),
				obj.LedgerError, asleep)
		}
	}
	if len(objects) == 0 {
		return errors.New("verify the targets: there are none")
	}
	return nil
}
