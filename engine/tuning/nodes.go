package tuning

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// Nodes are the nodes of the cluster, watched while needed. Only their allocatable CPU and memory are kept.
type Nodes struct {
	Watches *watch.Manager
	watch   *watch.Watch
}

// Need watches nodes until the context ends or Drop is called. It does not wait for the network. Watches that are being
// ended are an error.
func (n *Nodes) Need(ctx context.Context) (err error) {
	if n.watch == nil {
		n.watch, err = n.Watches.Ensure(ctx, watch.Source{GVR: corev1.SchemeGroupVersion.WithResource("nodes"), ID: "tuning", Projector: sized{}})
	}
	if err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	return nil
}

// Drop ends Need.
func (n *Nodes) Drop() {
	if n.watch != nil {
		n.watch.Release()
		n.watch = nil
	}
}

// Largest returns the largest capacity for pods of any node, of each resource; zero: no node is known. known is false
// while nodes are still being read.
func (n *Nodes) Largest() (most workload.Requests, known bool) {
	if n.watch == nil {
		return most, false
	}
	if _, err := n.watch.Err(); !n.watch.HasSynced() {
		return most, err != nil // unreadable nodes do not bound anything
	}
	n.watch.Range(func(obj *workload.Object) bool {
		for i, of := range []workload.Resource{workload.CPU, workload.Memory} {
			amount, _ := strconv.ParseInt(obj.Fields[i].Raw, 10, 64) // sized wrote a valid number
			most.Set(of, max(most.Of(of), amount))
		}
		return true
	})
	return most, true
}

// sized keeps the capacity of a node for pods: CPU in milli-CPU and memory in bytes, zero if unreadable.
type sized struct{}

// Project implements watch.Projector.
func (sized) Project(raw []byte) (*workload.Object, error) {
	text := func(path string) string { return rawjson.GetBytes(raw, path).String() }
	obj := &workload.Object{Name: text("metadata.name"), UID: text("metadata.uid"), ResourceVersion: text("metadata.resourceVersion")}
	if obj.Name == "" {
		return nil, fmt.Errorf("project a node: it has no name")
	}
	cpu, _ := resource.ParseQuantity(text("status.allocatable.cpu"))
	memory, _ := resource.ParseQuantity(text("status.allocatable.memory"))
	for _, n := range []int64{cpu.MilliValue(), memory.Value()} {
		obj.Fields = append(obj.Fields, workload.Field{Raw: strconv.FormatInt(n, 10)})
	}
	return obj, nil
}
