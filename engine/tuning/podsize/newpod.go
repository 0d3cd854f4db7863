package podsize

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// NewContainer has the wanted requests of a container: CPU in thousandths of a core, memory in bytes. Zero keeps a
// request.
type NewContainer struct {
	Name        string
	CPU, Memory int64
}

// NewPod has the wanted resources and variables of a created pod.
type NewPod struct {
	// Policy is the policy of the change, as noted on the pod.
	Policy     string
	Containers []NewContainer
	// Limits is the rule for limits beside tuned requests.
	Limits workload.LimitRule
	// Boost is the boost for the start; nil: none.
	Boost *StartBoost
	// GoMaxProcs and GoMemLimit set variables of these containers from their limits.
	GoMaxProcs, GoMemLimit bool
}

// Variables returns a copy of w that sets only variables, without requests and boost.
func (w NewPod) Variables() NewPod {
	w.Boost = nil
	w.Containers = slices.Clone(w.Containers)
	for i := range w.Containers {
		w.Containers[i].CPU, w.Containers[i].Memory = 0, 0
	}
	return w
}

// of returns the wanted requests of a container.
func (w *NewPod) of(name string) (NewContainer, bool) {
	for _, c := range w.Containers {
		if c.Name == name {
			return c, true
		}
	}
	return NewContainer{}, false
}

// Variables of the Go runtime.
const (
	goMaxProcs = "GOMAXPROCS"
	goMemLimit = "GOMEMLIMIT"
)

// memLimitPercent is the part of the memory that GOMEMLIMIT allows. The rest is for memory outside of the Go runtime.
const memLimitPercent = 90

// operation is an operation of a JSON Patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// errPodLevel is the error for a pod with resources of its own. The resources of its containers must fit into them.
var errPodLevel = errors.New("it has resources for the pod as a whole")

// PatchNewPod returns the JSON Patch that gives a pod the wanted values, or nil if the pod has them. It returns an error if a
// part of the pod cannot be read or changed.
func PatchNewPod(pod rawjson.Value, w NewPod) ([]byte, error) {
	spec := pod.Get("spec")
	if r := spec.Get("resources"); r.IsObject() && len(r.Map()) > 0 {
		return nil, errPodLevel
	}
	if _, boosted := ParseBoost(pod.Get("metadata.annotations." + rawjson.Escape(v1alpha1.AnnotationBoost)).Str); boosted {
		return nil, nil // the pod was changed already: the API server reviews it again because a later webhook has changed it
	}
	var all []operation
	resized, starts := false, start{boost: w.Boost}
	for _, list := range []string{"containers", "initContainers"} {
		i := -1
		var failed error
		spec.Get(list).ForEach(func(_, value rawjson.Value) bool {
			i++
			c := readContainer(value)
			name := c.name.String()
			to, wanted := w.of(name)
			boosted := starts.adds(name, list, c)
			if !wanted && !boosted || list == "initContainers" && c.restartPolicy.String() != "Always" {
				return true
			}
			is, err := readResources(c.resources)
			if err != nil {
				failed = fmt.Errorf("container %s: %w", name, err)
				return false
			}
			at := "/spec/" + list + "/" + strconv.Itoa(i)
			next := sizedAs(is, to, w.Limits)
			full := next
			if boosted {
				full = starts.of(name, next, w.Limits)
			}
			ops := resourceChanges(is, full, at)
			resized = resized || len(ops) > 0
			all = append(all, ops...)
			if wanted {
				all = append(all, variables(c, next, at, w)...)
			}
			return true
		})
		if failed != nil {
			return nil, failed
		}
	}
	if starts.isTooMuch(spec) {
		w.Boost = nil
		return PatchNewPod(pod, w)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if resized {
		all = append(all, markOperations(pod, w.Policy, starts.joinText())...)
	}
	return json.Marshal(all)
}

// podContainer has the read fields of a container. They are read in one walk, because the environment may be long.
type podContainer struct{ name, restartPolicy, resources, resizePolicy, env, envFrom rawjson.Value }

func readContainer(value rawjson.Value) (c podContainer) {
	if !value.IsObject() {
		return c
	}
	value.ForEach(func(key, v rawjson.Value) bool {
		switch key.Str {
		case "name":
			c.name = v
		case "restartPolicy":
			c.restartPolicy = v
		case "resources":
			c.resources = v
		case "resizePolicy":
			c.resizePolicy = v
		case "env":
			c.env = v
		case "envFrom":
			c.envFrom = v
		}
		return true
	})
	return c
}

// markOperations notes the policy on the pod, so the pod can be restored to its template. If the pod has a boost, it
// also notes the requests after the boost.
func markOperations(pod rawjson.Value, policy, boost string) []operation {
	notes := map[string]string{v1alpha1.AnnotationTunedBy: policy}
	if boost != "" {
		notes[v1alpha1.AnnotationBoost] = boost
	}
	if !pod.Get("metadata.annotations").IsObject() {
		return []operation{{"add", "/metadata/annotations", notes}}
	}
	var ops []operation
	for _, key := range slices.Sorted(maps.Keys(notes)) {
		ops = append(ops, operation{"add", "/metadata/annotations/" + strings.ReplaceAll(key, "/", "~1"), notes[key]})
	}
	return ops
}

// variables returns the operations that set variables from the resources of a container. A variable set by the owner
// stays. Variables from other sources (envFrom) are unknown here.
func variables(c podContainer, has workload.Resources, at string, w NewPod) (ops []operation) {
	// A container can rely on its limit, or on its request if it has no limit.
	procs, memory := cmp.Or(has.CPULimit, has.CPU), cmp.Or(has.MemoryLimit, has.Memory)
	if !w.GoMaxProcs {
		procs = 0
	}
	if !w.GoMemLimit {
		memory = 0
	}
	if procs == 0 && memory == 0 || !isEmpty(c.envFrom) {
		return nil
	}
	c.env.ForEach(func(_, v rawjson.Value) bool {
		switch v.Get("name").String() {
		case goMaxProcs:
			procs = 0
		case goMemLimit:
			memory = 0
		}
		return true
	})
	var all []variable
	if procs > 0 {
		all = append(all, variable{goMaxProcs, strconv.FormatInt((procs-1)/1000+1, 10)})
	}
	if memory > 0 {
		all = append(all, variable{goMemLimit, strconv.FormatInt(memory/100*memLimitPercent, 10)})
	}
	if len(all) > 0 && isEmpty(c.env) {
		return []operation{{"add", at + "/env", all}}
	}
	for _, v := range all {
		ops = append(ops, operation{"add", at + "/env/-", v})
	}
	return ops
}

// isEmpty reports whether a list is absent or empty.
func isEmpty(list rawjson.Value) bool {
	empty := true
	list.ForEach(func(_, _ rawjson.Value) bool { empty = false; return false })
	return empty
}

// variable is an environment variable of a container.
type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// most is the largest amount that is read, in cores or bytes. A larger amount is no real need and would overflow the
// computations here.
var most = *resource.NewQuantity(1<<50, resource.BinarySI)

// readResources returns the requests and limits of a container.
func readResources(resources rawjson.Value) (r workload.Resources, err error) {
	for _, field := range []struct {
		path string
		cpu  bool
		to   *int64
	}{
		{"requests.cpu", true, &r.CPU}, {"limits.cpu", true, &r.CPULimit}, {"requests.memory", false, &r.Memory},
		{"limits.memory", false, &r.MemoryLimit},
	} {
		v := resources.Get(field.path)
		if !v.Exists() || v.Type == rawjson.Null {
			continue
		}
		q, ok := workload.ParseQuantity(v.String())
		if !ok {
			return r, fmt.Errorf("read resources.%s: it is no quantity", field.path)
		}
		exact := resource.NewQuantity(q.Value(), resource.BinarySI)
		if *field.to = q.Value(); field.cpu {
			*field.to = q.MilliValue()
			exact = resource.NewMilliQuantity(q.MilliValue(), resource.DecimalSI)
		}
		switch {
		case q.Sign() < 0:
			return r, fmt.Errorf("read resources.%s: %s is below zero", field.path, q.String())
		case q.Cmp(most) > 0:
			return r, fmt.Errorf("read resources.%s: %s is more than anybody has", field.path, q.String())
		case q.Cmp(*exact) != 0:
			return r, fmt.Errorf("read resources.%s: %s is no whole number of bytes, or of thousandths of a core", field.path, q.String())
		}
	}
	return r, nil
}

// sizedAs returns the resources of a container with the wanted requests and with limits that follow them. Requests that
// the container does not have are not added.
func sizedAs(is workload.Resources, to NewContainer, rule workload.LimitRule) workload.Resources {
	if to.CPU > 0 && is.CPU > 0 && (to.CPU != is.CPU || rule == workload.LimitsGo) {
		is.CPU, is.CPULimit = workload.FitLimit(rule, to.CPU, is.CPU, is.CPULimit)
	}
	if to.Memory > 0 && is.Memory > 0 && (to.Memory != is.Memory || rule == workload.LimitsGo) {
		is.Memory, is.MemoryLimit = workload.FitLimit(rule, to.Memory, is.Memory, is.MemoryLimit)
	}
	return is
}

// resourceChanges returns the operations between two resources of a container.
func resourceChanges(from, to workload.Resources, at string) (ops []operation) {
	for _, n := range []struct {
		path     string
		from, to int64
		joinText func(int64) string
	}{
		{"requests/cpu", from.CPU, to.CPU, cores}, {"limits/cpu", from.CPULimit, to.CPULimit, cores},
		{"requests/memory", from.Memory, to.Memory, bytes}, {"limits/memory", from.MemoryLimit, to.MemoryLimit, bytes},
	} {
		switch n.to {
		case n.from:
		case 0:
			ops = append(ops, operation{Op: "remove", Path: at + "/resources/" + n.path})
		default:
			ops = append(ops, operation{"replace", at + "/resources/" + n.path, n.joinText(n.to)})
		}
	}
	return ops
}

func cores(n int64) string { return resource.NewMilliQuantity(n, resource.DecimalSI).String() }

func bytes(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
