package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// ordering measures a decision about a target among ten thousand Overrides of other objects, over a decision without Overrides.
func (b *bench) ordering(ctx context.Context) error {
	var run []func()
	for _, n := range []int{0, decidedAmong[len(decidedAmong)-1]} {
		c := nightly("nights")
		c.Spec.Target = globs(0)
		c.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterSchedule"))
		policies := []policy.Object{c}
		for i := range n {
			policies = append(policies, orderOfOthers(i))
		}
		decide, err := b.targetAmong(policies, 1)
		if err != nil {
			return err
		}
		run = append(run, decide)
	}
	return b.growing(ctx, "decide_overrides_ratio", run)
}

// orderOfOthers returns the i-th Override. It is for other objects of the same namespace, by name or by label, for another namespace, or
// it was for the whole namespace and is over.
func orderOfOthers(i int) *v1alpha1.Override {
	now := nightOf(0).dusk.Add(2 * time.Hour)
	o := &v1alpha1.Override{ObjectMeta: metav1.ObjectMeta{Namespace: "shop-blue", Name: fmt.Sprint("order-", i),
		CreationTimestamp: metav1.NewTime(now.Add(-2 * time.Hour))}}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Override"))
	o.Spec.OverrideRules = v1alpha1.OverrideRules{Effect: v1alpha1.OverrideAwake, For: "3h", Reason: "demo"}
	switch i % 4 {
	case 0:
		o.Spec.Target.Names = []string{fmt.Sprint("web-1-", i)}
	case 1:
		o.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": fmt.Sprint("other-", i)}}
	case 2:
		o.Namespace = fmt.Sprint("shop-", i)
	case 3:
		o.Spec.For = "1h"
	}
	return o
}
