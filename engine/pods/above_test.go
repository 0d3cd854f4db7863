package pods

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/await"
)

// sets is a cluster with ReplicaSets.
type sets struct{ cluster }

func (s *sets) Resource(ctx context.Context, gk schema.GroupKind) (schema.GroupVersionResource, bool, error) {
	_, _, err := s.cluster.Resource(ctx, gk)
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, gk.Kind == "ReplicaSet", err
}

// An object is known only with the right UID, and no owner reference can start a watch of all nodes or pods.
func TestOwnersNeedTheRightUID(t *testing.T) {
	s := stream{pods: make(chan string)}
	server := httptest.NewServer(s)
	defer server.Close()
	watches, err := watch.NewManager(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer watches.Close()
	c := &sets{cluster{asked: map[schema.GroupKind]int{}}}
	o := NewOwnerReferences(Options{Watches: watches, Cluster: c})
	ref := func(group, kind string) workload.Ref {
		return workload.Ref{GroupKind: schema.GroupKind{Group: group, Kind: kind}, Namespace: "shop", Name: "web-1"}
	}
	set := ref("apps", "ReplicaSet")
	if _, known, ever := o.OwnerReferenceOf(t.Context(), set, ""); known || !ever {
		t.Errorf("before it was looked for: known %t, ever %t", known, ever)
	}
	s.pods <- ownedBy("web-1", "apps", "Deployment")
	s.pods <- ""
	await.True(t, "a ReplicaSet is known", func() bool {
		owner, known, _ := o.OwnerReferenceOf(t.Context(), set, "web-1")
		return known && owner.Kind == "Deployment" && owner.Name == "o"
	})
	for uid, want := range map[string]bool{"": true, "web-1": true, "forged": false} {
		if _, known, ever := o.OwnerReferenceOf(t.Context(), set, uid); known != want || !ever {
			t.Errorf("the UID %q: known %t, ever %t", uid, known, ever)
		}
	}
	s.pods <- strings.Replace(ownedBy("wide", "apps", "Deployment"), `"namespace":"shop",`, "", 1)
	wide := workload.Ref{GroupKind: set.GroupKind, Namespace: "shop", Name: "wide"}
	await.True(t, "an owner that is in no namespace is known: each of its pods waits for it", func() bool {
		owner, known, _ := o.OwnerReferenceOf(t.Context(), wide, "wide")
		return known && owner.Name == "o"
	})
	for _, kind := range []string{"Node", "Pod"} {
		if owner, known, _ := o.OwnerReferenceOf(t.Context(), ref("", kind), "u"); owner != nil || !known {
			t.Errorf("%s: %v, %t", kind, owner, known)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asked) != 1 {
		t.Errorf("kinds that were looked for: %v", c.asked)
	}
}

// Authors of pods can name owners of any kind. Missing kinds must not displace existing ones.
func TestMissingKindsDoNotDisplaceExistingOnes(t *testing.T) {
	o := NewOwnerReferences(Options{Cluster: &cluster{asked: map[schema.GroupKind]int{}}})
	for i := range 2*ownerKindsAtMost + 10 {
		ref := workload.Ref{GroupKind: schema.GroupKind{Group: "here", Kind: fmt.Sprint("Kind", i)}, Namespace: "shop", Name: "o"}
		await.True(t, ref.Kind+" is looked into", func() bool {
			_, known, ever := o.OwnerReferenceOf(t.Context(), ref, "")
			return !known && !ever && has(o, ref.GroupKind)
		})
	}
	if n := len(o.kinds.all); n > ownerKindsAtMost {
		t.Errorf("%d kinds are remembered", n)
	}
}

func has(o *OwnerReferences, gk schema.GroupKind) bool {
	_, found := o.kinds.at(gk)
	return found
}
