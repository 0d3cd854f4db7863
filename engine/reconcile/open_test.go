package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// A Deployment is about to go below the minimum of its autoscaler. It is written after the minimum is lowered. If
// lowering fails, it is not written, and its place in the batch is free again.
func TestBoundsAreLoweredBeforeTheTarget(t *testing.T) {
	for _, tc := range []struct {
		answer  int
		err     error
		written []string
		status  string
	}{
		{http.StatusOK, nil, []string{"horizontalpodautoscalers", "deployments"}, ""},
		{http.StatusForbidden, gate.ErrQueued, []string{"horizontalpodautoscalers"},
			"open HorizontalPodAutoscaler.autoscaling/shop/web to the new count"},
		{http.StatusConflict, gate.ErrBehind, []string{"horizontalpodautoscalers"}, ""},
	} {
		t.Run(fmt.Sprint(tc.answer), func(t *testing.T) {
			var written []string
			answer := tc.answer
			s := newScene(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				resource := strings.Split(req.URL.Path, "/")[6]
				written = append(written, resource)
				w.Header().Set("Content-Type", "application/json")
				if resource == "horizontalpodautoscalers" && answer != http.StatusOK {
					w.WriteHeader(answer)
					_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`,
						map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 409: metav1.StatusReasonConflict}[answer], answer)
					return
				}
				_, _ = w.Write([]byte(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"web","resourceVersion":"8"}}`))
			}))
			ref := s.halve(t)
			if err := s.process(t.Context(), ref); err != tc.err { //nolint:errorlint // this error itself, unwrapped
				t.Fatalf("it says %v, want %v", err, tc.err)
			}
			if diff := cmp.Diff(tc.written, written); diff != "" {
				t.Error(diff)
			}
			if text := fmt.Sprint(s.look(t, nights).Failures); !strings.Contains(text, tc.status) {
				t.Errorf("the status says %s, want %q", text, tc.status)
			}
			if tc.err == nil {
				return
			}
			answer, written = http.StatusOK, nil
			s.obstacle.Withdraw(ref)
			if err := s.process(t.Context(), ref); err != nil || len(written) != 2 {
				t.Errorf("once it can be opened, %v are written: %v", written, err)
			}
		})
	}
}

// halve adds a Deployment with six replicas, and an autoscaler with a minimum of four. It also adds a Schedule that
// now scales the Deployment to half, in batches of one. It returns the Deployment.
func (s *scene) halve(t *testing.T) workload.Ref {
	t.Helper()
	k := worldtest.Kind(t, worldtest.Autoscalers)
	governing := &world.LiveKind{Kind: k, Live: world.NewLive(k.Adapter)}
	objects := &worldtest.Store{}
	governing.Live.Objects = objects
	hpa, web := worldtest.Project(t, k, worldtest.Autoscaler("web", "web", 4, 9, "")),
		worldtest.Project(t, s.kind.Kind, worldtest.Deployment("web", 6, ""))
	objects.Put(hpa)
	s.world.ObjectChanged(governing.Live, nil, hpa)
	s.objects.Put(web)
	s.world.Update(func(tx *world.Tx) { tx.UseKind(governing) })
	half := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{
		Namespace: nights.Namespace, Name: nights.Name, Generation: 1, Finalizers: []string{v1alpha1.FinalizerRestore},
	}}
	half.Spec.Downscale, half.Spec.Upscale = "0 8 * * *", "0 20 * * *" // asleep by day
	half.Spec.AsleepAs = &v1alpha1.AsleepAs{Percent: new(int32(50))}
	half.Spec.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "1h"}
	if err := s.client.Create(t.Context(), half); err != nil {
		t.Fatal(err)
	}
	s.world.Update(func(tx *world.Tx) { tx.SetPolicy(kindThat(t, func(*policy.Policy) {}), half) })
	return s.kind.Ref(web)
}

// The controller of the autoscaler may be in a round with the bounds of before. It would bring the Deployment back into them.
func TestTheTargetWaitsUntilTheBoundsAreSeen(t *testing.T) {
	s, api, web, hpa := halved(t)
	seen := func(generation int) {
		t.Helper()
		status := fmt.Appendf(nil, `{"metadata":{"generation":2},"status":{"observedGeneration":%d,
  "conditions":[{"type":"AbleToScale","status":"True"}]}}`, generation)
		next, err := jsonpatch.MergePatch(api.objects["horizontalpodautoscalers"], status)
		if err != nil {
			t.Fatal(err)
		}
		api.objects["horizontalpodautoscalers"] = next
		s.bring(t, api, hpa)
	}
	for _, tc := range []struct {
		observed int
		err      error
		writes   []string
		waits    string
	}{
		{0, gate.ErrBehind, []string{"horizontalpodautoscalers"}, ""},
		{1, nil, []string{"horizontalpodautoscalers"},
			"waits until the controller of HorizontalPodAutoscaler.autoscaling/shop/web has seen its bounds"},
		{2, nil, []string{"horizontalpodautoscalers", "deployments"}, ""}, // the only place of the batch is its own
	} {
		if tc.observed > 0 {
			seen(tc.observed)
		}
		if err := s.process(t.Context(), web); !errors.Is(err, tc.err) {
			t.Errorf("observed %d: %v, want %v", tc.observed, err, tc.err)
		}
		if diff := cmp.Diff(tc.writes, api.writes); diff != "" {
			t.Errorf("observed %d: %s", tc.observed, diff)
		}
		if text := fmt.Sprint(s.look(t, nights)); !strings.Contains(text, tc.waits) {
			t.Errorf("observed %d: the status says %s, want %q", tc.observed, text, tc.waits)
		}
	}
}

// finalizers records the kinds whose adapters get the finalizer. For autoscalers it returns err.
type finalizers struct {
	noTemplates
	put []string
	err error
}

func (f *finalizers) PutFinalizer(_ context.Context, k *decide.Kind) error {
	f.put = append(f.put, k.Kind)
	if k.Kind == "HorizontalPodAutoscaler" {
		return f.err
	}
	return nil
}

// answering is an API server that forbids writes to one resource and accepts all others. It records the written
// resources.
type answering struct {
	refused string
	written []string
}

func (a *answering) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	resource := strings.Split(req.URL.Path, "/")[6]
	a.written = append(a.written, resource)
	w.Header().Set("Content-Type", "application/json")
	if resource == a.refused {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`))
		return
	}
	_, _ = w.Write([]byte(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"web","resourceVersion":"8"}}`))
}

// Before the first write to an autoscaler, its adapter gets the finalizer. Otherwise the adapter could be deleted
// before the bounds are restored.
func TestOpeningPutsTheFinalizerOnTheAdapter(t *testing.T) {
	for _, failing := range []error{nil, errors.New("no answer")} {
		api, keeper := &answering{}, &finalizers{err: failing}
		s := newScene(t, api)
		s.keeper = keeper
		s.setGates()
		ref := s.halve(t)
		err := s.process(t.Context(), ref)
		if !slices.Contains(keeper.put, "HorizontalPodAutoscaler") || !errors.Is(err, failing) {
			t.Errorf("finalizers of %v, %v", keeper.put, err)
		}
		if failing == nil {
			continue
		}
		if len(api.written) > 0 {
			t.Errorf("%v are written without the finalizer", api.written)
		}
		keeper.err = nil
		if err := s.process(t.Context(), ref); err != nil || len(api.written) != 2 {
			t.Errorf("once it is there, %v are written: %v", api.written, err)
		}
	}
}

// Writes to the Deployment are refused, and another writer resets the autoscaler each time. The autoscaler is opened
// after growing pauses, and writes to the Deployment are tried in between.
func TestContestedAutoscalersAreOpenedAfterPauses(t *testing.T) {
	api := &answering{refused: "deployments"}
	s := newScene(t, api)
	ref := s.halve(t)
	tries := 60
	for range tries { // ten minutes
		s.obstacle.Withdraw(ref)
		_ = s.process(t.Context(), ref) // the write is refused
		s.clock.Step(10 * time.Second)
	}
	tried := len(api.written)
	api.written = slices.DeleteFunc(api.written, func(resource string) bool { return resource == "deployments" })
	if tried -= len(api.written); tried != tries || len(api.written) > 14 || len(api.written) < 10 {
		t.Errorf("the Deployment was tried %d times, want %d, and the autoscaler opened %d times, want once a minute", tried, tries,
			len(api.written))
	}
}
