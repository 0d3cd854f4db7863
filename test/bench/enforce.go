package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// frozenName is the Deployment in the namespace default that freezes protect from deletion.
const frozenName = "web"

// enforcing measures how soon a new freeze is enforced. It measures this for two replicas that are called directly, and
// for the API server with the first freeze, when the webhook configuration has to be created too. It also measures how
// soon a deleted or edited configuration is restored.
func (b *bench) enforcing(ctx context.Context) (err error) {
	s, err := b.start(ctx, local.Options{}) // the webhooks would affect all other measurements
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if _, err := s.clients.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, s.frozenDeployment(),
		metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the Deployment to be frozen: %w", err)
	}
	replicas, err := s.replicas(ctx)
	if err != nil {
		return err
	}
	defer func() {
		for _, r := range replicas {
			err = errors.Join(err, r.stop())
		}
	}()
	first, err := s.firstFrozenTimes(ctx)
	if err != nil {
		return err
	}
	each, ratios, err := s.frozenEverywhere(ctx, replicas)
	if err != nil {
		return err
	}
	restored, err := s.restoredTimes(ctx)
	if err != nil {
		return err
	}
	b.report.rounds("freeze_enforced_ms", each)
	b.report.rounds("freeze_enforced_ratio", ratios)
	b.report.rounds("freeze_first_enforced_ms", first)
	b.report.rounds("webhook_restored_ms", restored)
	b.report.figure("freeze_enforced_ms", slices.Max(each), "ms")
	b.report.figure("freeze_enforced_ratio", median(ratios), "ratio")
	b.report.figure("freeze_first_enforced_ms", slices.Max(first), "ms")
	b.report.figure("webhook_restored_ms", slices.Max(restored), "ms")
	return nil
}

func (s *stage) frozenDeployment() *appsv1.Deployment {
	d := s.deployment(0)
	d.Namespace, d.Name = metav1.NamespaceDefault, frozenName
	return d
}

// freezing returns a freeze that forbids every deletion in a namespace for decades.
func freezing(namespace, name string) *v1alpha1.ChangeFreeze {
	f := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	f.Spec.StartTime = metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	f.Spec.EndTime = metav1.NewTime(time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC))
	f.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionDelete}
	return f
}

// refusedBy returns the text that every refusal by the freeze contains.
func refusedBy(f *v1alpha1.ChangeFreeze) string {
	return "ChangeFreeze/" + f.Namespace + "/" + f.Name + " denies Delete"
}

// frozenEverywhere creates freezes one after another. The result each has, for each freeze, the milliseconds from the
// answer to the creation until the last replica refuses. The result ratios has the time from the request until the last
// replica refuses, divided by the time until a bare watch sees the freeze.
func (s *stage) frozenEverywhere(ctx context.Context, replicas []*replica) (each, ratios []float64, err error) {
	// The webhook configuration exists as long as there is a freeze.
	if err := s.env.Client.Create(ctx, freezing(harness.Namespace, "elsewhere")); err != nil {
		return nil, nil, fmt.Errorf("create a freeze: %w", err)
	}
	freezes, err := s.watchFreezes(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer freezes.Stop()
	for i := range s.frozenTimes + 1 {
		f := freezing(metav1.NamespaceDefault, fmt.Sprint("freeze-", i))
		var refused, seen time.Time
		sent := time.Now()
		answered, err := s.createWhile(ctx, f,
			func(ctx context.Context) (err error) {
				refused, err = lastRefusal(ctx, replicas, refusedBy(f))
				return err
			},
			func(ctx context.Context) (err error) { seen, err = sight(ctx, freezes, f.Name); return err })
		if err != nil {
			return nil, nil, fmt.Errorf("freeze number %d: %w", i, err)
		}
		if err := s.thaw(ctx, f, func() error { return allAllow(ctx, replicas) }); err != nil {
			return nil, nil, err
		}
		if i == 0 {
			continue // connections are warm now
		}
		each = append(each, max(refused.Sub(answered).Seconds()*1000, 0))
		ratios = append(ratios, refused.Sub(sent).Seconds()/seen.Sub(sent).Seconds())
	}
	return each, ratios, s.thaw(ctx, freezing(harness.Namespace, "elsewhere"), func() error { return nil })
}

// createWhile creates a freeze while the lookouts run, and returns the time at which the creation was answered.
func (s *stage) createWhile(ctx context.Context, f *v1alpha1.ChangeFreeze, lookouts ...func(context.Context) error) (time.Time, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, harness.Patience, fmt.Errorf("the freeze is not enforced after %s", harness.Patience))
	defer cancel()
	results := make(chan error, len(lookouts))
	for _, look := range lookouts {
		go func() { results <- look(ctx) }()
	}
	err := s.env.Client.Create(ctx, f)
	answered := time.Now()
	if err != nil {
		cancel()
		err = fmt.Errorf("create the freeze %s: %w", f.Name, err)
	}
	for range lookouts {
		err = errors.Join(err, <-results)
	}
	return answered, err
}

// look is the pause between two questions. It leaves the processor to the measured programs.
const look = time.Millisecond

// lastRefusal calls all replicas again and again. It returns the time at which the last replica refused first because
// of a policy.
func lastRefusal(ctx context.Context, replicas []*replica, by string) (time.Time, error) {
	at := make([]time.Time, len(replicas))
	err := parallel(ctx, len(replicas), len(replicas), func(ctx context.Context, i int) error {
		return wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
			answer, err := replicas[i].askDeletion(ctx)
			at[i] = time.Now()
			return bytes.Contains(answer, []byte(by)), err
		})
	})
	return slices.MaxFunc(at, time.Time.Compare), err
}

// allAllow returns an error for a replica that still refuses the deletion.
func allAllow(ctx context.Context, replicas []*replica) error {
	for i, r := range replicas {
		answer, err := r.askDeletion(ctx)
		if err == nil && !bytes.Contains(answer, []byte(`"allowed":true`)) {
			err = fmt.Errorf("replica %d answers %s", i, answer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// watchFreezes starts the bare watch. It watches only metadata, which is the cheapest possible watch.
func (s *stage) watchFreezes(ctx context.Context) (watch.Interface, error) {
	c, err := metadata.NewForConfig(s.env.Config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	w, err := c.Resource(schema.GroupVersionResource{Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: "changefreezes"}).
		Namespace(metav1.NamespaceDefault).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("watch freezes: %w", err)
	}
	return w, nil
}

// sight returns the time at which a watch reports an added object.
func sight(ctx context.Context, w watch.Interface, name string) (time.Time, error) {
	for {
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case event, ok := <-w.ResultChan():
			if !ok {
				return time.Time{}, errors.New("the watch of freezes has ended")
			}
			if obj, is := event.Object.(metav1.Object); is && event.Type == watch.Added && obj.GetName() == name {
				return time.Now(), nil
			}
		}
	}
}

// thaw deletes a freeze. It waits until the freeze is gone and the function until returns nil.
func (s *stage) thaw(ctx context.Context, f *v1alpha1.ChangeFreeze, until func() error) error {
	if err := s.env.Client.Delete(ctx, f); err != nil {
		return fmt.Errorf("delete the freeze %s: %w", f.Name, err)
	}
	return harness.Poll(ctx, harness.Patience, func() error {
		if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(f), &v1alpha1.ChangeFreeze{}); !apierrors.IsNotFound(err) {
			return errors.Join(fmt.Errorf("the freeze %s is still there", f.Name), err)
		}
		return until()
	})
}

// firstFrozenTimes creates, several times, a freeze while there is no other. It returns the milliseconds from each
// answer to the API server's first refusal.
func (s *stage) firstFrozenTimes(ctx context.Context) ([]float64, error) {
	var each []float64
	for i := range s.firstFrozen {
		f := freezing(metav1.NamespaceDefault, fmt.Sprint("first-", i))
		var refused time.Time
		answered, err := s.createWhile(ctx, f, func(ctx context.Context) (err error) { refused, err = s.refusal(ctx, refusedBy(f)); return err })
		if err != nil {
			return nil, fmt.Errorf("the first freeze, number %d: %w", i, err)
		}
		each = append(each, max(refused.Sub(answered).Seconds()*1000, 0))
		err = s.thaw(ctx, f, func() error {
			_, err := s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, register.FreezeConfigurationName,
				metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("there is still a webhook configuration without a freeze"), err)
		})
		if err != nil {
			return nil, err
		}
	}
	return each, nil
}

// refusal tries a deletion as a dry run repeatedly, and returns the time of the API server's first refusal.
func (s *stage) refusal(ctx context.Context, by string) (time.Time, error) {
	var at time.Time
	err := wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
		err := s.clients.AppsV1().Deployments(metav1.NamespaceDefault).Delete(ctx, frozenName,
			metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		if at = time.Now(); apierrors.IsForbidden(err) && strings.Contains(err.Error(), by) {
			return true, nil
		}
		return false, err
	})
	return at, err
}
