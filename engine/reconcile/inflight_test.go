package reconcile

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// storing applies writes to the stored object of each resource.
type storing struct {
	t       *testing.T
	objects map[string][]byte
	writes  []string
}

func (a *storing) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	resource := strings.Split(req.URL.Path, "/")[6]
	a.writes = append(a.writes, resource)
	body, err := io.ReadAll(req.Body)
	if err != nil {
		a.t.Error(err)
	}
	var next []byte
	if strings.Contains(req.Header.Get("Content-Type"), "json-patch") {
		var ops jsonpatch.Patch
		if ops, err = jsonpatch.DecodePatch(body); err == nil {
			next, err = ops.Apply(a.objects[resource])
		}
	} else {
		next, err = jsonpatch.MergePatch(a.objects[resource], body)
	}
	if err != nil {
		a.t.Error(err)
	}
	if next, err = jsonpatch.MergePatch(next, fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%d"}}`, 100+len(a.writes))); err != nil {
		a.t.Error(err)
	}
	a.objects[resource] = next
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(next)
}

// halved is a scene with a Deployment and its autoscaler, and the API server that stores both.
func halved(t *testing.T) (s *scene, api *storing, web, hpa workload.Ref) {
	t.Helper()
	api = &storing{t: t, objects: map[string][]byte{
		"deployments":              []byte(worldtest.Deployment("web", 6, "")),
		"horizontalpodautoscalers": []byte(worldtest.Autoscaler("web", "web", 4, 9, "")),
	}}
	s = newScene(t, api)
	web = s.halve(t)
	hpa = s.world.Snapshot().Autoscalers(web)[0]
	return s, api, web, hpa
}

// bring delivers the API server's current object as the watch of a kind would.
func (s *scene) bring(t *testing.T, api *storing, ref workload.Ref) {
	t.Helper()
	k := s.world.Snapshot().InUse(ref.GroupKind)
	s.put(t, k, string(api.objects[k.Resource.Resource]))
}

// A Deployment was scaled to half, and wakes before its watch has delivered this write. The watch of its autoscaler
// was faster. The autoscaler keeps the bounds of the night until the watch of the Deployment delivers the write. The
// Deployment still has the count of the night and may have to wait for its batch.
func TestAutoscalerWaitsForTheWatchOfItsTarget(t *testing.T) {
	s, api, web, hpa := halved(t)
	for _, want := range []error{gate.ErrBehind, nil} { // the autoscaler is opened first
		if err := s.process(t.Context(), web); !errors.Is(err, want) {
			t.Fatal(err)
		}
		s.bring(t, api, hpa)
	}
	s.clock.SetTime(noon.Add(9 * time.Hour)) // the schedule is awake
	asWritten := len(api.writes)
	if err := s.process(t.Context(), hpa); err != gate.ErrBehind { //nolint:errorlint // this error itself, unwrapped
		t.Errorf("the autoscaler is written by what was before: %v", err)
	}
	s.bring(t, api, web)
	if err := s.process(t.Context(), hpa); err != nil {
		t.Error(err)
	}
	if extra := api.writes[asWritten:]; len(extra) > 0 {
		t.Errorf("%v are written while the Deployment has the count of the night", extra)
	}
	if err := s.process(t.Context(), web); err != nil {
		t.Error(err)
	}
	s.bring(t, api, web)
	s.bring(t, api, hpa)
	if err := s.process(t.Context(), hpa); err != nil {
		t.Error(err)
	}
	s.bring(t, api, hpa)
	for _, ref := range []workload.Ref{web, hpa} {
		if err := s.process(t.Context(), ref); err != nil {
			t.Error(err)
		}
	}
	for _, ref := range []workload.Ref{web, hpa} {
		if s.inflight.See(ref, s.world.Snapshot().Object(ref).ResourceVersion) {
			t.Errorf("a write of %s is remembered once it was seen", ref)
		}
	}
	for resource, want := range map[string]string{"deployments": `"replicas":6`, "horizontalpodautoscalers": `"minReplicas":4`} {
		if got := string(api.objects[resource]); !strings.Contains(got, want) || strings.Contains(got, "flyball.dev/ledger") {
			t.Errorf("in the end it is %s, want %s and no ledger", got, want)
		}
	}
}

// While a write of an autoscaler is in flight, its Deployment is not written, because the decision depends on the
// autoscaler's old state.
func TestTargetWaitsForAConcurrentWriteOfItsAutoscaler(t *testing.T) {
	s, api, web, hpa := halved(t)
	write := func(ref workload.Ref) *gate.Write {
		return &gate.Write{Ref: ref, Relatives: gate.RelativesOf(s.world.Snapshot(), ref),
			Verdict: &decide.Verdict{Object: &workload.Object{ResourceVersion: "7"}}}
	}
	relatives := &gate.Relatives{World: s.world, Inflight: s.inflight}
	enters := func(w *gate.Write) bool {
		s.inflight.Enter(t.Context(), w)
		if wait := relatives.Enter(t.Context(), w); wait != nil {
			s.inflight.Leave(w, gate.End{})
			return false
		}
		return true
	}
	first, second := write(hpa), write(web)
	if !enters(first) {
		t.Fatal("the first may not be written")
	}
	if enters(second) {
		t.Error("the second is written beside it")
	}
	s.inflight.Leave(first, gate.End{Outcome: apply.Failed})
	if !enters(second) {
		t.Error("the second is not written once the first has failed")
	}
	s.inflight.Leave(second, gate.End{Outcome: apply.Failed})
	api.objects["horizontalpodautoscalers"] = []byte(strings.Replace(worldtest.Autoscaler("web", "web", 5, 9, ""), `"resourceVersion":"7"`,
		`"resourceVersion":"8"`, 1))
	s.bring(t, api, hpa)
	if enters(second) {
		t.Error("it is written although its autoscaler has changed since")
	}
}

// put adds an object.
func (s *scene) put(t *testing.T, k *world.LiveKind, manifest string) {
	t.Helper()
	obj := worldtest.Project(t, k.Kind, manifest)
	k.Live.Objects.(*worldtest.Store).Put(obj)
	s.world.ObjectChanged(k.Live, nil, obj)
}
