package app

import (
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/tuning/podsize"
)

// lowersMemoryLimits is the first version of Kubernetes that can lower a memory limit without a restart of the
// container.
var lowersMemoryLimits = version.MajorMinor(1, 34)

// askedFor is the time for which the API server's answer about its version is used. The server may be upgraded later.
const askedFor = 10 * time.Minute

// resizing caches which fields of a pod the API server can change in place.
type resizing struct {
	client discovery.DiscoveryInterface
	clock  clock.PassiveClock

	mu    sync.Mutex
	known podsize.ResizeOptions
	asked time.Time
}

func (r *resizing) options() (podsize.ResizeOptions, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked.IsZero() && r.clock.Since(r.asked) < askedFor {
		return r.known, nil
	}
	known, err := resizingOf(r.client)
	if err == nil {
		r.known, r.asked = known, r.clock.Now()
	}
	return known, err
}

// resizingOf asks the API server which fields of a pod can be changed in place.
func resizingOf(client discovery.DiscoveryInterface) (o podsize.ResizeOptions, err error) {
	served, err := client.ServerResourcesForGroupVersion("v1")
	if err != nil {
		return o, fmt.Errorf("ask the API server whether pods can be changed in place: %w", err)
	}
	o.Unserved = !slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == "pods/resize" })
	info, err := client.ServerVersion()
	if err != nil {
		return o, fmt.Errorf("ask the API server for its version: %w", err)
	}
	known, _ := version.ParseGeneric(info.Major + "." + info.Minor) // Minor may be "35+"; nil if the text is not a version
	o.KeepsMemoryLimits = known == nil || known.LessThan(lowersMemoryLimits)
	return o, nil
}
