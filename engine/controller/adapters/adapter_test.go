package adapters

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// A fault of an adapter of a cluster-scoped kind concerns only the policies that list the kind, because only they
// select its objects.
func TestAilmentsOfClusterScopedKindsReachThePoliciesThatListThem(t *testing.T) {
	for _, outside := range []bool{true, false} {
		c := &Controller{Options: Options{World: world.New(selector.Scope{ClusterScoped: func(schema.GroupKind) bool { return outside }})}}
		a := &v1alpha1.Adapter{}
		a.Name, a.Spec.Target = "nodepools.karpenter.sh", v1alpha1.AdapterTarget{Group: "karpenter.sh", Kind: "NodePool"}
		f := &finding{}
		f.set(v1alpha1.ConditionWatching, false, "NotListed", "changes of objects are not seen")
		got := c.ailmentOf(a, f)
		if got == nil || got.Outside != outside || !strings.Contains(got.Reason, "changes of objects are not seen") {
			t.Errorf("outside namespaces %t: %+v", outside, got)
		}
	}
}

// faulty is a client that panics when it reads the adapter "bad". All other reads fail with an error.
type faulty struct{ client.Client }

func (faulty) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if key.Name == "bad" {
		panic("a stone in the works")
	}
	return errors.New("not now")
}

// A panic before the controller runs affects only one adapter. settle itself must recover from it.
func TestAPanicDoesNotPreventTheStart(t *testing.T) {
	var logged strings.Builder
	c := &Controller{Options: Options{Client: faulty{}, Log: funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{})}}
	for _, name := range []string{"bad", "other"} {
		if err := c.settle(t.Context(), name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, want := range []string{`"adapter"="bad"`, "a stone in the works", `"adapter"="other"`, "not now"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("%s is not in the log: %s", want, logged.String())
		}
	}
}

// Adapters settle in parallel. Each adapter of the test waits for all others, so one after the other they would wait
// for ever.
func TestAdaptersSettleTogether(t *testing.T) {
	names := []string{"a", "b", "c"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	all.Add(len(names))
	there := make(chan struct{})
	go func() { all.Wait(); close(there) }()
	bad := errors.New("b is bad")
	err := together(names, func(name string) error {
		all.Done()
		select {
		case <-there:
		case <-ctx.Done():
			return ctx.Err()
		}
		if name == "b" {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
}

// mute is a client whose writes get no answer until their context ends.
type mute struct{ client.Client }

func (mute) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (mute) Status() client.SubResourceWriter { return muteStatus{} }

func (mute) Patch(ctx context.Context, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
	<-ctx.Done()
	return ctx.Err()
}

func (mute) Apply(ctx context.Context, _ runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// muteStatus is the writer of the status of a mute client.
type muteStatus struct{ client.SubResourceWriter }

func (muteStatus) Patch(ctx context.Context, _ client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// Adapters are written one after the other, so a write that gets no answer must end.
func TestWritesOfAdaptersWithoutAnAnswerEnd(t *testing.T) {
	finalizers := NewFinalizers(mute{})
	c := &Controller{Options: Options{Finalizers: finalizers, Client: mute{}, Clock: clock.RealClock{}}}
	a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: worldtest.Deployments, Finalizers: []string{v1alpha1.FinalizerRestore}}}
	kind := worldtest.Kind(t, worldtest.Deployments)
	for name, write := range map[string]func(context.Context) error{
		"status": func(ctx context.Context) error {
			return c.writeStatus(ctx, a.DeepCopy(), v1alpha1.AdapterStatus{Version: "v1"})
		},
		"finalizer":             func(ctx context.Context) error { return finalizers.PutFinalizer(ctx, kind) },
		"removal of finalizers": func(ctx context.Context) error { return finalizers.remove(ctx, a) },
		"end of an adapter, and the status with the error": func(ctx context.Context) error {
			_, err := c.letGo(ctx, a.DeepCopy())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				if err := write(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 2*patience {
					t.Errorf("after %s: %v", time.Since(begun), err)
				}
			})
		})
	}
}

// transport answers the requests of a watch.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// unreadable is a client that cannot read adapters.
type unreadable struct{ client.Client }

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no answer")
}

// A target that is written before its autoscaler is known would be brought back by it, so the start of the manager waits
// longer for the first list of autoscalers, unless the list fails. It also waits if the watch is replaced meanwhile, and
// for an adapter that fails otherwise, such as by the write of its status.
func TestTheStartWaitsForASlowListOfAutoscalers(t *testing.T) {
	const slow = 2 * time.Minute
	after := func(wait time.Duration, status int, body string) transport {
		return func(r *http.Request) (*http.Response, error) {
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(wait):
			}
			header := http.Header{"Content-Type": {"application/json"}}
			return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		}
	}
	const refused = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
	for name, test := range map[string]struct {
		adapter string
		answer  transport
		// replaced and dropped: one second later, the watch is replaced by another, or is ended.
		replaced, dropped bool
		want              time.Duration
	}{
		"autoscalers, listed slowly":     {worldtest.Autoscalers, after(slow, http.StatusForbidden, refused), false, false, slow},
		"autoscalers, refused":           {worldtest.Autoscalers, after(0, http.StatusForbidden, refused), false, false, firstSync},
		"autoscalers, without an answer": {worldtest.Autoscalers, after(time.Hour, http.StatusForbidden, refused), false, false, autoscalerSync},
		"autoscalers, watched anew":      {worldtest.Autoscalers, after(slow, http.StatusForbidden, refused), true, false, time.Second + slow},
		"autoscalers, no longer watched": {worldtest.Autoscalers, after(time.Hour, http.StatusForbidden, refused), false, true, time.Second},
		"other objects, listed slowly":   {worldtest.Deployments, after(slow, http.StatusForbidden, refused), false, false, firstSync},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				watches, err := watch.NewManager(&rest.Config{Host: "http://api.example.com", Transport: test.answer})
				if err != nil {
					t.Fatal(err)
				}
				kind := worldtest.Kind(t, test.adapter)
				ctx, cancel := context.WithCancel(t.Context())
				c := &Controller{Options: Options{Client: unreadable{}}, running: map[string]*running{}}
				run := func(id string) {
					w, err := watches.Ensure(ctx, watch.Source{GVR: kind.Resource, ID: id, Projector: kind.Adapter})
					if err != nil {
						t.Error(err)
						return
					}
					c.running[test.adapter] = &running{watch: w, adapter: kind.Adapter}
				}
				run("first")
				time.AfterFunc(time.Second, func() {
					c.mu.Lock()
					defer c.mu.Unlock()
					first := c.running[test.adapter].watch
					switch {
					case test.replaced:
						run("second")
					case test.dropped:
						delete(c.running, test.adapter)
					default:
						return
					}
					first.Release()
				})
				begun := time.Now()
				if err := c.settle(ctx, test.adapter); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took < test.want || took > test.want+firstSync {
					t.Errorf("the start waited for %s, want %s", took, test.want)
				}
				cancel()
				watches.Close()
			})
		})
	}
}
