package watch

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// Overlay shows objects as if they had been changed.
type Overlay interface {
	// Over returns the shown form of an object. Its resourceVersion is that of the object, or that with "+" and a suffix.
	Over(resource schema.GroupResource, raw []byte) []byte
	// Gone is called after an object was deleted.
	Gone(resource schema.GroupResource, namespace, name string)
}

// ShowOver lays an overlay over all objects. It must be called before the first Ensure.
func (m *Manager) ShowOver(o Overlay) { m.overlay = o }

// overlaid is a Projector under an overlay.
type overlaid struct {
	Projector
	overlay  Overlay
	resource schema.GroupResource
}

// Project implements Projector.
func (o overlaid) Project(raw []byte) (*workload.Object, error) {
	return o.Projector.Project(o.overlay.Over(o.resource, raw))
}

// Show projects an object again after a change of the overlay. raw is the object as the API server has it. A watch that has another
// version of the object leaves it out, because the watch gets the version of raw, or a later one, by itself.
func (m *Manager) Show(gvr schema.GroupVersionResource, raw []byte) {
	m.mu.Lock()
	var all []*informer
	for k, f := range m.informers {
		if k.gvr == gvr {
			all = append(all, f)
		}
	}
	m.mu.Unlock()
	for _, f := range all {
		f.show(raw)
	}
}

func (f *informer) show(raw []byte) {
	f.deliver.Lock()
	defer f.deliver.Unlock()
	shown, ok := project(f.projector, raw).(*item)
	if !ok {
		return
	}
	cur := f.store.find(shown.Namespace, shown.Name)
	if cur != nil && cur.UID == shown.UID && stored(cur.ResourceVersion) == stored(shown.ResourceVersion) {
		f.notify(f.store.put((*workload.Object)(shown)), false)
	}
}

// stored returns the API server's part of a resourceVersion.
func stored(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}
