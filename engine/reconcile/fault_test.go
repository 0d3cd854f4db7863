package reconcile

import (
	"context"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

// writes is an API server that accepts every write, answers with the written annotations, and sends a text for each
// write.
type writes chan string

func (c writes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	name := path.Base(r.URL.Path)
	kept := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}}
	if err := json.NewDecoder(r.Body).Decode(&kept); err != nil {
		panic(err)
	}
	kept.Name, kept.ResourceVersion = name, "8"
	if err := json.NewEncoder(w).Encode(&kept); err != nil {
		panic(err)
	}
	c <- name
}

// A policy panics for one of two targets.
func TestAPanicAffectsOnlyItsTarget(t *testing.T) {
	through := make(writes, 10)
	s := newScene(t, through)
	for i := range 2 {
		s.objects.Put(worldtest.Project(t, s.kind.Kind, worldtest.Deployment(webs(i).Name, 3, "")))
	}
	days := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "days"}
	s.add(t, kindThat(t, func(p *policy.Policy) {
		p.Pipeline = append(pipeline.Pipeline{{Name: "fault", Run: func(f *pipeline.Frame) error {
			if f.Input.Target.Ref == webs(0) {
				panic("a stone in the works")
			}
			return nil
		}}}, p.Pipeline...)
	}), nights)
	s.add(t, kindThat(t, func(*policy.Policy) {}), days, "nothing")

	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	if name := <-through; name != webs(1).Name {
		t.Errorf("%s was written, want the other target", name)
	}
	eventually(t, "the fault is not counted", func() bool { return s.metric(t, "flyball_panics_total")[""] > 0 })
	stop()
	<-over

	got := s.look(t, nights)
	if got.Targets.Failed != 1 || len(got.Failures) != 1 {
		t.Fatalf("the status counts %+v, and names %v", got.Targets, got.Failures)
	}
	if f := got.Failures[0]; f.Name != webs(0).Name || !strings.Contains(f.Message, "a stone in the works") {
		t.Errorf("the status names %+v", f)
	}
	if other := s.look(t, days); other.Targets.Failed != 0 || len(other.Failures) != 0 {
		t.Errorf("a policy that does not select the target counts %+v", other.Targets)
	}
	if len(through) != 0 {
		t.Errorf("%s was written as well", <-through)
	}
}
