package cases

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// projection is the kept part of an object, and the object as policies see it.
type projection struct {
	Observed observed `json:"observed"`
	// Governs is the object whose replicas the object of the case owns.
	Governs string `json:"governs,omitempty"`
	// Owns are the objects that the object of the case applies by its own record.
	Owns       []string `json:"owns,omitempty"`
	Generation int64    `json:"generation,omitempty"`
	// Fields are the kept JSON texts, sorted by path; a text is empty if the object lacks the field.
	Fields   []string  `json:"fields"`
	Elements []element `json:"elements,omitempty"`
}

type observed struct {
	Components []component      `json:"components,omitempty"`
	Bounds     *workload.Bounds `json:"bounds,omitempty"`
	observedAmounts
	CanSuspend bool `json:"canSuspend"`
	CanHold    bool `json:"canHold"`
	Suspended  bool `json:"suspended"`
	// WakesFromZero is left out for kinds other than autoscalers.
	WakesFromZero bool `json:"wakesFromZero,omitempty"`
	Ready         bool `json:"ready"`
	Blind         bool `json:"blind,omitempty"`
}

type component struct {
	Name     string `json:"name"`
	Replicas int64  `json:"replicas"`
	Minimum  int64  `json:"minimum"`
	Fixed    bool   `json:"fixed,omitempty"`
}

type element struct {
	Name    string `json:"name"`
	Pointer string `json:"pointer"`
	Count   string `json:"count"`
}

func (r *run) projection() (projection, error) {
	obj, err := r.adapter.Project(r.object)
	if err != nil {
		return projection{}, err
	}
	o := r.adapter.Observe(obj)
	ready, why := r.adapter.Ready(r.object)
	if r.Ready != nil && ready != *r.Ready {
		r.failf("ready is %t, want %t (%s)", ready, *r.Ready, why)
	}
	p := projection{
		Observed: observed{observedAmounts: observedAmountsOf(o), CanSuspend: o.CanSuspend, CanHold: o.CanHold, Suspended: o.Suspended,
			Ready: ready, Blind: o.Blind, WakesFromZero: o.WakesFromZero},
		Generation: obj.Generation,
	}
	for _, c := range o.Components {
		p.Observed.Components = append(p.Observed.Components, component(c))
	}
	if r.adapter.Can(v1alpha1.CapabilityBounds) {
		p.Observed.Bounds = &o.Bounds
	}
	if ref, ok := r.adapter.Governs(obj); ok {
		p.Governs = ref.String()
	}
	for _, ref := range r.adapter.Owned(obj) {
		p.Owns = append(p.Owns, ref.String())
	}
	for _, f := range obj.Fields {
		p.Fields = append(p.Fields, f.Raw)
	}
	for _, e := range obj.Elements {
		p.Elements = append(p.Elements, element{e.Name, e.Pointer, e.Raw})
	}
	return p, nil
}

// checkPods checks that the adapter's paths lead to the selector and to the template of pods: the selector must match
// the labels in the template.
func (r *run) checkPods() error {
	pods := r.adapter.Pods()
	if pods.Selector == "" || pods.Template == "" {
		if pods.DeletionCost {
			r.failf("deletionCost needs pods.selector and pods.template")
		}
		return nil
	}
	var selector metav1.LabelSelector
	var template struct{ Metadata metav1.ObjectMeta }
	for text, into := range map[v1alpha1.Path]any{pods.Selector: &selector, pods.Template: &template} {
		if found, err := r.find(text, into); err != nil || !found {
			return err
		}
	}
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return fmt.Errorf("%s: %w", pods.Selector, err)
	}
	if s.Empty() || !s.Matches(labels.Set(template.Metadata.Labels)) {
		r.failf("%s (%s) does not select the labels in %s: %v", pods.Selector, s, pods.Template, template.Metadata.Labels)
	} else if pods.DeletionCost {
		r.covered[v1alpha1.CapabilityDeletionCost] = true
	}
	return nil
}

// find decodes the value at a path of the object into a variable. found is false if there is no value.
func (r *run) find(text v1alpha1.Path, into any) (found bool, err error) {
	p, err := path.Parse(string(text))
	if err != nil {
		return false, err
	}
	var decodeErr error
	err = p.All(r.object, func(m path.Match) bool {
		if found = m.Exists(); found {
			decodeErr = json.Unmarshal(m.Raw, into)
		}
		return false
	})
	if err == nil {
		err = decodeErr
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", text, err)
	}
	return found, nil
}
