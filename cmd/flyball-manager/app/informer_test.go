package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/status"
)

func schedule(namespace, name, uid, version string) *v1alpha1.Schedule {
	return &v1alpha1.Schedule{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Schedule"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid), ResourceVersion: version,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}
}

// cached returns a cache of the Schedules of an API server, which is started by the returned function.
func cached(t *testing.T, stored ...*v1alpha1.Schedule) (cache.Cache, func()) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		list := v1alpha1.ScheduleList{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ScheduleList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
		for _, s := range stored {
			list.Items = append(list.Items, *s)
		}
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	informers := NewInformers(status.NewListings())
	options := informers.CacheOptions()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("Schedule"), meta.RESTScopeNamespace)
	options.Scheme, options.Mapper = Scheme(), mapper
	c, err := cache.New(&rest.Config{Host: server.URL}, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	return c, func() {
		go func() { ended <- c.Start(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			informers.Close()
		})
	}
}

func TestHandlersReadTheirKindAtTheFirstList(t *testing.T) {
	c, start := cached(t, schedule("shop", "nights", "a", "1"), schedule("shop", "days", "b", "2"), schedule("bank", "nights", "c", "3"))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	i, err := c.GetInformer(ctx, &v1alpha1.Schedule{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	var early bool
	var handled toolscache.ResourceEventHandlerRegistration
	handled, err = i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
		var list v1alpha1.ScheduleList
		s := o.(*v1alpha1.Schedule)
		if err := c.List(ctx, &list, client.InNamespace(s.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			t.Errorf("read the kind in its handler: %v", err)
		}
		found[s.Namespace+"/"+s.Name] = len(list.Items)
		early = early || handled.HasSynced()
	}})
	if err != nil {
		t.Fatal(err)
	}
	start()
	select {
	case <-handled.HasSyncedChecker().Done():
	case <-ctx.Done():
		t.Fatal("the handler has not seen the first list after 5 s")
	}
	if want := map[string]int{"shop/nights": 2, "shop/days": 2, "bank/nights": 1}; !maps.Equal(found, want) || early {
		t.Errorf("the handler found %v, want %v; synced before its last call: %t", found, want, early)
	}
}

func TestReadersGetCopiesWithoutManagedFields(t *testing.T) {
	c, start := cached(t, schedule("shop", "nights", "a", "1"))
	start()
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("not read")
	}
	key := client.ObjectKey{Namespace: "shop", Name: "nights"}
	for range 2 { // the second time after a change of the first copy
		var got v1alpha1.Schedule
		if err := c.Get(t.Context(), key, &got); err != nil || got.UID != "a" || got.Labels != nil || got.ManagedFields != nil {
			t.Errorf("got %+v, with the error %v", got, err)
		}
		got.Labels = map[string]string{"a": "b"}
	}
	key.Name = "days"
	if err := c.Get(t.Context(), key, &v1alpha1.Schedule{}); !apierrors.IsNotFound(err) {
		t.Errorf("a missing object gives %v", err)
	}
	if err := c.Get(t.Context(), key, &v1alpha1.Trigger{}); !meta.IsNoMatchError(err) {
		t.Errorf("a kind that is not served gives %v", err)
	}
}

// replica is a handler that rebuilds the objects of an informer from its calls, and records them.
type replica struct {
	objects map[string]*v1alpha1.Schedule
	calls   []string
	fault   string
}

func describe(s *v1alpha1.Schedule) string {
	return fmt.Sprintf("%s %s v%s", s.Name, s.UID, s.ResourceVersion)
}

// OnAdd implements toolscache.ResourceEventHandler.
func (r *replica) OnAdd(o any, first bool) {
	s := o.(*v1alpha1.Schedule)
	r.calls = append(r.calls, fmt.Sprintf("add %s %t", describe(s), first))
	if r.objects[s.Namespace+"/"+s.Name] != nil {
		r.fault = "added twice: " + describe(s)
	}
	r.objects[s.Namespace+"/"+s.Name] = s
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (r *replica) OnUpdate(old, o any) {
	s := o.(*v1alpha1.Schedule)
	r.calls = append(r.calls, "update "+describe(old.(*v1alpha1.Schedule))+" to "+describe(s))
	if was := r.objects[s.Namespace+"/"+s.Name]; was == nil || describe(was) != describe(old.(*v1alpha1.Schedule)) {
		r.fault = "updated from another version: " + describe(s)
	}
	r.objects[s.Namespace+"/"+s.Name] = s
}

// OnDelete implements toolscache.ResourceEventHandler.
func (r *replica) OnDelete(o any) {
	s := o.(*v1alpha1.Schedule)
	r.calls = append(r.calls, "delete "+describe(s))
	if r.objects[s.Namespace+"/"+s.Name] == nil {
		r.fault = "deleted twice: " + describe(s)
	}
	delete(r.objects, s.Namespace+"/"+s.Name)
}

// equals reports whether the replica has the objects of an informer.
func (r *replica) equals(f *informer) bool {
	all := f.List()
	return r.fault == "" && len(all) == len(r.objects) && !slices.ContainsFunc(all, func(o any) bool {
		s := o.(*v1alpha1.Schedule)
		known := r.objects[s.Namespace+"/"+s.Name]
		return known == nil || describe(known) != describe(s)
	})
}

// fresh returns an informer without a reflector's events, and a handler of it.
func fresh() (*informer, *replica) {
	f := newInformer("Schedule", &toolscache.ListWatch{}, &v1alpha1.Schedule{},
		toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}, NewInformers(status.NewListings()))
	return f, join(f)
}

func join(f *informer) *replica {
	r := &replica{objects: map[string]*v1alpha1.Schedule{}}
	_, _ = f.AddEventHandler(r) // never fails
	return r
}

func TestHandlersSeeEachChangeOnce(t *testing.T) {
	f, r := fresh()
	steps := []error{
		f.Replace([]any{schedule("shop", "nights", "a", "1")}, "1"),
		f.Update(schedule("shop", "nights", "a", "2")),
		f.Add(schedule("bank", "nights", "b", "3")),
		f.Update(schedule("bank", "nights", "b", "3")), // no new version
		f.Delete(schedule("bank", "nights", "b", "4")),
		f.Replace([]any{schedule("shop", "nights", "c", "5")}, "5"), // recreated while nobody watched
		f.Replace(nil, "6"),
	}
	if slices.ContainsFunc(steps, func(err error) bool { return err != nil }) {
		t.Fatal(steps)
	}
	want := []string{"add nights a v1 true", "update nights a v1 to nights a v2", "add nights b v3 false", "delete nights b v4",
		"delete nights a v2", "add nights c v5 false", "delete nights c v5"}
	if !slices.Equal(r.calls, want) {
		t.Errorf("the handler saw %q, want %q", r.calls, want)
	}
}

func TestHandlersHaveTheObjectsOfTheStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, first := fresh()
		all, version := []*replica{first}, 0
		object := rapid.Custom(func(t *rapid.T) any {
			version++
			return schedule(rapid.SampledFrom([]string{"shop", "bank"}).Draw(t, "namespace"),
				rapid.SampledFrom([]string{"days", "nights", "weeks"}).Draw(t, "name"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "uid"),
				fmt.Sprint(version/2))
		})
		list := rapid.SliceOfNDistinct(object, 0, 6, func(o any) string {
			key, _ := toolscache.MetaNamespaceKeyFunc(o)
			return key
		})
		if err := f.Replace(list.Draw(t, "the first list"), "0"); err != nil {
			t.Fatal(err)
		}
		t.Repeat(map[string]func(*rapid.T){
			"list":   func(t *rapid.T) { _ = f.Replace(list.Draw(t, "list"), "1") },
			"put":    func(t *rapid.T) { _ = f.Update(object.Draw(t, "object")) },
			"delete": func(t *rapid.T) { _ = f.Delete(object.Draw(t, "object")) },
			"join":   func(*rapid.T) { all = append(all, join(f)) },
			"": func(t *rapid.T) {
				for i, r := range all {
					if !r.equals(f) {
						t.Fatalf("handler %d: %s; it has %v, the store %v", i, r.fault, r.objects, f.ListKeys())
					}
				}
			},
		})
	})
}

func TestHandlersJoinAndReadersReadDuringChanges(t *testing.T) {
	f, first := fresh()
	all, running := []*replica{first}, sync.WaitGroup{}
	for range 8 {
		r := &replica{objects: map[string]*v1alpha1.Schedule{}}
		all = append(all, r)
		running.Go(func() {
			_, _ = f.AddEventHandler(r) // never fails
			for range 100 {
				_, _ = f.ByIndex(toolscache.NamespaceIndex, "shop")
				f.HasSynced()
			}
		})
	}
	running.Go(func() {
		for i := range 200 {
			s := schedule("shop", fmt.Sprint("s", i%7), "a", fmt.Sprint(i))
			switch i % 10 {
			case 0:
				_ = f.Replace([]any{s}, "1")
			case 5:
				_ = f.Delete(s)
			default:
				_ = f.Update(s)
			}
		}
	})
	running.Wait()
	for i, r := range all {
		if !r.equals(f) {
			t.Errorf("handler %d: %s; it has %v, the store %v", i, r.fault, r.objects, f.ListKeys())
		}
	}
}
