package notify

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// Ahead returns the announcement of a policy's next transition, as it reads at an instant before it; false: there is no transition, or
// nothing changes at it that concerns anybody. restricts is true for a policy that denies changes. targets is the number of the policy's
// targets. page is the URL of the pages in the cluster; empty: unknown.
func Ahead(p *policy.Policy, restricts bool, targets int32, page string, now time.Time) (a Announcement, ok bool) {
	is := p.State(now)
	if is.Next.IsZero() {
		return a, false
	}
	will := p.State(is.Next)
	a = Announcement{Event: v1alpha1.EventTransitionAhead, Policy: p.ID, At: is.Next}
	when := fmt.Sprintf("in %s, at %s", spoken(is.Next.Sub(now)), is.Next.Format(time.RFC3339))
	if restricts {
		if is.Active != "" || will.Active == "" {
			return a, false
		}
		a.Event = v1alpha1.EventFreezeAhead
		a.Text = fmt.Sprintf("the freeze begins %s: %s", when, will.Message)
		return a, true
	}
	if will.Name == is.Name && will.Active == is.Active {
		return a, false
	}
	a.Text = fmt.Sprintf("%s %s", strings.ToLower(will.Name), when)
	if will.Active != "" && will.Active != p.ID.Name {
		a.Text = fmt.Sprintf("%s (%s) %s", strings.ToLower(will.Name), will.Active, when)
	}
	if targets > 0 {
		a.Text += ": " + workload.Count(targets, "target")
	}
	if will.Name == stateAsleep {
		a.Command = "To stay awake: kubectl flyball wake " + strings.ToLower(p.ID.Kind) + "/" + p.ID.Name + inNamespace(p.ID) + " --for 2h"
		if page != "" {
			a.Command += ", or open " + page
		}
	}
	return a, true
}

func inNamespace(id workload.Policy) string {
	if id.Namespace == "" {
		return ""
	}
	return " -n " + id.Namespace
}

// spoken returns a duration in words, rounded to minutes.
func spoken(d time.Duration) string {
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch {
	case minutes < 1:
		return "less than a minute"
	case minutes%(24*60) == 0:
		return workload.Count(minutes/(24*60), "day")
	case minutes%60 == 0:
		return workload.Count(minutes/60, "hour")
	case minutes > 60:
		return workload.Count(minutes/60, "hour") + " and " + workload.Count(minutes%60, "minute")
	}
	return workload.Count(minutes, "minute")
}

// Watch remembers which transitions of policies were announced ahead, for one Notification.
type Watch struct {
	// announced has the instant of the last announced transition of each policy.
	announced map[workload.Policy]time.Time
	// until is the instant up to which an earlier process has sent messages ahead. It counts for the first look only.
	until  time.Time
	looked bool
}

// NewWatch returns a Watch. until is the instant up to which an earlier process has sent messages; zero: it sent none.
func NewWatch(until time.Time) *Watch {
	return &Watch{announced: map[workload.Policy]time.Time{}, until: until}
}

// Due reports whether the transition of a policy is to be announced now, and otherwise the instant when it is; zero: never. Each
// transition is due once.
func (w *Watch) Due(id workload.Policy, transition time.Time, ahead time.Duration, now time.Time) (due bool, at time.Time) {
	begin := transition.Add(-ahead)
	switch {
	case !transition.After(now):
		return false, time.Time{}
	case begin.After(now):
		return false, begin
	case w.announced[id].Equal(transition):
		return false, time.Time{}
	}
	w.announced[id] = transition
	return w.looked || begin.After(w.until), time.Time{}
}

// EndPass ends a look at all policies and forgets past transitions.
func (w *Watch) EndPass(now time.Time) {
	w.looked = true
	for id, at := range w.announced {
		if !at.After(now) {
			delete(w.announced, id)
		}
	}
}
