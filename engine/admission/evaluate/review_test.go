package evaluate

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

// kindOf knows Deployments, and Racks, which are cluster-scoped.
func kindOf(gk schema.GroupKind) (Served, bool) {
	switch gk.Kind {
	case "Deployment":
		return Served{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespaced: true},
			true
	case "Rack":
		return Served{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "racks"}}, true
	}
	return Served{}, false
}

func TestInvalidReviewsAreRefused(t *testing.T) {
	const good = `{"apiVersion":"flyball.dev/v1alpha1","kind":"FreezeReview","spec":%s}`
	web := `"object":{"group":"apps","kind":"Deployment","namespace":"shop","name":"web"}`
	for _, test := range []struct{ body, want string }{
		{``, "read the FreezeReview: EOF"},
		{`[]`, "cannot unmarshal array"},
		{`{"spec":{}}`, `apiVersion and kind are "" and ""`},
		{`{"apiVersion":"flyball.dev/v1","kind":"FreezeReview"}`, `apiVersion and kind are "flyball.dev/v1"`},
		{strings.Replace(good, "%s", `{}`, 1) + `{}`, "there is more after it"},
		{strings.Replace(good, "%s", `{"actoin":"Scale"}`, 1), `unknown field "actoin"`},
		{strings.Replace(good, "%s", `{},"status":{"allowed":true,"target":"","actions":[],"user":{"name":""},"at":"2037-01-01T00:00:00Z"}`, 1),
			"status: must be empty in a request"},
		{strings.Replace(good, "%s", `{}`, 1), "give exactly one of object and manifest"},
		{strings.Replace(good, "%s", `{`+web+`,"manifest":{}}`, 1), "give exactly one of object and manifest"},
		{strings.Replace(good, "%s", `{"manifest":{},"action":"Scale"}`, 1), "spec.action: goes with object"},
		{strings.Replace(good, "%s", `{"manifest":"kind: Deployment"}`, 1), "spec.manifest: must be an object"},
		{strings.Replace(good, "%s", `{"manifest":null,"object":null}`, 1), "spec.manifest: must be an object"},
		{strings.Replace(good, "%s", `{"object":{"name":"web"},"action":"Scale"}`, 1), "spec.object.kind: required"},
		{strings.Replace(good, "%s", `{"object":{"kind":"Deployment"},"action":"Scale"}`, 1), "spec.object.name: required"},
		{strings.Replace(good, "%s", `{`+web+`}`, 1), "spec.action: required with object"},
		{strings.Replace(good, "%s", `{`+web+`,"action":"Scale","groups":["a"]}`, 1), "spec.groups: needs spec.user"},
		{strings.Replace(good, "%s", `{`+web+`,"action":"Scale","user":"a","groups":["`+strings.Repeat(`a","`, 32)+`a"]}`, 1),
			"there are 33, more than 32"},
		{strings.Replace(good, "%s", `{`+web+`,"action":"Scale","at":"20:00"}`, 1), `parsing time "20:00"`},
		{strings.Replace(good, "%s", `{`+web+`,"action":"roll-out"}`, 1), `"roll-out" is no action; did you mean rollout?`},
		{strings.Replace(good, "%s", `{"object":{"kind":"deployment","name":"web"},"action":"Scale"}`, 1),
			"there is no adapter for the kind deployment"},
		{strings.Replace(good, "%s", `{"object":{"group":"apps","kind":"Deployment","name":"web"},"action":"Scale"}`, 1),
			"Deployment.apps/web needs a namespace"},
		{strings.Replace(good, "%s", `{"object":{"group":"example.com","kind":"Rack","namespace":"shop","name":"a"},"action":"Scale"}`, 1),
			"is cluster-scoped"},
		{strings.Replace(good, "%s", `{"manifest":{"kind":"Deployment"}}`, 1), "a manifest has an apiVersion and a kind"},
		{strings.Replace(good, "%s", `{"manifest":{"apiVersion":"v1","kind":"List","items":[]}}`, 1), "spec.manifest: is a list"},
		{strings.Replace(good, "%s", `{"manifest":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}}`, 1),
			"needs a namespace"},
	} {
		r, err := decode([]byte(test.body))
		if err == nil {
			_, err = r.Spec.question(kindOf)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.body, err, test.want)
		}
	}
}

func TestReviewsBecomeRequests(t *testing.T) {
	for _, test := range []struct{ spec, want string }{
		{`{"object":{"group":"apps","kind":"Deployment","namespace":"shop","name":"web"},"action":"Scale"}`, "Deployment.apps/shop/web"},
		{`{"object":{"group":"apps","kind":"Deployment","namespace":"shop","name":"web"},"action":"rollout"}`, "Deployment.apps/shop/web"},
		{`{"object":{"group":"example.com","kind":"Rack","name":"a"},"action":"Delete"}`, "Rack.example.com/a"},
		{`{"manifest":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"}}}`, "Deployment.apps/shop/web"},
		{`{"manifest":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"web"}}}`, "ConfigMap/shop/web"},
	} {
		r, err := decode([]byte(`{"apiVersion":"flyball.dev/v1alpha1","kind":"FreezeReview","spec":` + test.spec + `}`))
		if err != nil {
			t.Fatal(err)
		}
		q, err := r.Spec.question(kindOf)
		if err != nil || q.Target.String() != test.want || (q.Action == 0) != (q.Manifest != nil) {
			t.Errorf("%s: %v, %v", test.spec, q, err)
		}
	}
}

// TestImpersonationByHeader proves that such requests are refused, because the verdict would be on the caller and not
// on the impersonated user.
func TestImpersonationByHeader(t *testing.T) {
	for _, name := range []string{"Impersonate-User", "impersonate-group", "Impersonate-Extra-Scopes"} {
		req := httptest.NewRequest(http.MethodPost, Path, strings.NewReader("{}"))
		req.Header.Set(name, "alice")
		answer := httptest.NewRecorder()
		New(Options{Pace: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}).ServeHTTP(answer, req)
		if body := answer.Body.String(); answer.Code != http.StatusBadRequest || !strings.Contains(body, http.CanonicalHeaderKey(name)) ||
			!strings.Contains(body, "spec.user") {
			t.Errorf("%s: %d %s", name, answer.Code, body)
		}
	}
}

// The time of the next allowed change has the same field name as in the output of the command line.
func TestAnswerHasFieldsOfCommandLine(t *testing.T) {
	at := time.Date(2037, 5, 11, 8, 0, 0, 0, time.UTC)
	text, err := json.Marshal(Review{APIVersion: "flyball.dev/v1alpha1", Kind: Kind,
		Status: &Answer{Target: "Deployment.apps/shop/web", Actions: []string{"Scale"}, At: at, NextAllowed: at}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"apiVersion":"flyball.dev/v1alpha1","kind":"FreezeReview","spec":{},"status":{"allowed":false,"target":"Deployment.apps/shop/web","actions":["Scale"],"user":{"name":""},"at":"2037-05-11T08:00:00Z","nextAllowed":"2037-05-11T08:00:00Z"}}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("golden (-) and answer (+):\n%s", diff)
	}
}
