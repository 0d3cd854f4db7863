package tortoise

import (
	"cmp"
	"maps"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// The schema has the same patterns for these fields.
var (
	boostCPU   = regexp.MustCompile(`^(([2-9]|[1-9][0-9])([.][0-9])?x|1[.][1-9]x|[1-9][0-9]*m?)$`)
	boostUntil = regexp.MustCompile(`^(Ready|[1-9][0-9]{0,3}s|[1-9][0-9]?m)$`)
)

// longestBoost is the maximum length of a boost's text.
const longestBoost = 8

func (r *rules) compileBoost(in *v1alpha1.StartupBoost, at *field.Path) (errs field.ErrorList) {
	if in == nil {
		return nil
	}
	out := v1alpha1.StartupBoost{CPU: in.CPU, Until: cmp.Or(in.Until, workload.UntilReady)}
	if len(out.CPU) > longestBoost || !boostCPU.MatchString(out.CPU) {
		errs = append(errs, field.Invalid(at.Child("cpu"), in.CPU,
			"must be a factor above 1 such as 2x or 1.5x, or an amount of CPU such as 500m or 2"))
	}
	if !boostUntil.MatchString(out.Until) {
		errs = append(errs, field.Invalid(at.Child("until"), in.Until, "must be Ready, or a time such as 60s or 5m"))
	}
	r.boost = &out
	return errs
}

// withBoost adds the boost of created pods to the settings for new pods.
func (m *learner) withBoost(n *v1alpha1.NewPods, seen policy.Seen) *v1alpha1.NewPods {
	if m.rules.boost == nil || isOff(m.rules.mode) || !seen.Pods.Able || seen.Pods.Unable != "" {
		return n
	}
	b := &v1alpha1.NewPodsBoost{CPU: m.rules.boost.CPU, Until: m.rules.boost.Until}
	if seen.Node.MilliCPU > 0 {
		b.Most = ptr.To(milli(seen.Node.MilliCPU))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Own)) {
		if m.tunes(name, workload.CPU) {
			b.Containers = append(b.Containers, name)
		}
	}
	if len(b.Containers) == 0 {
		return n
	}
	if n == nil {
		n = &v1alpha1.NewPods{}
	}
	n.Boost = b
	return n
}

// boostTrouble returns the reason why pods do not get the boost of the spec, or "".
func (m *learner) boostTrouble(seen policy.Seen) string {
	switch {
	case m.rules.boost == nil || isOff(m.rules.mode):
		return ""
	case !seen.Pods.Able:
		return "spec.vertical.startupBoost is for targets with a pod template: its pods start as they are"
	case seen.Pods.Unable != "":
		return "pods start without spec.vertical.startupBoost: " + seen.Pods.Unable
	}
	return ""
}
