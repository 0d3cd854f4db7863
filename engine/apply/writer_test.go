package apply_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/workload"
)

// answers is an API server with one prepared answer for each write, in order.
type answers struct {
	mu    sync.Mutex
	next  []answer
	paths []string
}

// answer is the version of the object after a write, with its annotations, or the status of a refusal.
type answer struct {
	version     string
	annotations map[string]string
	refusal     *metav1.Status
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paths = append(a.paths, strings.TrimPrefix(r.URL.Path, "/apis/apps/v1/namespaces/shop/deployments/"))
	if len(a.next) == 0 {
		http.Error(w, "no further write is expected", http.StatusTeapot)
		return
	}
	next := a.next[0]
	a.next = a.next[1:]
	var body any = &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: next.version, Annotations: next.annotations},
	}
	w.Header().Set("Content-Type", "application/json")
	if next.refusal != nil {
		body = next.refusal
		w.WriteHeader(int(next.refusal.Code))
	}
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

func refusal(code int32, reason metav1.StatusReason, message string) answer {
	return answer{refusal: &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

func TestWriterReportsTheOutcomeOfAWrite(t *testing.T) {
	merge := func(next *workload.Patch) *workload.Patch {
		return &workload.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"replicas":0}}`), Next: next}
	}
	scale := &workload.Patch{Type: types.MergePatchType, Body: []byte(`{"spec":{"replicas":0}}`), Subresource: "scale"}
	keeps := func(value string, p *workload.Patch) *workload.Patch {
		p.Keeps = &workload.Kept{Key: "note", Value: value}
		return p
	}
	tests := []struct {
		reason string
		patch  *workload.Patch
		next   []answer
		want   apply.Outcome
		paths  string
	}{
		{"another version: it is through", merge(nil), []answer{{version: "8"}}, apply.Applied, "web"},
		{"the version that was read: something undid it", merge(nil), []answer{{version: "7"}}, apply.Unchanged, "web"},
		{"the annotation is there", keeps("a", merge(nil)), []answer{{version: "8", annotations: map[string]string{"note": "a"}}}, apply.Applied,
			"web"},
		{"the annotation is gone", keeps("", merge(nil)), []answer{{version: "8"}}, apply.Applied, "web"},
		{"another version, but the annotation was dropped", keeps("a", merge(nil)), []answer{{version: "8"}}, apply.Unchanged, "web"},
		{"another version, but the annotation was put back", keeps("", merge(nil)),
			[]answer{{version: "8", annotations: map[string]string{"note": "a"}}}, apply.Unchanged, "web"},
		{"the annotation was dropped: nothing follows", keeps("a", merge(scale)), []answer{{version: "8"}}, apply.Unchanged, "web"},
		{"two writes, both through", merge(scale), []answer{{version: "8"}, {version: "9"}}, apply.Applied, "web web/scale"},
		{"two writes, the second changes nothing more than the first", merge(scale), []answer{{version: "8"}, {version: "8"}}, apply.Applied,
			"web web/scale"},
		{"two writes, neither changes anything", merge(scale), []answer{{version: "7"}, {version: "7"}}, apply.Unchanged, "web web/scale"},
		{"two writes, the first is refused", merge(scale), []answer{refusal(403, metav1.StatusReasonForbidden, "no")}, apply.Refused, "web"},
		{"two writes, the second is stale", merge(scale), []answer{{version: "8"}, refusal(409, metav1.StatusReasonConflict, "changed")},
			apply.Stale, "web web/scale"},
		{"the object is gone", merge(nil), []answer{refusal(404, metav1.StatusReasonNotFound, "none")}, apply.Gone, "web"},
		{"a value is invalid", merge(nil), []answer{refusal(422, metav1.StatusReasonInvalid, "no such size")}, apply.Refused, "web"},
		{"a server that is not well", merge(nil), []answer{refusal(500, metav1.StatusReasonInternalError, "etcd")}, apply.Failed, "web"},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			api := &answers{next: tc.next}
			server := httptest.NewServer(api)
			defer server.Close()
			w, err := apply.NewWriter(&rest.Config{Host: server.URL}, nil, logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			obj := &workload.Object{Namespace: "shop", Name: "web", ResourceVersion: "7"}
			got, err := w.Apply(t.Context(), schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, obj, tc.patch)
			if got != tc.want {
				t.Errorf("the outcome is %s, want %s (%v)", got, tc.want, err)
			}
			if through := got == apply.Applied || got == apply.Unchanged; through != (err == nil) {
				t.Errorf("%s comes with the error %v", got, err)
			}
			if paths := fmt.Sprint(api.paths); paths != "["+tc.paths+"]" {
				t.Errorf("written: %s, want [%s]", paths, tc.paths)
			}
		})
	}
}
