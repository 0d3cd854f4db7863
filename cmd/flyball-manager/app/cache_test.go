package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/status"
)

// server serves Schedules: a list, and then the events of a watch.
type server struct {
	client.WithWatch // nil
	items            []v1alpha1.Schedule
	events           *watch.FakeWatcher
	lists            int
}

func (s *server) Scheme() *runtime.Scheme { return Scheme() }

func (s *server) RESTMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(v1alpha1.GroupVersion.WithKind("Schedule"), meta.RESTScopeNamespace)
	return m
}

func (s *server) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	s.lists++
	list.(*v1alpha1.ScheduleList).Items = slices.Clone(s.items)
	list.SetResourceVersion(fmt.Sprint(s.lists))
	return nil
}

func (s *server) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	s.events = watch.NewFake()
	return s.events, nil
}

func stored(namespace, name, uid, version string) v1alpha1.Schedule {
	return v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid), ResourceVersion: version,
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}
}

// calls returns a handler that records its calls.
func calls(to *[]string) toolscache.ResourceEventHandler {
	name := func(o any) string {
		s := o.(*v1alpha1.Schedule)
		return fmt.Sprintf("%s %s v%s", s.Name, s.UID, s.ResourceVersion)
	}
	return toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { *to = append(*to, fmt.Sprintf("add %s %t", name(o), initial)) },
		UpdateFunc: func(old, o any) { *to = append(*to, "update "+name(old)+" to "+name(o)) },
		DeleteFunc: func(o any) { *to = append(*to, "delete "+name(o)) },
	}
}

// running calls a function with a cache of a server's objects that has been read.
func running(t *testing.T, s *server, do func(*testing.T, *Cache, *informer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, ended := NewCache(s, status.NewListings()), make(chan error, 1)
		i, err := c.GetInformer(ctx, &v1alpha1.Schedule{})
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- c.Start(ctx) }()
		if !c.WaitForCacheSync(ctx) {
			t.Fatal("not read")
		}
		synctest.Wait()
		do(t, c, i.(*informer))
		cancel()
		if err := <-ended; err != nil || !i.IsStopped() {
			t.Errorf("ended with %v, stopped %t", err, i.IsStopped())
		}
	})
}

func TestHandlersSeeEachChangeOnce(t *testing.T) {
	s := &server{items: []v1alpha1.Schedule{stored("shop", "nights", "a", "1")}}
	running(t, s, func(t *testing.T, _ *Cache, f *informer) {
		var first, late []string
		if _, err := f.AddEventHandler(calls(&first)); err != nil {
			t.Fatal(err)
		}
		send := func(act func(runtime.Object), o v1alpha1.Schedule) { act(&o); synctest.Wait() }
		send(s.events.Modify, stored("shop", "nights", "a", "2"))
		send(s.events.Add, stored("bank", "nights", "b", "3"))
		send(s.events.Modify, stored("bank", "nights", "b", "3")) // no new version
		send(s.events.Delete, stored("bank", "nights", "b", "4"))
		s.items = []v1alpha1.Schedule{stored("shop", "nights", "c", "5")} // recreated while nobody watched
		if err := f.Replace([]any{&s.items[0]}, "5"); err != nil {
			t.Fatal(err)
		}
		want := []string{"add nights a v1 true", "update nights a v1 to nights a v2", "add nights b v3 false", "delete nights b v3",
			"delete nights a v2", "add nights c v5 false"}
		if !slices.Equal(first, want) {
			t.Errorf("the first handler saw %q, want %q", first, want)
		}
		if r, err := f.AddEventHandler(calls(&late)); err != nil || !r.HasSynced() || !slices.Equal(late, []string{"add nights c v5 true"}) {
			t.Errorf("a late handler saw %q, with the error %v", late, err)
		}
	})
}

func TestReadersGetCopiesWithoutManagedFields(t *testing.T) {
	s := &server{items: []v1alpha1.Schedule{stored("shop", "nights", "a", "1"), stored("bank", "nights", "b", "2")}}
	running(t, s, func(t *testing.T, c *Cache, _ *informer) {
		key := client.ObjectKey{Namespace: "shop", Name: "nights"}
		for range 2 { // the second time after a change of the first copy
			var got v1alpha1.Schedule
			if err := c.Get(t.Context(), key, &got); err != nil || got.UID != "a" || got.Kind != "Schedule" || got.Labels != nil ||
				got.ManagedFields != nil {
				t.Errorf("got %+v, with the error %v", got, err)
			}
			got.Labels = map[string]string{"a": "b"}
		}
		var list v1alpha1.ScheduleList
		if err := c.List(t.Context(), &list, client.InNamespace("bank")); err != nil || len(list.Items) != 1 || list.Items[0].UID != "b" {
			t.Errorf("the list is %+v, with the error %v", list, err)
		}
		if err := c.List(t.Context(), &list); err != nil || len(list.Items) != 2 {
			t.Errorf("the whole list is %+v, with the error %v", list, err)
		}
		key.Name = "days"
		if err := c.Get(t.Context(), key, &v1alpha1.Schedule{}); !apierrors.IsNotFound(err) {
			t.Errorf("a missing object gives %v", err)
		}
		if err := c.Get(t.Context(), key, &corev1.Secret{}); err == nil {
			t.Error("the cache has Secrets")
		}
		if err := c.List(t.Context(), &list, client.Limit(1)); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a page gives %v", err)
		}
	})
}
