package schedule

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/timeline"
)

// waveTimeout is the timeout of the last wave and of each wave without a timeout of its own.
const waveTimeout = 10 * time.Minute

// restName is the name of the last wave, which has the targets of no other wave.
const restName = "the rest"

// compileOrder compiles the order of a schedule; nil: the schedule has no order. Only a ClusterSchedule reaches several namespaces.
func compileOrder(order *v1alpha1.Order, cluster bool, at *field.Path) (*policy.Order, field.ErrorList) {
	if order == nil {
		return nil, nil
	}
	var errs field.ErrorList
	if order.Across != "" && !cluster {
		errs = append(errs, field.Forbidden(at.Child("across"), "is for a ClusterSchedule"))
	}
	errs = append(errs, policy.OneOf(at.Child("across"), order.Across, v1alpha1.AcrossNamespace, v1alpha1.AcrossNamespaces)...)
	o := &policy.Order{PerNamespace: cluster && order.Across != v1alpha1.AcrossNamespaces}
	seen, waves := sets.New[string](), order.Waves
	at = at.Child("waves")
	if len(waves) == 0 {
		errs = append(errs, field.Required(at, "list at least one wave"))
	}
	for i := range waves {
		wave, es := compileWave(&waves[i], i, at.Index(i))
		o.Waves, errs = append(o.Waves, wave), append(errs, es...)
		if name := waves[i].Name; name != "" && seen.Has(name) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), name))
		}
		seen.Insert(waves[i].Name)
	}
	o.Waves = append(o.Waves, policy.Wave{Name: restName, Ready: true, Timeout: waveTimeout})
	return o, errs
}

func compileWave(w *v1alpha1.Wave, i int, at *field.Path) (policy.Wave, field.ErrorList) {
	var errs field.ErrorList
	out := policy.Wave{
		Name: cmp.Or(w.Name, fmt.Sprintf("wave %d", i+1)), Ready: w.WaitFor != v1alpha1.WaitForWritten,
		Stop: w.OnTimeout == v1alpha1.OnTimeoutStop, Timeout: waveTimeout,
	}
	if len(w.Kinds)+len(w.Names) == 0 && w.Selector == nil {
		errs = append(errs, field.Required(at, "a wave needs kinds, names or selector: the targets of no wave are the last wave already"))
	}
	var es field.ErrorList
	out.Part, es = selector.Part(v1alpha1.ClusterTargetSelector{
		TargetSelector: v1alpha1.TargetSelector{Kinds: w.Kinds, Names: w.Names, Selector: w.Selector}}, selector.Scope{}, at)
	errs = append(errs, es...)
	errs = append(errs, policy.OneOf(at.Child("waitFor"), w.WaitFor, v1alpha1.WaitForReady, v1alpha1.WaitForWritten)...)
	errs = append(errs, policy.OneOf(at.Child("onTimeout"), w.OnTimeout, v1alpha1.OnTimeoutContinue, v1alpha1.OnTimeoutStop)...)
	if w.Timeout != "" {
		d, err := timeline.ParseDuration(string(w.Timeout))
		if err != nil {
			errs = append(errs, field.Invalid(at.Child("timeout"), w.Timeout, err.Error()))
		}
		out.Timeout = d
	}
	return out, errs
}
