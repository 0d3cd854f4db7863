package target

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/engine/world/worldtest"
)

// TestAnAutoscalerIsOpenedFirst: a Deployment that goes below the minimum of its autoscaler is written once that is lower, and not if that cannot
// be. Its place in the batch is free again then.
func TestAnAutoscalerIsOpenedFirst(t *testing.T) {
	for _, tc := range []struct {
		answer  int
		err     error
		written []string
		status  string
	}{
		{http.StatusOK, nil, []string{"horizontalpodautoscalers", "deployments"}, ""},
		{http.StatusForbidden, errQueued, []string{"horizontalpodautoscalers"}, "open HorizontalPodAutoscaler.autoscaling/shop/web to the new count"},
		{http.StatusConflict, errBehind, []string{"horizontalpodautoscalers"}, ""},
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
			k := worldtest.Kind(t, worldtest.Autoscalers)
			governing := &world.Kind{Kind: k, Live: world.NewLive(k.Adapter)}
			objects := &worldtest.Store{}
			governing.Live.Objects = objects
			hpa, web := worldtest.Project(t, k, worldtest.Autoscaler("web", "web", 4, 9, "")), worldtest.Project(t, s.kind.Kind, worldtest.Deployment("web", 6, ""))
			objects.Put(hpa)
			governing.Live.Change(nil, hpa)
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

			ref := s.kind.Ref(web)
			if err := s.process(t.Context(), ref); err != tc.err { //nolint:errorlint // the very one
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
			s.refused.Forget(ref)
			if err := s.process(t.Context(), ref); err != nil || len(written) != 2 {
				t.Errorf("once it can be opened, %v are written: %v", written, err)
			}
		})
	}
}
