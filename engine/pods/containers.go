package pods

import (
	"encoding/binary"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// Flags of a packed container.
const (
	isSidecar = 1 << iota
	restartsForCPU
	restartsForMemory
)

// containers returns the containers of a pod as elements, including the sidecars among its init containers. An element
// has the name of a container; its other values are packed into a text. The state of an in-place change, if any, is one
// more element without a name.
func (p pods) containers(values []rawjson.Value) []workload.Element {
	var all []workload.Element
	add := func(c rawjson.Value, statuses rawjson.Value, flags int64) {
		name := c.Get("name").Str
		flags |= restartFlags(c.Get("resizePolicy"))
		restarts, killed := restartsOf(name, statuses)
		packed := []byte{}
		for _, n := range []int64{
			milliAt(c, "requests.cpu"), bytesAt(c, "requests.memory"), milliAt(c, "limits.cpu"), bytesAt(c, "limits.memory"), flags, restarts,
			killed,
		} {
			packed = binary.AppendVarint(packed, n)
		}
		text := string(packed)
		if restarts == 0 && killed == 0 {
			text = p.interner.String(text) // most pods of a target have equal texts
		}
		all = append(all, workload.Element{Name: p.interner.String(name), Field: workload.Field{Raw: text}})
	}
	values[atContainers].ForEach(func(_, c rawjson.Value) bool { add(c, values[atStatuses], 0); return true })
	values[atInitContainers].ForEach(func(_, c rawjson.Value) bool {
		if c.Get("restartPolicy").Str == "Always" {
			add(c, values[atInitStatuses], isSidecar)
		}
		return true
	})
	if r := p.resizeOf(values); r != (workload.Resize{}) {
		text := packResize(r)
		if r.Message == "" {
			text = p.interner.String(text)
		}
		all = append(all, workload.Element{Field: workload.Field{Raw: text}})
	}
	return all
}

// milliAt and bytesAt return an amount of a container's resources; zero: absent or unreadable.
func milliAt(c rawjson.Value, of string) int64 { return amountAt(c, of).MilliValue() }

func bytesAt(c rawjson.Value, of string) int64 { return amountAt(c, of).Value() }

func amountAt(c rawjson.Value, of string) *resource.Quantity {
	q, _ := workload.ParseQuantity(c.Get("resources." + of).String())
	return &q
}

// restartFlags returns the flags for in-place changes with a restart of the container.
func restartFlags(policies rawjson.Value) (flags int64) {
	policies.ForEach(func(_, p rawjson.Value) bool {
		if p.Get("restartPolicy").Str == "RestartContainer" {
			switch p.Get("resourceName").Str {
			case "cpu":
				flags |= restartsForCPU
			case "memory":
				flags |= restartsForMemory
			}
		}
		return true
	})
	return flags
}

// restartsOf returns the restarts of a container, and the time in seconds since 1970 when it was last killed for lack
// of memory; zero: never.
func restartsOf(name string, statuses rawjson.Value) (restarts, killed int64) {
	statuses.ForEach(func(_, s rawjson.Value) bool {
		if s.Get("name").Str != name {
			return true
		}
		restarts = s.Get("restartCount").Int()
		for _, state := range []string{"lastState", "state"} {
			if end := s.Get(state + ".terminated"); end.Get("reason").Str == "OOMKilled" {
				killed = max(killed, instant(end.Get("finishedAt")))
			}
		}
		return false
	})
	return restarts, killed
}

// longestResize is the number of bytes kept of the reason why an in-place change is unfinished.
const longestResize = 256

// resizeOf returns the state of the pod's requests in comparison with the template.
func (p pods) resizeOf(values []rawjson.Value) workload.Resize {
	r := resizeOf(values[atConditions], values[atManaged], p.own)
	if r.State == workload.ResizeDone && values[atObserved].Int() > 0 && values[atObserved].Int() < values[atGeneration].Int() {
		r.State, r.Message = workload.ResizeInProgress, "its node has not looked at the change yet"
	}
	r.Unsupported, r.Made = !supportsResize(values[atStatuses]), values[atTunedBy].Str != ""
	r.Boost = workload.OneLine(values[atBoost].Str, workload.LongestBoost)
	return r
}

// resizeOf returns the state of a pod's last in-place change, and the field manager that made it. If several managers have
// changed the pod, it returns a manager other than Flyball.
func resizeOf(conditions, managed rawjson.Value, own string) (r workload.Resize) {
	conditions.ForEach(func(_, c rawjson.Value) bool {
		if c.Get("status").Str != "True" {
			return true
		}
		state, reason := workload.ResizeDone, c.Get("reason").Str
		switch kind := c.Get("type").Str; {
		case kind == "PodResizePending" && reason == "Infeasible":
			state = workload.ResizeInfeasible
		case kind == "PodResizePending":
			state = workload.ResizeDeferred
		case kind == "PodResizeInProgress" && reason == "Error":
			state = workload.ResizeFailing
		case kind == "PodResizeInProgress":
			state = workload.ResizeInProgress
		}
		if state > r.State {
			r.State, r.Message = state, workload.OneLine(c.Get("message").Str, longestResize)
			if r.Message == "" && reason != "" {
				r.Message = "its node says " + workload.OneLine(reason, longestResize)
			}
		}
		return true
	})
	managed.ForEach(func(_, entry rawjson.Value) bool {
		if entry.Get("subresource").Str != "resize" || !entry.Get("fieldsV1.f:spec").Exists() {
			return true
		}
		if name := entry.Get("manager").Str; r.By == "" || r.By == own {
			r.By = strings.ReplaceAll(name, "\n", " ")
		}
		return true
	})
	return r
}

// supportsResize reports whether the node of a pod supports in-place changes, according to the status of the first
// running container. Before a container runs this is unknown, and the API server accepts the change.
func supportsResize(statuses rawjson.Value) bool {
	supports := true
	statuses.ForEach(func(_, s rawjson.Value) bool {
		running := s.Get("state.running").Exists()
		if running {
			supports = s.Get("resources").Exists()
		}
		return !running
	})
	return supports
}

// Flags that are added to the state of a packed in-place change.
const (
	unsupported = 8
	made        = 16
)

func packResize(r workload.Resize) string {
	head := rune('0' + r.State)
	if r.Unsupported {
		head += unsupported
	}
	if r.Made {
		head += made
	}
	return string(head) + r.By + "\n" + r.Boost + "\n" + r.Message
}

func unpackResize(text string) (r workload.Resize) {
	head := text[0] - '0'
	r.State, r.Unsupported, r.Made = workload.ResizeState(head%unsupported), head&unsupported > 0, head&made > 0
	r.By, text, _ = strings.Cut(text[1:], "\n")
	r.Boost, r.Message, _ = strings.Cut(text, "\n")
	return r
}

// unpackContainers returns the containers of a projected pod, and the state of its last in-place change.
func unpackContainers(elements []workload.Element) (all []workload.Container, r workload.Resize) {
	for _, e := range elements {
		if e.Name == "" {
			r = unpackResize(e.Raw)
			continue
		}
		c := workload.Container{Name: e.Name}
		flags, b := int64(0), []byte(e.Raw)
		for _, to := range []*int64{&c.CPU, &c.Memory, &c.CPULimit, &c.MemoryLimit, &flags, &c.Restarts, &c.KilledAt} {
			v, n := binary.Varint(b)
			*to, b = v, b[max(n, 0):]
		}
		c.Sidecar, c.RestartsForCPU, c.RestartsForMemory = flags&isSidecar > 0, flags&restartsForCPU > 0, flags&restartsForMemory > 0
		all = append(all, c)
	}
	return all, r
}
