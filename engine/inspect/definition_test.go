package inspect_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/inspect"
)

// define creates a CustomResourceDefinition of widgets in a group. change edits it before.
func define(t *testing.T, group string, change func(*apiextensionsv1.CustomResourceDefinition)) string {
	t.Helper()
	crd := readCRD(t, group)
	change(crd)
	install(t, crd)
	return crd.Name
}

func TestServeDefined(t *testing.T) {
	var (
		served   = define(t, "defined.example.com", func(*apiextensionsv1.CustomResourceDefinition) {})
		unserved = define(t, "unserved.example.com", func(crd *apiextensionsv1.CustomResourceDefinition) {
			for i := range crd.Spec.Versions {
				crd.Spec.Versions[i].Served = false
			}
		})
		second = readCRD(t, "defined.example.com")
	)
	second.Name = "gadgets.defined.example.com"
	second.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget",
		ListKind: "WidgetList"}
	if _, err := crds(t).Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = crds(t).Delete(t.Context(), second.Name, metav1.DeleteOptions{}) })
	inspector := newInspector(t, api.Config())
	for _, tt := range []struct {
		reason                  string
		definition, group, kind string
		want                    inspect.Absence
		message                 string
	}{
		{"served", served, "defined.example.com", "Widget", "", "defined.example.com/v1 serves Widget as widgets"},
		{"no version of it is served", unserved, "unserved.example.com", "Widget", inspect.NothingServed,
			"widgets.unserved.example.com serves no version: set served: true"},
		{"its kind has another name", served, "defined.example.com", "Widgets", inspect.KindNotServed,
			"widgets.defined.example.com are of the kind Widget, not Widgets"},
		{"its names are taken", second.Name, "defined.example.com", "Gadget", inspect.NothingServed,
			"gadgets.defined.example.com is not established: \"WidgetList\" is already in use"},
		{"the definition is of another group", served, "nothing.example.com", "Widget", inspect.GroupNotServed, "install Widget first"},
		{"no definition", "gizmos.defined.example.com", "defined.example.com", "Gizmo", inspect.KindNotServed, "without the kind Gizmo"},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := inspector.ServeDefined(t.Context(), tt.definition, tt.group, tt.kind, []string{"v1"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Absence); diff != "" || !strings.Contains(got.Message, tt.message) {
				t.Errorf("ServeDefined says %q: %s", got.Message, diff)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A starting API server answers about defined kinds as if they did not exist.
func TestHiddenKinds(t *testing.T) {
	name := define(t, "hidden.example.com", func(*apiextensionsv1.CustomResourceDefinition) {})
	forbidden := false
	config := rest.CopyConfig(api.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			code, body := http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
			if strings.HasPrefix(r.URL.Path, "/apis/apiextensions.k8s.io/") && forbidden {
				code, body = http.StatusForbidden,
					`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "you may not"}`
			} else if !strings.HasPrefix(r.URL.Path, "/apis/hidden.example.com") {
				return next.RoundTrip(r)
			}
			return &http.Response{StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body))}, nil
		})
	})
	inspector := newInspector(t, config)
	if got, err := inspector.ServeDefined(t.Context(), name, "hidden.example.com", "Widget", []string{"v1"}); !errors.Is(err,
		inspect.ErrHidden) {
		t.Errorf("ServeDefined: %+v, %v", got, err)
	}
	forbidden = true
	got, err := inspector.ServeDefined(t.Context(), name, "hidden.example.com", "Widget", []string{"v1"})
	if err == nil || errors.Is(err, inspect.ErrHidden) || !strings.Contains(err.Error(), "you may not") {
		t.Errorf("where definitions may not be listed, ServeDefined says %+v, %v", got, err)
	}
}
