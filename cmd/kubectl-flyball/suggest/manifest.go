package suggest

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Head is the common part of the proposals of a Schedule and of a Trigger.
type Head struct {
	Target   string `json:"target"`
	TimeZone string `json:"timeZone"`
	// From is the source of the history.
	From string `json:"historyFrom"`
	// Learnt are the days from which the proposal is learnt. Tried are the days of the back-test.
	Learnt Days `json:"learnt"`
	Tried  Days `json:"tried"`
}

// Days are whole days in the local time zone. From is the first day, and To is the last day.
type Days struct {
	From string `json:"from"`
	To   string `json:"to"`
	Days int    `json:"days"`
}

func daysOf(p analysis.Part) Days {
	from, to, _ := strings.Cut(p.String(), " to ")
	return Days{from, to, p.Days()}
}

func (d Days) String() string { return fmt.Sprintf("%s to %s (%d days)", d.From, d.To, d.Days) }

func (h *Head) text(w *printer.Writer) {
	printer.Comment(w, "- ", fmt.Sprintf("Learnt from the days %s and tried on %s, in %s.", h.Learnt, h.Tried, h.TimeZone))
}

// targetOf returns a selection of only the given object.
func targetOf(ref workload.Ref) v1alpha1.TargetSelector {
	return v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: ref.Group, Kind: ref.Kind}}, Names: []string{ref.Name}}
}

// manifest returns the manifest of a proposed policy for a target. It leaves out fields that people do not write.
func manifest(kind string, ref workload.Ref, spec any) (map[string]any, error) {
	text, err := json.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]string `json:"metadata"`
		Spec            any               `json:"spec"`
	}{metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}, map[string]string{"namespace": ref.Namespace, "name": ref.Name},
		spec})
	if err != nil {
		return nil, fmt.Errorf("encode the %s: %w", kind, err)
	}
	var m map[string]any
	return m, json.Unmarshal(text, &m)
}

// block writes a manifest.
func block(w *printer.Writer, m map[string]any) {
	text, err := yaml.Marshal(m)
	if err != nil { // cannot happen: the manifest was decoded from JSON
		text = fmt.Appendf(nil, "# %v\n", err)
	}
	w.Block(string(text))
}

// nameOf returns the name of a proposed policy, as kind/name.
func nameOf(m map[string]any) []string {
	meta, _ := m["metadata"].(map[string]any)
	return []string{fmt.Sprintf("%s/%s", strings.ToLower(fmt.Sprint(m["kind"])), meta["name"])}
}

// Names implements printer.Finding.
func (f *Schedule) Names() []string { return nameOf(f.Manifest) }
