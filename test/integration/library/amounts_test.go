package library

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/adapters/cases"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/integration/scene"
)

// asksDirectly reports whether the case asks for numbers that no Schedule can ask for: amounts, or bounds above the
// owner's bounds.
func (c *libraryCase) asksDirectly() bool {
	if c.ask.Bounds == nil {
		return c.ask.Any()
	}
	isAbove := func(asked, own *int64) bool { return asked != nil && own != nil && *asked > *own }
	return isAbove(c.ask.Bounds.Min, c.own.Min) || isAbove(c.ask.Bounds.Max, c.own.Max) && *c.own.Max != 0
}

// allocate sets the amounts on the object in the API server, compares the result with the test data, and restores the
// object. When the adapter reads the object the second time, the object has managed fields, defaults and canonical
// quantities.
func (c *libraryCase) allocate(shipped []v1alpha1.Adapter) {
	GinkgoHelper()
	a := c.compiled(shipped)
	ask := cases.Ask{Amounts: c.ask.Amounts, AsleepAs: v1alpha1.AsleepAs{Bounds: c.ask.Bounds}}
	plan := ask.Plan()
	c.write(a, plan)
	c.checkAsleep()
	Expect(c.render(a, plan).Patch).To(BeNil(), "%s: the same plan writes again", c.name)
	c.write(a, workload.Plan{})
	c.checkAwake()
	Expect(c.now(Default).GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationLedger), c.name)
}

// compiled returns the compiled adapter of the case's kind, as the manager compiles it if a policy sets amounts.
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

// write makes the write of a plan as Flyball does. It writes nothing if nothing has to change.
func (c *libraryCase) write(a *adapter.Adapter, plan workload.Plan) {
	GinkgoHelper()
	p := c.render(a, plan).Patch
	if p == nil {
		return
	}
	Expect(c.lib.Client.Patch(scene.Ctx, c.now(Default), client.RawPatch(p.Type, p.Body),
		client.FieldOwner(workload.FieldManager))).To(Succeed(),
		c.name)
}
