package decide

import (
	"slices"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// sources are the sources of the claims on an object, in the order of their collection.
var sources = [...]func(*claims){
	(*claims).policies,
	(*claims).policiesOfAutoscalers,
	(*claims).brokenAndDeletedPolicies,
	(*claims).scaleTarget,
	(*claims).appliedObjects,
}

// claims are the collected claims on an object, and the opinions of the policies behind them.
type claims struct {
	decider
	k     *Kind
	obj   *workload.Object
	story *Story
	// answers are the answers of the object's own policies; its intents also get the claims of broken policies and of
	// policies of autoscalers.
	answers
	// ofSleep are the claims on an autoscaler because its scale target sleeps.
	ofSleep []workload.Intent
	// related are all claims because of the scale target and of applied objects.
	related []workload.Intent
}

// merge collects the claims of all sources on an object, and merges them.
func (d decider) merge(k *Kind, obj *workload.Object, story *Story) Verdict {
	c := claims{decider: d, k: k, obj: obj, story: story}
	for _, add := range sources {
		add(&c)
	}
	v := Verdict{Opinions: append(c.opinions, d.opinionsOnBehalf(c.related, c.opinions)...), Wake: c.wake}
	v.Opinions = append(v.Opinions, d.opinionsOfFormerPolicies(k, obj, v.Opinions)...)
	v.Plan, v.Conflicts = pipeline.Merge(append(c.intents, c.related...)...)
	v.limitOrders(c.useless, c.ofSleep)
	v.Plan.Within = d.boundsByAutoscalers(k, obj, v.Plan)
	d.dropBoundsFromPlan(&v.Plan, k, obj, c.ofSleep)
	return v
}

// policies asks the policies that select the object.
func (c *claims) policies() {
	c.answers = c.ask(c.k, c.obj, c.story)
	c.intents = deleteForOthers(c.intents)
}

// policiesOfAutoscalers asks the policies of the object's autoscalers for the size of the object.
func (c *claims) policiesOfAutoscalers() {
	passed, wake := c.passedOn(c.k, c.obj)
	c.intents, c.wake = append(c.intents, passed...), timeline.Earliest(c.wake, wake)
}

// brokenAndDeletedPolicies keep their values.
func (c *claims) brokenAndDeletedPolicies() {
	c.intents = append(c.intents, c.claimants(c.k, c.obj)...)
}

// scaleTarget asks the policies of an autoscaler's scale target. Claims because the target sleeps come first; the claims of the
// autoscaler's own policies are changed to fit the target. Claims for the autoscaler itself come last.
func (c *claims) scaleTarget() {
	tk, target, scaled := c.askGoverned(c.k, c.obj)
	c.intents = c.spareKept(c.obj, c.intents, scaled.intents, c.opinions)
	forAutoscaler := scaled.forAutoscalers()
	if target != nil {
		var beside besideTarget
		lasting := deleteAllButLasting(scaled.intents)
		c.ofSleep, beside = c.onBehalf(c.k, c.obj, tk, target, lasting)
		c.intents = beside.besides(c.intents, lasting, c.k.Adapter.Observe(c.obj).CanHold)
	}
	c.related, c.wake = slices.Concat(c.ofSleep, forAutoscaler), timeline.Earliest(c.wake, scaled.wake)
}

// appliedObjects hold the object that applies them while they sleep.
func (c *claims) appliedObjects() {
	applied, wake := c.fromOwned(c.k, c.obj)
	c.related, c.wake = append(c.related, applied...), timeline.Earliest(c.wake, wake)
}
