package pods

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/await"
)

// stream serves a watch of pods, whose events the test sends, and a watch of nodes, which is always empty. The list of nodes
// ends once nodes is closed; nil: at once.
type stream struct {
	pods  chan string
	nodes chan struct{}
}

// ServeHTTP implements http.Handler.
func (s stream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		http.Error(w, "this server only streams", http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	send := func(kind, object string) {
		_, _ = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", kind, object)
		w.(http.Flusher).Flush()
	}
	const synced = `{"apiVersion":"v1","kind":%q,"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`
	if strings.HasSuffix(r.URL.Path, "/nodes") {
		if s.nodes != nil {
			<-s.nodes
		}
		send("BOOKMARK", fmt.Sprintf(synced, "Node"))
		<-r.Context().Done()
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case pod := <-s.pods:
			if pod == "" {
				send("BOOKMARK", fmt.Sprintf(synced, "Pod"))
				continue
			}
			send("ADDED", pod)
		}
	}
}

// cluster is a Cluster without watches; lookups of kinds in the group "away" fail.
type cluster struct {
	mu    sync.Mutex
	asked map[schema.GroupKind]int
}

func (*cluster) OwnerReferenceOf(workload.Ref) (*workload.OwnerReference, bool) { return nil, false }

func (*cluster) Ends(schema.GroupKind) bool { return false }

func (c *cluster) Resource(_ context.Context, gk schema.GroupKind) (schema.GroupVersionResource, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[gk]++
	if gk.Group == "away" {
		return schema.GroupVersionResource{}, false, errors.New("the group does not answer")
	}
	return schema.GroupVersionResource{}, false, nil
}

// listener counts the calls of a Listener.
type listener struct{ settled, changed chan struct{} }

func (l listener) MembersChanged([]workload.Ref) { l.changed <- struct{}{} }
func (l listener) MembersSettled()               { l.settled <- struct{}{} }

func ownedBy(name, group, kind string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":%q,"uid":%q,"resourceVersion":"1",
"ownerReferences":[{"apiVersion":"%s/v1","kind":%q,"name":"o","controller":true}]},"status":{"phase":"Running"}}`, name, name, group, kind)
}

func receive(t *testing.T, c chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal(what + " does not come about")
	}
}

// membersOf returns Members that watch a server, and the calls of their listener.
func membersOf(t *testing.T, s stream) (*Members, *watch.Manager, listener) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	watches, err := watch.NewManager(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watches.Close)
	heard := listener{make(chan struct{}, 100), make(chan struct{}, 100)}
	m := New(Options{Watches: watches, Cluster: &cluster{asked: map[schema.GroupKind]int{}}, Own: "flyball"})
	m.Observe(heard)
	return m, watches, heard
}

func TestPodsAreUnknownUntilTheirNodesAreKnown(t *testing.T) {
	s := stream{pods: make(chan string), nodes: make(chan struct{})}
	m, _, heard := membersOf(t, s)
	if err := m.NeedContainers(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.pods <- ""
	receive(t, heard.settled, "knowledge of pods alone")
	if err := m.Need(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, known := m.Fleet(workload.Ref{}); known {
		t.Error("pods are known before their nodes")
	}
	close(s.nodes)
	receive(t, heard.settled, "knowledge of nodes")
}

func TestAWatchThatWasInSyncBeforeItWasTakenCounts(t *testing.T) {
	s := stream{pods: make(chan string)}
	m, watches, heard := membersOf(t, s)
	if err := m.Need(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.pods <- ""
	receive(t, heard.settled, "knowledge without labels")
	labels := []string{"zone"}
	before, err := watches.Ensure(t.Context(), watch.Source{GVR: nodeResource, ID: fmt.Sprintf("members %q", labels),
		Projector: newNodes(m.identity, labels)})
	if err != nil {
		t.Fatal(err)
	}
	if err := before.WaitSynced(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Need(t.Context(), labels); err != nil {
		t.Fatal(err)
	}
	receive(t, heard.settled, "knowledge of labels")
}

// Authors of pods can name owners of any kind. Kinds that do not answer leave all other pods known, but the owners of
// their own pods are not sure.
func TestUnreachableOwnersDoNotBlockOtherPods(t *testing.T) {
	s := stream{pods: make(chan string)}
	server := httptest.NewServer(s)
	defer server.Close()
	watches, err := watch.NewManager(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer watches.Close()
	heard := listener{make(chan struct{}, 100), make(chan struct{}, 100)}
	c := &cluster{asked: map[schema.GroupKind]int{}}
	m := New(Options{Watches: watches, Cluster: c, Own: "flyball"})
	m.Observe(heard)
	if err := m.Need(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	s.pods <- ownedBy("a", "away", "Odd")
	s.pods <- ownedBy("b", "here", "Set")
	s.pods <- ""
	receive(t, heard.settled, "what is known")
	at := func(group, kind string) workload.Ref {
		return workload.Ref{GroupKind: schema.GroupKind{Group: group, Kind: kind}, Namespace: "shop", Name: "o"}
	}
	check := func(group, kind string, wantSure bool) {
		t.Helper()
		f, known := m.Fleet(at(group, kind))
		if !known || len(f.Pods) != 1 {
			t.Fatalf("the pods of %s are known: %t", kind, known)
		}
		if _, sure := m.Above(at(group, kind)); sure != wantSure {
			t.Errorf("it is sure what %s belongs to: %t", kind, sure)
		}
	}
	check("here", "Set", true)
	check("away", "Odd", false)

	s.pods <- ownedBy("c", "away", "Later")
	await.True(t, "a pod of an owner of a new kind is known", func() bool { // a call of the listener may be about an earlier pod
		f, known := m.Fleet(at("away", "Later"))
		return known && len(f.Pods) == 1
	})
	check("away", "Later", false)
	check("here", "Set", true)
}

// Kinds named as owners do not fill the memory.
func TestMissingOwnerKindsAreDropped(t *testing.T) {
	c := &cluster{asked: map[schema.GroupKind]int{}}
	m := New(Options{Cluster: c})
	m.Observe(listener{make(chan struct{}, 10*ownerKindsAtMost), nil})
	look := func(kind string) {
		m.mu.Lock()
		m.watchedKind(t.Context(), &workload.OwnerReference{GroupKind: schema.GroupKind{Group: "here", Kind: kind}})
		m.mu.Unlock()
		await.True(t, kind+" is looked into", func() bool {
			k, _ := m.owners.at(schema.GroupKind{Group: "here", Kind: kind})
			return k.isSettled()
		})
	}
	for i := range 2*ownerKindsAtMost + 10 {
		look(fmt.Sprint("Kind", i))
	}
	if n := len(m.owners.all); n > ownerKindsAtMost {
		t.Errorf("%d kinds are remembered", n)
	}
	gk := schema.GroupKind{Group: "here", Kind: "Kind0"}
	look("Kind0")
	look("Kind0")
	if n := c.asked[gk]; n != 2 {
		t.Errorf("a kind that was forgotten once was asked for %d times", n)
	}
}

// Kinds that do not answer are bounded as well. Owners of dropped kinds are not sure.
func TestKindsThatDoNotAnswerAreBounded(t *testing.T) {
	m := New(Options{Cluster: &cluster{asked: map[schema.GroupKind]int{}}})
	var gk schema.GroupKind
	m.mu.Lock()
	for i := range ownerKindsAtMost + 10 {
		gk = schema.GroupKind{Group: "away", Kind: fmt.Sprint("Kind", i)}
		m.watchedKind(t.Context(), &workload.OwnerReference{GroupKind: gk})
	}
	m.mu.Unlock()
	if n := len(m.owners.all); n != ownerKindsAtMost {
		t.Errorf("%d kinds are remembered", n)
	}
	if m.owners.isSettled(gk) {
		t.Error("it is sure what owns a kind that was never looked into")
	}
}
