package adapter

import (
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Saving is the saving of a policy on an object.
type Saving struct {
	By workload.Policy
	// Replicas is the number of replicas below the owner's count.
	Replicas int64
}

// Savings returns the policies that leave an object with fewer replicas than its owner wants. Raised counts save
// nothing, nor do switches of objects without a count, because their usage is unknown.
func (a *Adapter) Savings(obj *workload.Object) []Saving {
	if len(obj.Ledger) == 0 {
		return nil
	}
	v := a.view(obj)
	if !v.complete() {
		return nil
	}
	var all []Saving
	off := v.switchedOffBy()
	counts, _ := v.counts()
	for _, c := range counts {
		if strings.HasPrefix(c.original, `"`) {
			continue // a quantity such as "40Gi" is no number of replicas
		}
		switch now, known := c.part.read(v.currentOf(&c)); {
		case off != "":
			all = addSaving(all, off, c.Replicas)
		case c.entry != nil && c.entry.state == fieldSet && known:
			all = addSaving(all, c.entry.settled().By, c.Replicas-now)
		}
	}
	return all
}

// currentOf returns the JSON text of the present count.
func (v *view) currentOf(c *count) string {
	if c.element < 0 {
		return v.current(c.part.slot).Raw
	}
	return v.obj.Elements[c.element].Raw
}

// switchedOffBy returns the policy that has suspended the object by fields other than its counts, or "".
func (v *view) switchedOffBy() string {
	suspend := v.variantOf(v.a.suspend)
	if suspend == nil || v.isSet(suspend) {
		return ""
	}
	by := ""
	for _, w := range suspend.set {
		if !same(v.current(w.slot).Raw, w.value) {
			return ""
		}
		if l := v.entryAt(location{inSlot, w.slot.index}); l != nil && l.state == fieldSet {
			by = l.entry.By
		}
	}
	return by
}

func addSaving(all []Saving, by string, replicas int64) []Saving {
	if replicas <= 0 {
		return all
	}
	id := workload.ParsePolicy(by)
	for i := range all {
		if all[i].By == id {
			all[i].Replicas += replicas
			return all
		}
	}
	return append(all, Saving{id, replicas})
}

// TemplateRequests returns the requests of one pod of an object's template; nil if the adapter names no template or the
// object has none.
func (a *Adapter) TemplateRequests(raw []byte) (*workload.Requests, error) {
	if a.template.Len() == 0 {
		return nil, nil
	}
	pointer, err := a.template.Pointer()
	if err != nil {
		return nil, err
	}
	found, err := path.Probe(raw, pointer.Append("spec"))
	if err != nil || found.Value.Type() != path.Object {
		return nil, err
	}
	spec := gjson.Parse(found.Value.Raw())
	return &workload.Requests{
		MilliCPU:    podRequest(spec, "cpu", (*resource.Quantity).MilliValue),
		MemoryBytes: podRequest(spec, "memory", (*resource.Quantity).Value),
	}, nil
}

// podRequest adds up one resource like the scheduler: containers run together with init containers that always restart;
// other init containers run one after the other before. Pod-level requests replace the sum, and the overhead of the
// runtime is added.
func podRequest(spec gjson.Result, name string, value func(*resource.Quantity) int64) int64 {
	of := func(amounts gjson.Result) (int64, bool) {
		amount := amounts.Get(name)
		if !amount.Exists() {
			return 0, false
		}
		q, ok := workload.ParseQuantity(amount.String())
		return value(&q), ok
	}
	// For a container with a limit and no request, the API server requests the limit.
	container := func(c gjson.Result) int64 {
		n, ok := of(c.Get("resources.requests"))
		if !ok {
			n, _ = of(c.Get("resources.limits"))
		}
		return n
	}
	var before, beside, total int64
	for _, c := range spec.Get("initContainers").Array() {
		if c.Get("restartPolicy").String() == "Always" {
			beside += container(c)
			before = max(before, beside)
			continue
		}
		before = max(before, beside+container(c))
	}
	for _, c := range spec.Get("containers").Array() {
		total += container(c)
	}
	total = max(total+beside, before)
	if n, ok := of(spec.Get("resources.requests")); ok {
		total = n
	}
	overhead, _ := of(spec.Get("overhead"))
	return total + overhead
}
