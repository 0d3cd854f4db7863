package app

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller/adapter"
	"flyball.dev/flyball/engine/fleet/inplace"
	"flyball.dev/flyball/engine/members"
	"flyball.dev/flyball/engine/resize"
	"flyball.dev/flyball/engine/target"
	"flyball.dev/flyball/engine/world"
)

// newResizes makes what changes pods in place, and joins it to what works on targets.
func newResizes(belonging *members.Members, config *rest.Config, opts Options, w *world.World, writer *apply.Writer, loop *target.Loop, adapters *adapter.Controller,
	m *resize.Metrics, log logr.Logger,
) (*resize.Loop, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up changes of pods in place: %w", err)
	}
	server, err := resizingOf(client)
	if err != nil {
		return nil, err
	}
	resized := resize.New(w, belonging, writer, adapters, m, resize.Options{
		Clock: opts.Clock, Server: server, Requeue: loop.Queue, Fault: loop.CountFault, Log: log,
	})
	belonging.Follow(resized)
	loop.FollowResized(resized)
	return resized, nil
}

// lowersMemoryLimits is the first minor version of Kubernetes 1 in which a memory limit can be lowered without a restart of the container.
const lowersMemoryLimits = 34

// resizingOf asks the API server what of a pod can be changed in place.
func resizingOf(client discovery.DiscoveryInterface) (o inplace.Options, err error) {
	served, err := client.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return o, fmt.Errorf("ask the API server whether pods can be changed in place: %w", err)
	}
	o.Unserved = !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" })
	version, err := client.ServerVersion()
	if err != nil {
		return o, fmt.Errorf("ask the API server for its version: %w", err)
	}
	minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	o.KeepsMemoryLimits = err != nil || version.Major == "1" && minor < lowersMemoryLimits
	return o, nil
}
