package projection

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// TemplateRequests returns the requests of one pod of an object's template; nil if the adapter names no template or the
// object has none. An object that is not JSON is an error.
func (pr *Projection) TemplateRequests(raw []byte) (*workload.Requests, error) {
	if pr.Template.Len() == 0 {
		return nil, nil
	}
	pointer, err := pr.Template.Pointer()
	if err != nil {
		return nil, err
	}
	found, err := path.Probe(raw, pointer.Append("spec"))
	if err != nil || found.Value.Type() != path.Object {
		return nil, err
	}
	return requestsOf(found.Value.Raw()), nil
}

// podSpec has the parts of a pod's spec that have requests.
type podSpec struct{ before, containers, resources, overhead rawjson.Value }

// requestsOf returns the requests of one pod, given the JSON text of its spec.
func requestsOf(text string) *workload.Requests {
	var spec podSpec
	rawjson.Parse(text).ForEach(func(key, value rawjson.Value) bool { // one walk, because the spec is most of the object
		switch key.Str {
		case "initContainers":
			spec.before = value
		case "containers":
			spec.containers = value
		case "resources":
			spec.resources = value
		case "overhead":
			spec.overhead = value
		}
		return true
	})
	return &workload.Requests{
		MilliCPU:    spec.request("cpu", (*resource.Quantity).MilliValue),
		MemoryBytes: spec.request("memory", (*resource.Quantity).Value),
	}
}

// request adds up one resource like the scheduler: containers run together with init containers that always restart;
// other init containers run one after the other before. Pod-level requests replace the sum, and the overhead of the
// runtime is added.
func (s *podSpec) request(name string, value func(*resource.Quantity) int64) int64 {
	of := func(amounts rawjson.Value) (int64, bool) {
		amount := amounts.Get(name)
		if !amount.Exists() {
			return 0, false
		}
		q, ok := workload.ParseQuantity(amount.String())
		return value(&q), ok
	}
	// For a container with a limit and no request, the API server requests the limit.
	container := func(c rawjson.Value) int64 {
		resources := c.Get("resources")
		n, ok := of(resources.Get("requests"))
		if !ok {
			n, _ = of(resources.Get("limits"))
		}
		return n
	}
	var before, beside, total int64
	for _, c := range s.before.Array() {
		if c.Get("restartPolicy").String() == "Always" {
			beside += container(c)
			before = max(before, beside)
			continue
		}
		before = max(before, beside+container(c))
	}
	for _, c := range s.containers.Array() {
		total += container(c)
	}
	total = max(total+beside, before)
	if n, ok := of(s.resources.Get("requests")); ok {
		total = n
	}
	overhead, _ := of(s.overhead)
	return total + overhead
}
