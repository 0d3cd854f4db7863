package pipeline_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/workload"
)

func TestScheduleYieldsToAnOrderWithinItsBounds(t *testing.T) {
	nights := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	by := nights.String()
	late, sooner := start.Add(4*time.Hour), start.Add(2*time.Hour)
	order := pipeline.Override{Effect: v1alpha1.OverrideAwake, Since: start, Until: late}
	with := func(change func(*pipeline.Override)) pipeline.Override {
		o := order
		change(&o)
		return o
	}
	naming := func(name string) pipeline.Override {
		return with(func(o *pipeline.Override) { o.Policies = []string{"others", name} })
	}
	endless := with(func(o *pipeline.Override) { o.Until = time.Time{} })
	toWake := []v1alpha1.OverrideEffect{v1alpha1.OverrideAwake}
	unborn := with(func(o *pipeline.Override) { o.Since = time.Time{} })
	asleep := with(func(o *pipeline.Override) { o.Effect = v1alpha1.OverrideAsleep })
	for name, tt := range map[string]struct {
		order  pipeline.Override
		bounds pipeline.Bounds
		now    time.Time
		until  time.Time
		why    string
	}{
		"no bounds":                  {order, pipeline.Bounds{}, start, late, ""},
		"an order without an end":    {endless, pipeline.Bounds{}, start, time.Time{}, ""},
		"named by its name":          {naming("nights"), pipeline.Bounds{}, start, late, ""},
		"named with its kind":        {naming("Schedule/nights"), pipeline.Bounds{}, start, late, ""},
		"named with its namespace":   {naming("Schedule/shop/nights"), pipeline.Bounds{}, start, late, ""},
		"another one is named":       {naming("days"), pipeline.Bounds{}, start, time.Time{}, "spec.policies does not name " + by},
		"to this effect":             {order, pipeline.Bounds{Effects: toWake}, start, late, ""},
		"to another effect":          {asleep, pipeline.Bounds{Effects: toWake}, start, time.Time{}, by + " yields to no effect Asleep"},
		"suspended":                  {order, pipeline.Bounds{Suspended: true}, start, time.Time{}, by + " is suspended"},
		"suspended, put to sleep":    {asleep, pipeline.Bounds{Suspended: true}, start, late, ""},
		"a bound before the end":     {order, pipeline.Bounds{MaxDuration: 2 * time.Hour}, start, sooner, ""},
		"a bound after the end":      {order, pipeline.Bounds{MaxDuration: 5 * time.Hour}, start, late, ""},
		"a bound instead of an end":  {endless, pipeline.Bounds{MaxDuration: 2 * time.Hour}, start, sooner, ""},
		"a bound that is over":       {order, pipeline.Bounds{MaxDuration: 2 * time.Hour}, sooner, time.Time{}, by + " yields for at most 2h"},
		"a bound of an order to be":  {unborn, pipeline.Bounds{MaxDuration: time.Hour}, start, late, ""},
		"a bound of a moment before": {order, pipeline.Bounds{MaxDuration: 2 * time.Hour}, sooner.Add(-1), sooner, ""},
	} {
		tt.bounds.By = nights
		if until, why := tt.bounds.Yields(&tt.order, tt.now); !until.Equal(tt.until) || why != tt.why {
			t.Errorf("%s: until %s, %q; want %s, %q", name, until, why, tt.until, tt.why)
		}
	}
	if !order.IsActive(late.Add(-1)) || order.IsActive(late) || !endless.IsActive(late.AddDate(9, 0, 0)) {
		t.Error("an order is in force until its end, and without an end for ever")
	}
}

func TestOrderAppliesWhereAScheduleYields(t *testing.T) {
	named := &pipeline.Override{Effect: v1alpha1.OverrideAwake, Policies: []string{"nights"}}
	all := &pipeline.Override{Effect: v1alpha1.OverrideAwake}
	nights, days := pipeline.Bounds{By: policy("nights")}, pipeline.Bounds{By: policy("days")}
	suspended := pipeline.Bounds{By: policy("nights"), Suspended: true}
	never := pipeline.Bounds{By: policy("never"), Effects: []v1alpha1.OverrideEffect{v1alpha1.OverrideAsleep}}
	for name, tt := range map[string]struct {
		order  *pipeline.Override
		bounds []pipeline.Bounds
		want   bool
	}{
		"no schedule":                       {all, nil, true},
		"no schedule, one is named":         {named, nil, false},
		"the named one yields":              {named, []pipeline.Bounds{days, nights}, true},
		"the named one is another's":        {named, []pipeline.Bounds{days}, false},
		"one of two yields":                 {all, []pipeline.Bounds{never, days}, true},
		"none yields":                       {all, []pipeline.Bounds{never}, false},
		"a suspended one puts not to sleep": {all, []pipeline.Bounds{suspended}, true},
		"the named one is suspended":        {named, []pipeline.Bounds{suspended}, false},
	} {
		if got := tt.order.Applies(tt.bounds, start); got != tt.want {
			t.Errorf("%s: applies %t, want %t", name, got, tt.want)
		}
	}
}

func TestConflictsAreDecidedByUsers(t *testing.T) {
	for reason, want := range map[string]bool{"mandatory": true, "override": true, "priority": true, "capacity": false, "value": false,
		"name": false} {
		if got := (pipeline.Conflict{Reason: reason}).Decided(); got != want {
			t.Errorf("by %s: decided %t, want %t", reason, got, want)
		}
	}
}
