package tortoise

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// learner learns from a target and decides for it.
type learner struct {
	rules *rules
	tuner tuner
	// edited is true if the owner has changed a request since the last decision.
	edited bool
	// others has the name of the VerticalPodAutoscaler that changes a request itself, by request.
	others map[workload.Amount]string
	memory
}

// anyStep is a step that is large enough to get from any request to any other.
const anyStep = 1e6

// memory is the state of a learner besides the state of its tuner.
type memory struct {
	// Own are the owner's requests at the last decision. Setting is the last recommendation.
	Own     map[string]tune.Requests
	Setting tune.Setting
	// Off is true if the recommendation was not carried out.
	Off bool
	// Scaled is the container whose CPU is scaled by replicas.
	Scaled string
	// AmountsSince is the time since which the requests have not changed. BoundsSince is the time since which the numbers of
	// the autoscaler have not changed.
	AmountsSince, BoundsSince time.Time
	// Template is true once requests are written to the template because a pod could not be changed in place.
	Template bool
	// Asked is the last advice.
	Asked asked
	// Reasons are the newest reasons by subject.
	Reasons map[string]string
	// Limited has the owner's limits of containers; zero: none.
	Limited map[string]tune.Requests
	// Proven are the requests that all pods had when the target last settled; nil: not seen yet.
	Proven map[string]tune.Requests
	// Refused are the roll-outs that were taken back.
	Refused []refused
}

var _ policy.Learner = (*learner)(nil)

// Observe implements policy.Learner. Among samples of one instant, it takes the samples of the target's containers first.
// There may be no room for other containers.
func (m *learner) Observe(samples ...workload.Sample) {
	for len(samples) > 0 {
		at := samples[0].At
		n := slices.IndexFunc(samples, func(s workload.Sample) bool { return !s.At.Equal(at) })
		if n < 0 {
			n = len(samples)
		}
		for _, own := range []bool{true, false} {
			for _, s := range samples[:n] {
				if m.has(s.Container) == own {
					m.tuner.Observe(s)
				}
			}
		}
		samples = samples[n:]
	}
}

// has reports whether the target has a container with a request.
func (m *learner) has(container string) bool { _, has := m.Own[container]; return has }

// HistoryRange implements policy.Learner.
func (m *learner) HistoryRange() (first, newest time.Time) { return m.tuner.HistoryRange() }

// Backfill implements policy.Learner.
func (m *learner) Backfill(samples []workload.Sample) {
	m.tuner.Forget()
	m.Observe(samples...)
}

// Decide implements policy.Learner.
func (m *learner) Decide(seen policy.Seen) policy.Found {
	m.follow(seen)
	taken := m.takeBack(seen)
	if m.Scaled == "" {
		return policy.Found{Trouble: "no container requests CPU, so there is nothing to tune", Report: v1alpha1.RecommendationStatus{
			Phase: string(tune.Initializing), PhaseReason: "no container requests CPU",
		}}
	}
	spec := m.spec(seen)
	ready, requested := seen.Ready, seen.Requested[m.Scaled]
	if m.Off {
		ready, requested = max(ready, m.Setting.Min), 0 // as if the recommendation were in place
	}
	m.tuner.follow(m)
	r := m.tuner.Decide(spec, tune.Observed{
		Now: seen.Now, Since: seen.Since, Setting: m.Setting, Replicas: seen.Replicas, Ready: ready, Requested: requested, Started: seen.Started,
		Stuck: seen.Stuck, Behind: m.isBehind(seen), Changed: m.edited, Own: m.Own, Attached: seen.Autoscaler != nil,
		Targets: targetsOf(seen.Autoscaler), Vertical: m.vertical(seen), Busy: seen.Busy,
	})
	m.edited = false
	delete(m.Reasons, "max") // if the spec sets the maximum, no reason is needed
	for _, why := range r.Reasons {
		m.Reasons[why.Of] = why.Text
	}
	if m.pin(&r.Setting, seen.Own); taken {
		r.Setting.Requests = m.Setting.Requests
	}
	m.Setting = r.Setting
	lines := m.lines() // advice and report share them: they take a kilobyte of each target
	return policy.Found{Trouble: m.trouble(seen), Saved: m.saved(seen), Next: r.Next, Chose: r.Chose, Advice: m.advise(seen, r, lines),
		Report: m.report(seen, spec, r, lines)}
}

// follow stores the owner's requests. If a request has changed, its recommendation begins again from the owner's value.
func (m *learner) follow(seen policy.Seen) {
	if m.Reasons == nil {
		m.Reasons = map[string]string{}
	}
	own, limited := map[string]tune.Requests{}, map[string]tune.Requests{}
	for _, a := range seen.Own {
		limited[a.Component] = tune.Requests{CPU: a.Limits.MilliCPU, Memory: a.Limits.MemoryBytes}
		if a.Requests != (workload.Requests{}) {
			own[a.Component] = tune.Requests{CPU: a.Requests.MilliCPU, Memory: a.Requests.MemoryBytes}
		}
	}
	if m.Setting.Requests == nil {
		m.Setting.Requests = map[string]tune.Requests{}
	}
	if off := isOff(m.rules.mode); off != m.Off {
		// A recommendation that was not carried out is not in place, so steps begin from the present values.
		m.Off, m.Own, m.BoundsSince = off, nil, time.Time{}
	}
	var anew []string
	for name, now := range own {
		if before, known := m.Own[name]; !known || before != now {
			m.Setting.Requests[name] = now
			m.edited = m.edited || known
			anew = append(anew, name)
		}
	}
	maps.DeleteFunc(m.Setting.Requests, func(name string, _ tune.Requests) bool { _, has := own[name]; return !has })
	if !maps.Equal(m.Own, own) || !maps.Equal(m.Limited, limited) {
		m.Proven, m.Refused = nil, nil // they belonged to another template
	}
	m.Own, m.Limited = own, limited
	m.tuner.MakeRoom(m.has)
	m.Scaled = m.scaledAmong(seen)
	m.forgetReasons(anew)
	// If a clock was ahead, a stored time is in the future. The present requests would count as new until this time.
	tune.NotAfter(seen.Now, &m.AmountsSince, &m.BoundsSince)
	m.others = m.othersAmong(seen)
	if g := seen.Autoscaler; g == nil {
		m.Setting.Min, m.Setting.Max, m.Setting.Utilisation = seen.Replicas, seen.Replicas, 0
	} else if m.BoundsSince.IsZero() {
		m.Setting.Min, m.Setting.Max = ownBounds(g, seen.Replicas)
		m.Setting.Utilisation = utilisationOf(g, m.Scaled)
	}
}

// forgetReasons drops the reasons of missing containers. It also replaces the reasons of requests that begin again from
// the owner's value.
func (m *learner) forgetReasons(anew []string) {
	known := map[string]bool{"phase": true, "request": true, "min": true, "max": true, "utilisation": true, "lead": true}
	for name := range m.Own {
		known[name+" cpu"], known[name+" memory"] = true, true
	}
	maps.DeleteFunc(m.Reasons, func(of, _ string) bool { return !known[of] })
	for _, name := range anew {
		for _, of := range []string{tune.CPUReason(m.Scaled, name), name + " memory"} {
			if m.Reasons[of] != "" {
				m.Reasons[of] = "as its owner has it: steps begin anew from there"
			}
		}
	}
}

// isBehind reports whether some pod requests more than the last recommendation. Only tuned requests count. If requests are
// changed on creation only, or some pod cannot be changed in place, it is false: such pods keep their requests, and a
// wait for them would not end.
func (m *learner) isBehind(seen policy.Seen) bool {
	if m.Off || m.rules.apply == v1alpha1.ApplyOnCreate || m.rules.apply == v1alpha1.ApplyInPlace && seen.Pods.Refused {
		return false
	}
	for name, has := range seen.Largest {
		set := m.Setting.Requests[name]
		if m.tunes(name, workload.CPU) && has.MilliCPU > set.CPU || m.tunes(name, workload.Memory) && has.MemoryBytes > set.Memory {
			return true
		}
	}
	return false
}

// scaledAmong returns the container that is scaled by replicas. It is the container in the spec, or else in the
// autoscaler, or else in the last decision, or else the one with the largest request.
func (m *learner) scaledAmong(seen policy.Seen) string {
	for _, c := range m.rules.containers {
		if c.cpu == v1alpha1.ScaleHorizontal && c.name != allContainers && m.Own[c.name].CPU > 0 {
			return c.name
		}
	}
	if g := seen.Autoscaler; g != nil {
		for _, u := range g.Utilisation {
			if u.Resource == workload.CPU && u.Container != "" && m.Own[u.Container].CPU > 0 {
				return u.Container
			}
		}
	}
	if m.Own[m.Scaled].CPU > 0 {
		return m.Scaled
	}
	most := ""
	for _, name := range slices.Sorted(maps.Keys(m.Own)) {
		if m.Own[name].CPU > m.Own[most].CPU {
			most = name
		}
	}
	return most
}

// horizontal reports whether replicas are tuned: the target has an autoscaler, and the spec does not exclude it.
func (m *learner) horizontal(seen policy.Seen) bool {
	how := m.rules.of(m.Scaled).cpu
	return seen.Autoscaler != nil && (how == "" || how == v1alpha1.ScaleHorizontal)
}

// spec returns the input of the tuner.
func (m *learner) spec(seen policy.Seen) tune.Spec {
	r := m.rules
	spec := tune.Defaults(r.profile, m.Scaled)
	spec.Guard, spec.Cooldown, spec.Manual, spec.Dry = r.guard, r.cooldown, r.mode == v1alpha1.TortoiseEmergency, m.Off
	if m.Off {
		spec.Guard.Down, spec.Guard.Up = 1, anyStep // a recommendation that is not carried out shows its final value
	}
	if m.horizontal(seen) {
		least, greatest := ownBounds(seen.Autoscaler, seen.Replicas)
		spec.Owner = tune.OwnerSetting{Request: m.Own[m.Scaled].CPU, Target: utilisationOf(seen.Autoscaler, m.Scaled), Min: least}
		spec.Bounds.Min, spec.Bounds.Max, spec.Bounds.PreferredMax = r.replicaBounds(least, greatest)
	} else {
		n := max(seen.Replicas, 1)
		spec.Bounds.Min, spec.Bounds.Max, spec.Bounds.PreferredMax = n, n, n
		spec.Fixed = true
		spec.Owner = tune.OwnerSetting{Request: m.Own[m.Scaled].CPU, Min: n}
	}
	spec.Vertical, spec.Zone, spec.Daily = r.source.Vertical, r.zone, r.daily
	spec.Limits = map[string]tune.Limits{}
	for name := range m.Own {
		spec.Limits[name] = m.limitsOf(name)
	}
	scaled := spec.Limits[m.Scaled]
	if r.of(m.Scaled).given.Min.CPU > 0 || !m.tunes(m.Scaled, workload.CPU) {
		spec.Bounds.MinRequest = scaled.Min.CPU
	}
	spec.Bounds.MaxRequest, spec.Bounds.MaxBy = scaled.Max.CPU, "max of spec.resources"
	if m.rules.limits == workload.LimitsStay && scaled.Max.CPU == m.Limited[m.Scaled].CPU {
		spec.Bounds.MaxBy = "its limit (spec.vertical.limits is Keep)"
	}
	if node := max(seen.Node.MilliCPU, m.Own[m.Scaled].CPU); seen.Node.MilliCPU > 0 && node < scaled.Max.CPU {
		spec.Bounds.MaxRequest, spec.Bounds.MaxBy = node, "the largest node"
	}
	m.keepReach(seen, &spec)
	spec.Bounds.MinRequest = min(spec.Bounds.MinRequest, spec.Bounds.MaxRequest)
	return spec
}

// keepReach keeps the owner's largest total request within reach. The maximum of the autoscaler grows as the request
// shrinks. If the spec sets the maximum, or the bounds do not change, the request does not shrink below the value that
// this total needs.
func (m *learner) keepReach(seen policy.Seen, spec *tune.Spec) {
	g := seen.Autoscaler
	if g == nil {
		return
	}
	_, greatest := ownBounds(g, seen.Replicas)
	own := m.Own[m.Scaled].CPU
	reach, floor := own*int64(greatest), int64(0)
	switch {
	case greatest > maxReplicas: // the owner wants no maximum
	case m.horizontal(seen) && m.rules.max == nil:
		spec.Bounds.Reach = reach
	case m.horizontal(seen):
		floor = (reach + int64(spec.Bounds.Max) - 1) / int64(spec.Bounds.Max)
	case utilisationOf(g, m.Scaled) > 0:
		floor = own
	}
	limits := spec.Limits[m.Scaled]
	floor = min(floor, own, limits.Max.CPU)
	limits.Min.CPU = max(limits.Min.CPU, floor)
	spec.Limits[m.Scaled] = limits
	spec.Bounds.MinRequest = max(spec.Bounds.MinRequest, floor)
}

// mebi is the unit to which memory requests are rounded up.
const mebi = 1 << 20

// pin resets requests that are not tuned to the owner's values, and rounds the others.
func (m *learner) pin(s *tune.Setting, own workload.Allocations) {
	for _, a := range own {
		r, known := s.Requests[a.Component]
		if !known {
			continue
		}
		if !m.tunes(a.Component, workload.CPU) {
			r.CPU = a.Requests.MilliCPU
		}
		if !m.tunes(a.Component, workload.Memory) {
			r.Memory = a.Requests.MemoryBytes
		} else if r.Memory != a.Requests.MemoryBytes {
			r.Memory = (r.Memory + mebi - 1) / mebi * mebi
		}
		s.Requests[a.Component] = r
	}
}

// tunes reports whether a request is tuned: the owner sets it, the spec does not say Off, and no VerticalPodAutoscaler
// changes it.
func (m *learner) tunes(name string, of workload.Resource) bool {
	rule, own := m.rules.of(name), m.Own[name]
	if m.others[request(name, of)] != "" {
		return false
	}
	if of == workload.CPU {
		return own.CPU > 0 && rule.cpu != v1alpha1.ScaleOff
	}
	return own.Memory > 0 && rule.memory != "Off"
}

// mostReplicas is the largest bound of an autoscaler. Owners who want no maximum set this one.
const mostReplicas = math.MaxInt32

// ownBounds returns the owner's minimum and maximum of an autoscaler. A missing minimum is 1. A missing maximum is the
// given number of replicas, and at least 1.
func ownBounds(g *policy.SeenAutoscaler, replicas int) (least, greatest int) {
	least, greatest = 1, max(replicas, 1)
	if g.Bounds.Min != nil {
		least = int(min(*g.Bounds.Min, mostReplicas))
	}
	if g.Bounds.Max != nil {
		greatest = int(min(*g.Bounds.Max, mostReplicas))
	}
	return least, greatest
}

// targetsOf returns the target utilisations of an autoscaler.
func targetsOf(g *policy.SeenAutoscaler) []tune.Target {
	if g == nil {
		return nil
	}
	var all []tune.Target
	for _, u := range g.Utilisation {
		all = append(all, tune.Target{Container: u.Container, Memory: u.Resource == workload.Memory, Percent: int(u.Percent)})
	}
	return all
}

// utilisationOf returns the target utilisation for the CPU of a container, or of whole pods; 0: the autoscaler has
// neither.
func utilisationOf(g *policy.SeenAutoscaler, container string) int {
	for _, u := range g.Utilisation {
		if u.Resource == workload.CPU && (u.Container == container || u.Container == "") {
			return int(u.Percent)
		}
	}
	return 0
}

// trouble returns the first part of the spec that does not fit the target, as text; empty: everything fits.
func (m *learner) trouble(seen policy.Seen) string {
	for _, c := range m.rules.containers {
		has := slices.ContainsFunc(seen.Own, func(a workload.Allocation) bool { return a.Component == c.name })
		if c.name != allContainers && !has {
			return "spec.resources names the container " + c.name + ", which it does not have"
		}
	}
	if len(seen.Own) > tune.MaxContainers {
		return "it has more containers than are learnt of"
	}
	if why := cmp.Or(m.takenBackText(), m.boostTrouble(seen)); why != "" {
		return why
	}
	return m.verticalTrouble(seen)
}
