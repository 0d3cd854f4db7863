package trigger

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// governed is a Deployment with an autoscaler, and several policies with claims for its size.
type governed struct {
	t        *rapid.T
	adapter  *adapter.Adapter
	policies []*policy.Policy
	doc      []byte
}

func newGoverned(t *rapid.T, a *adapter.Adapter, policies []*policy.Policy) *governed {
	return &governed{t: t, adapter: a, policies: policies, doc: []byte(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web","resourceVersion":"7"},"spec":{"replicas":3}}`)}
}

func (g *governed) patch(patch []byte) {
	doc, err := jsonpatch.MergePatch(g.doc, patch)
	if err != nil {
		g.t.Fatal(err)
	}
	g.doc = doc
}

func (g *governed) replicas() int64 {
	var d struct{ Spec struct{ Replicas int64 } }
	if err := json.Unmarshal(g.doc, &d); err != nil {
		g.t.Fatal(err)
	}
	return d.Spec.Replicas
}

// scale sets the replicas of the Deployment as an autoscaler does.
func (g *governed) scale(n int64) { g.patch(fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n)) }

// decide runs all policies at an instant and applies the plan. Only the object is kept between calls.
func (g *governed) decide(now time.Time) (workload.Plan, time.Time) {
	obj, err := g.adapter.Project(g.doc)
	if err != nil {
		g.t.Fatal(err)
	}
	in := pipeline.Input{Now: now, Target: g.adapter.Observe(obj)}
	in.Target.Governed = true
	var intents []workload.Intent
	var all pipeline.Decision
	for _, p := range g.policies {
		d, err := p.Pipeline.Run(&in, nil)
		if err != nil {
			g.t.Fatal(err)
		}
		intents = append(intents, d.Intents...)
		all.WakeAt(d.Wake)
	}
	plan, _ := pipeline.Merge(intents...)
	r, err := g.adapter.Render(obj, plan)
	if err != nil {
		g.t.Fatal(err)
	}
	if r.Patch != nil {
		if r.Patch.Type != types.MergePatchType || r.Patch.Next != nil {
			g.t.Fatalf("more than one merge patch: %+v", r.Patch)
		}
		g.patch(r.Patch.Body)
	}
	return plan, all.Wake
}

// honoured has the size that was last applied for each policy. It is cleared when no policy claims a size.
type honoured map[workload.Policy]workload.Intent

// expect returns the expected count after a plan is applied.
func (h honoured) expect(plan workload.Plan, before int64) int64 {
	c := plan.Size
	if c == nil {
		clear(h)
		return before
	}
	last, known := h[c.By]
	cur := workload.Intent{Since: c.Since, Size: &c.Value}
	switch {
	case c.Resumed && len(h) == 0:
		return before
	case known && last.Size.Replicas == c.Value.Replicas && !c.Since.After(last.Since):
		return before
	}
	h[c.By] = cur
	if c.Resumed {
		return before
	}
	return c.Value.Replicas
}

// drawPolicies draws few policies whose windows often begin and end together.
func drawPolicies(t *rapid.T) []*policy.Policy {
	var all []*policy.Policy
	for i := range rapid.IntRange(1, 3).Draw(t, "policies") {
		spec := drawRules(t)
		o := object(spec)
		o.Name = string(rune('x' + i))
		p, errs := Compile(o, Context{})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		t.Logf("%s: %s", o.Name, text(spec))
		all = append(all, p)
	}
	return all
}

func deploymentAdapter(t *testing.T) *adapter.Adapter {
	t.Helper()
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(a v1alpha1.Adapter) bool { return a.Name == "deployments.apps" })
	a, errs := adapter.Compile(all[i].Name, all[i].Spec, adapter.Keys{})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return a
}

// Several policies claim sizes of one target with an autoscaler for three days. The days are played twice. The first run
// decides every half hour. The second run decides only at the announced times and after changes of the target, as after
// restarts. Both runs give the same counts at every moment. Each window of each policy sets its size once, when it first
// comes into force. At other times the autoscaler's count is not changed.
func TestSizesOfSeveralPolicies(t *testing.T) {
	a := deploymentAdapter(t)
	rapid.Check(t, func(t *rapid.T) {
		policies := drawPolicies(t)
		often, rarely := newGoverned(t, a, policies), newGoverned(t, a, policies)
		set := honoured{}
		var wake time.Time
		for step := range 3 * 48 {
			now := monday.Add(time.Duration(step) * 30 * time.Minute)
			scaled := rapid.IntRange(0, 3).Draw(t, "scaled") == 0
			if scaled {
				n := rapid.Int64Range(10, 20).Draw(t, "to")
				often.scale(n)
				rarely.scale(n)
			}
			before := often.replicas()
			plan, next := often.decide(now)
			if want := set.expect(plan, before); often.replicas() != want {
				t.Fatalf("at %s the count goes from %d to %d, want %d; the plan is %+v", now, before, often.replicas(), want, plan.Size)
			}
			if step == 0 || scaled || !now.Before(wake) && !wake.IsZero() {
				_, wake = rarely.decide(now)
			}
			if got, want := rarely.replicas(), often.replicas(); got != want {
				t.Fatalf("at %s: %d if decided when needed, %d if decided all the time; the next transition is %s", now, got, want, next)
			}
		}
	})
}
