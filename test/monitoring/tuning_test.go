package monitoring

import (
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
)

const tunedDays = 4

// tune applies the tuned workloads. The Deployment with the autoscaler already has four days of learnt daily load.
func (s *scene) tune() {
	text, err := os.ReadFile("tuning.yaml")
	s.must(err)
	all, err := harness.Objects(text)
	s.must(err)
	for _, obj := range all {
		if obj.GetName() == "tuned" {
			s.remember(obj)
		}
		s.must(s.env.Client.Create(s.Context(), obj))
	}
}

// remember creates the usage checkpoint of a future Tortoise.
func (s *scene) remember(policy *unstructured.Unstructured) {
	var t v1alpha1.Tortoise
	s.must(runtime.DefaultUnstructuredConverter.FromUnstructured(policy.Object, &t))
	var look appsv1.Deployment
	s.must(s.env.Client.Get(s.Context(), client.ObjectKey{Namespace: "studio", Name: "look"}, &look))
	s.must(s.env.Client.Create(s.Context(), &v1alpha1.UsageCheckpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: "studio", Name: "deployment.apps-look"},
		Spec: v1alpha1.UsageCheckpointSpec{
			Target: v1alpha1.TunedTarget{Group: "apps", Kind: "Deployment", Name: "look"}, Policy: "Tortoise/studio/tuned",
			TargetUID: string(look.UID), Data: base64.StdEncoding.EncodeToString(s.learnt(&t)),
		},
	}))
}

// learnt returns the learnt usage of a Tortoise.
func (s *scene) learnt(t *v1alpha1.Tortoise) []byte {
	compiled, errs := tortoise.Compile(t, tortoise.Context{})
	if len(errs) > 0 {
		s.Fatal(errs)
	}
	learner, err := compiled.Tuner.NewLearner(nil)
	s.must(err)
	now := s.clock.Now()
	for at := now.Add(-tunedDays * 24 * time.Hour); at.Before(now); at = at.Add(2 * time.Minute) {
		day := 2 * math.Pi * float64(at.Hour()*60+at.Minute()) / (24 * 60)
		learner.Observe(workload.Sample{At: at, Container: "main", CPU: 200 - 100*math.Cos(day), Memory: 100 << 20, Replicas: 5})
	}
	return learner.Keep()
}

// tuned compares Prometheus with the objects.
func (s *scene) tuned(t *testing.T) {
	// The first recommendation may be of less than what the next one knows, so both sides are read again.
	recommended := func(expression string, of func(*v1alpha1.RecommendationStatus) float64) {
		t.Helper()
		eventually(t, func() error {
			var r v1alpha1.Recommendation
			if err := s.env.Client.Get(t.Context(), client.ObjectKey{Namespace: "studio", Name: "deployment.apps-look"}, &r); err != nil {
				return err
			}
			if len(r.Status.Containers) == 0 || r.Status.Autoscaler == nil {
				return fmt.Errorf("the recommendation is incomplete: %+v", r.Status)
			}
			got, err := s.prometheus.query(t.Context(), expression)
			if want := of(&r.Status); err == nil && (len(got) != 1 || got[0] != want) {
				err = fmt.Errorf("%s is %v, want %g", expression, got, want)
			}
			return err
		})
	}
	is := func(expression string, want float64) { t.Helper(); s.prometheus.is(t, expression, want) }
	const look = `kind="Deployment.apps",target_namespace="studio",name="look"`
	is(fmt.Sprintf(`flyball_tuned_request{%s,component="main",resource="memory",of="owner"}`, look), 1<<30)
	for _, of := range []string{"actual", "proposed", "applied"} {
		recommended(fmt.Sprintf(`flyball_tuned_request{%s,component="main",resource="memory",of=%q}`, look, of),
			func(s *v1alpha1.RecommendationStatus) float64 {
				return s.Containers[0].Memory.Recommended.AsApproximateFloat64()
			})
		recommended(fmt.Sprintf(`flyball_tuned_autoscaler{%s,number="min",of=%q}`, look, of),
			func(s *v1alpha1.RecommendationStatus) float64 { return float64(s.Autoscaler.Min.Recommended) })
	}
	is(fmt.Sprintf(`flyball_tuned_autoscaler{%s,number="utilisation",of="owner"}`, look), 50)
	is(`flyball_tuned_targets{policy="studio/held",phase="Emergency"}`, 1)
	is(`flyball_usage_readable{source="Metrics"}`, 1)
	is(`count(flyball_usage_readable)`, 1) // no other source is in use
}
