package integration

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// amountsAsked are the requests and utilisations that a case of an adapter's test data asks for.
type amountsAsked struct {
	// Requests are by component and resource.
	Requests map[string]map[workload.Resource]resource.Quantity `json:"requests"`
	// Utilisation is in percent, by resource, or by container and resource (web/cpu).
	Utilisation map[string]int64 `json:"utilisation"`
}

func (c *libraryCase) asksAmounts() bool { return len(c.ask.Requests)+len(c.ask.Utilisation) > 0 }

// plan is what the merge makes of the amounts, on behalf of one policy.
func (a amountsAsked) plan() workload.Plan {
	amounts := map[workload.Amount]workload.Claim[int64]{}
	claim := func(n int64) workload.Claim[int64] {
		return workload.Claim[int64]{Value: n, By: workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}, Since: dusk}
	}
	for component, requests := range a.Requests {
		for name, q := range requests {
			n := q.Value()
			if name == workload.CPU {
				n = q.MilliValue()
			}
			amounts[workload.Amount{Kind: workload.AmountRequest, Component: component, Resource: name}] = claim(n)
		}
	}
	for name, percent := range a.Utilisation {
		container, of, found := strings.Cut(name, "/")
		if !found {
			container, of = "", name
		}
		amounts[workload.Amount{Kind: workload.AmountUtilisation, Component: container, Resource: workload.Resource(of)}] = claim(percent)
	}
	return workload.Plan{Amounts: amounts}
}

// allocate sets the amounts on the object that the API server has, compares with what the test data say, and gives them back. What the
// adapter reads the second time has managed fields, and what defaults and canonical quantities have made of the write.
func (c *libraryCase) allocate(shipped []v1alpha1.Adapter) {
	GinkgoHelper()
	a := c.compiled(shipped)
	plan := c.ask.plan()
	c.write(a, plan)
	c.checkAsleep()
	Expect(c.render(a, plan).Patch).To(BeNil(), "%s: the same plan writes again", c.name)
	c.write(a, workload.Plan{})
	c.checkAwake()
	Expect(c.now(Default).GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationLedger), c.name)
}

// compiled is the adapter of the case's kind, as it is while a policy sets amounts.
func (c *libraryCase) compiled(shipped []v1alpha1.Adapter) *adapter.Adapter {
	GinkgoHelper()
	kind := c.before.GroupVersionKind().GroupKind()
	for i := range shipped {
		if target := shipped[i].Spec.Target; target.Group == kind.Group && target.Kind == kind.Kind {
			a, errs := adapter.Compile(shipped[i].Name, shipped[i].Spec, adapter.Keys{Amounts: true})
			Expect(errs).To(BeEmpty(), c.name)
			return a
		}
	}
	Fail("no adapter of " + kind.String())
	return nil
}

func (c *libraryCase) render(a *adapter.Adapter, plan workload.Plan) adapter.Result {
	GinkgoHelper()
	raw, err := c.now(Default).MarshalJSON()
	Expect(err).NotTo(HaveOccurred(), c.name)
	obj, err := a.Project(raw)
	Expect(err).NotTo(HaveOccurred(), c.name)
	result, err := a.Render(obj, plan)
	Expect(err).NotTo(HaveOccurred(), c.name)
	return result
}

// write makes the one write of a plan, as Flyball does; none where nothing has to change.
func (c *libraryCase) write(a *adapter.Adapter, plan workload.Plan) {
	GinkgoHelper()
	p := c.render(a, plan).Patch
	if p == nil {
		return
	}
	Expect(c.lib.Client.Patch(ctx, c.now(Default), client.RawPatch(p.Type, p.Body), client.FieldOwner(workload.FieldManager))).To(Succeed(), c.name)
}
