package resize_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/workload"
)

// wants is a Wants with a result for the pods of one owner.
type wants struct {
	owner  string
	want   podsize.NewPod
	result resize.Result
	room   podsize.Room
}

func (w wants) Room(namespace string) podsize.Room {
	if namespace == "shop" {
		return w.room
	}
	return podsize.Room{}
}

func (w wants) Want(_ context.Context, owner workload.Ref, uid string) (podsize.NewPod, resize.Result) {
	if owner.String() != w.owner || uid != "u-2" {
		return podsize.NewPod{}, resize.Untuned
	}
	return w.want, w.result
}

const owned = `"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Other","name":"a"},` +
	`{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u-2","controller":true}]}`

func review(operation, object, more string) string {
	return fmt.Sprintf(
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1",
"resource":{"group":"","version":"v1","resource":"pods"},
	 "namespace":"shop","operation":%q,"object":%s%s}}`, operation, object, more)
}

func TestNewPodsGetTheirTunedRequests(t *testing.T) {
	pod := func(cpu string) string {
		return `{` + owned + `,"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"` + cpu + `"}}}]}}`
	}
	tuned := wants{"ReplicaSet.apps/shop/web-1", podsize.NewPod{Policy: "p", Containers: []podsize.NewContainer{{Name: "main", CPU: 400}}},
		resize.Tuned, podsize.Room{}}
	with := func(result resize.Result) wants { w := tuned; w.result = result; return w }
	roomFor := func(cpu string) wants {
		w := tuned
		w.room.Quotas = []podsize.Quota{{Name: "share", Left: corev1.ResourceList{corev1.ResourceRequestsCPU: resource.MustParse(cpu)}}}
		return w
	}
	withVariables := roomFor("399m")
	withVariables.want.GoMaxProcs = true
	for _, test := range []struct {
		reason, body string
		wants        wants
		result       resize.Result // empty: nothing is noted
		patched      bool
		code         int
	}{
		{"a pod of what is tuned", review("CREATE", pod("1"), ""), tuned, resize.Tuned, true, 200},
		{"a dry run is answered alike, and not counted", review("CREATE", pod("1"), `,"dryRun":true`), tuned, "", true, 200},
		{"a pod that has it", review("CREATE", pod("400m"), ""), tuned, resize.Right, false, 200},
		{"a pod that a quota has room for", review("CREATE", pod("1"), ""), roomFor("400m"), resize.Tuned, true, 200},
		{"a pod that a quota would refuse", review("CREATE", pod("1"), ""), roomFor("399m"), resize.Unfit, false, 200},
		{"its variables are no matter of quotas", review("CREATE", pod("1"), ""), withVariables, resize.Unfit, true, 200},
		{"a pod that its room cannot be told of", review("CREATE",
			strings.Replace(pod("1"), `"name":"main"`, `"name":"main","restartPolicy":7`, 1), ""), roomFor("1"), resize.Unreadable, false, 200},
		{"a pod of something else", review("CREATE", strings.Replace(pod("1"), "web-1", "web-2", 1), ""), tuned, resize.Untuned, false, 200},
		{"a pod of nothing", review("CREATE", `{"metadata":{},"spec":{}}`, ""), tuned, resize.Untuned, false, 200},
		{"an owner that is not known yet", review("CREATE", pod("1"), ""), with(resize.Unknown), resize.Unknown, false, 200},
		{"a pod that cannot be read", review("CREATE", pod("many"), ""), tuned, resize.Unreadable, false, 200},
		{"an update", review("UPDATE", pod("1"), ""), tuned, resize.Unreadable, false, 200},
		{"a subresource", review("CREATE", pod("1"), `,"subResource":"binding"`), tuned, resize.Unreadable, false, 200},
		{"no pod", review("CREATE", `null`, ""), tuned, resize.Unreadable, false, 200},
		{"no JSON", `{"request":{"uid":"u-1"`, tuned, resize.Unreadable, false, http.StatusBadRequest},
		{"no review", `{}`, tuned, resize.Unreadable, false, http.StatusBadRequest},
		{"nested without end", strings.Repeat(`[`, 5000), tuned, resize.Unreadable, false, http.StatusBadRequest},
	} {
		var noted resize.Result
		h := &resize.Handler{Wants: test.wants, Note: func(r resize.Result) { noted += r }, Log: logr.Discard()}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/pods", strings.NewReader(test.body)))
		if noted != test.result || w.Code != test.code {
			t.Errorf("%s: noted %q, answered with %d", test.reason, noted, w.Code)
		}
		if test.code != http.StatusOK {
			continue
		}
		var answer admissionv1.AdmissionReview
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if r := answer.Response; !r.Allowed || r.UID != "u-1" || len(r.Patch) > 0 != test.patched || (r.PatchType != nil) != test.patched {
			t.Errorf("%s: %s", test.reason, w.Body)
		}
	}
}
