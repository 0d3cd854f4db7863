package zones

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"flyball.dev/flyball/test/harness"
)

// Watched keeps all pods of a cluster through one watch, because repeated lists would load the API server.
type Watched struct {
	mu   sync.Mutex
	apps map[string]*app
}

// app has the pods with one label app in one namespace. changed is closed when any of them changes.
type app struct {
	pods    map[string]*corev1.Pod
	changed chan struct{}
}

// Watch follows the pods of a cluster until the context ends.
func (c *Cluster) Watch(ctx context.Context) *Watched {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(c.Config)
	Expect(err).NotTo(HaveOccurred())
	w := &Watched{apps: map[string]*app{}}
	factory := informers.NewSharedInformerFactory(clients, 0)
	_, err = factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.put(obj.(*corev1.Pod), true) },
		UpdateFunc: func(_, obj any) { w.put(obj.(*corev1.Pod), true) },
		DeleteFunc: func(obj any) {
			if gone, unseen := obj.(cache.DeletedFinalStateUnknown); unseen {
				obj = gone.Obj
			}
			w.put(obj.(*corev1.Pod), false)
		},
	})
	Expect(err).NotTo(HaveOccurred())
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		Expect(synced).To(BeTrue(), kind.String())
	}
	return w
}

// put stores the current state of a pod.
func (w *Watched) put(p *corev1.Pod, exists bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.app(p.Namespace, p.Labels["app"])
	if delete(a.pods, p.Name); exists && IsCounted(p) {
		a.pods[p.Name] = p
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

// app must be called with the lock held.
func (w *Watched) app(namespace, name string) *app {
	a := w.apps[namespace+"/"+name]
	if a == nil {
		a = &app{map[string]*corev1.Pod{}, make(chan struct{})}
		w.apps[namespace+"/"+name] = a
	}
	return a
}

// Pods returns the pods of an app that a controller counts.
func (w *Watched) Pods(namespace, app string) []*corev1.Pod {
	pods, _ := w.look(namespace, app)
	return pods
}

func (w *Watched) look(namespace, app string) ([]*corev1.Pod, chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.app(namespace, app)
	return slices.Collect(maps.Values(a.pods)), a.changed
}

const (
	// lull is the interval of checks without an event, because checks may depend on time.
	lull = time.Second
	// patience is the time limit when hundreds of pods are created at once.
	patience = 3 * harness.Patience
)

// Await waits until the pods of an app pass a check, and returns them.
func (w *Watched) Await(namespace, app string, check func([]*corev1.Pod) error) ([]*corev1.Pod, error) {
	last := errors.New("there was no time to look")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		pods, changed := w.look(namespace, app)
		if last = check(pods); last == nil {
			return pods, nil
		}
		select {
		case <-changed:
		case <-time.After(lull):
		}
	}
	return nil, fmt.Errorf("%s/%s, after %s: %w", namespace, app, patience, last)
}
