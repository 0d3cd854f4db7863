package inspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"flyball.dev/flyball/engine/inspect"
)

func TestServedVersionIsFound(t *testing.T) {
	install(t, readCRD(t, "serve.example.com"))
	tests := []struct {
		reason      string
		group, kind string
		versions    []string
		want        inspect.Served
	}{
		{
			reason: "a built-in kind with subresources",
			group:  "apps", kind: "Deployment", versions: []string{"v1"},
			want: inspect.Served{
				Found: true, GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
				GVR:      schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
				HasScale: true,
				Message:  "apps/v1 serves Deployment as deployments, with /scale",
			},
		},
		{
			reason: "the core group; a cluster-scoped kind",
			group:  "", kind: "Node", versions: []string{"v1"},
			want: inspect.Served{
				Found: true, GVK: schema.GroupVersionKind{Version: "v1", Kind: "Node"},
				GVR:     schema.GroupVersionResource{Version: "v1", Resource: "nodes"},
				Message: "v1 serves Node as nodes",
			},
		},
		{
			reason: "the first served version wins, and what it lacks is not borrowed from another",
			group:  "serve.example.com", kind: "Widget", versions: []string{"v2", "v1beta1", "v1"},
			want: inspect.Served{
				Found: true, GVK: schema.GroupVersionKind{Group: "serve.example.com", Version: "v1beta1", Kind: "Widget"},
				GVR:     schema.GroupVersionResource{Group: "serve.example.com", Version: "v1beta1", Resource: "widgets"},
				Message: "serve.example.com/v1beta1 serves Widget as widgets",
			},
		},
		{
			reason: "served, but not in the version asked for",
			group:  "serve.example.com", kind: "Widget", versions: []string{"v2"},
			want: inspect.Served{
				GVR:     schema.GroupVersionResource{Group: "serve.example.com", Resource: "widgets"},
				Absence: inspect.VersionNotServed,
				Message: "Widget.serve.example.com is served as v1, v1beta1, not as v2: add a served version to spec.target.versions",
			},
		},
		{
			reason: "the group is there, the kind is not",
			group:  "apps", kind: "Deploymint", versions: []string{"v1"},
			want: inspect.Served{
				Absence: inspect.KindNotServed,
				Message: "the group apps is served, but without the kind Deploymint: install it first",
			},
		},
		{
			reason: "nothing of the group is there",
			group:  "argoproj.io", kind: "Rollout", versions: []string{"v1alpha1"},
			want: inspect.Served{
				Absence: inspect.GroupNotServed,
				Message: "the API server does not serve the group argoproj.io: install Rollout first",
			},
		},
		{
			reason: "a subresource's kind is not a kind of the group",
			group:  "apps", kind: "Scale", versions: []string{"v1"},
			want: inspect.Served{
				Absence: inspect.KindNotServed,
				Message: "the group apps is served, but without the kind Scale: install it first",
			},
		},
	}
	inspector := newInspector(t, api.Config())
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := inspector.Serve(t.Context(), tt.group, tt.kind, tt.versions)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Serve (-want +got):\n%s", diff)
			}
		})
	}
}

// An aggregated API with a broken server must not prevent the inspection of others.
func TestABrokenAPIServiceDoesNotAffectOtherGroups(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(api.Config())
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "nobody", Namespace: "default"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	services := dynamic.NewForConfigOrDie(api.Config()).Resource(schema.GroupVersionResource{
		Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices",
	})
	broken := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1.broken.example.com"},
		"spec": map[string]any{
			"group": "broken.example.com", "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(10),
			"insecureSkipTLSVerify": true, "service": map[string]any{"name": "nobody", "namespace": "default"},
		},
	}}
	if _, err := services.Create(t.Context(), broken, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := services.Delete(t.Context(), broken.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}()
	inspector := newInspector(t, api.Config())
	eventually(t, "the broken API refuses discovery", func() error {
		_, err := inspector.Serve(t.Context(), "broken.example.com", "Thing", []string{"v1"})
		if err == nil {
			return errNotYet
		}
		return nil
	})
	served, err := inspector.Serve(t.Context(), "apps", "Deployment", []string{"v1"})
	if err != nil || !served.Found {
		t.Fatalf("Serve beside a broken API: %+v, %v", served, err)
	}
	report, err := inspector.MatchSchema(t.Context(), served.GVK, deploymentUses(t))
	if err != nil || !report.Matched() {
		t.Fatalf("MatchSchema beside a broken API: %+v, %v", report, err)
	}
}

func TestResourceOfAKindIsFound(t *testing.T) {
	install(t, readCRD(t, "resource.example.com"))
	inspector := newInspector(t, api.Config())
	for kind, want := range map[schema.GroupKind]string{
		{Group: "apps", Kind: "StatefulSet"}:            "statefulsets",
		{Kind: "Pod"}:                                   "pods",
		{Group: "resource.example.com", Kind: "Widget"}: "widgets",
		{Group: "resource.example.com", Kind: "Gadget"}: "",
		{Group: "absent.example.com", Kind: "Widget"}:   "",
	} {
		got, err := inspector.Resource(t.Context(), kind)
		if err != nil || got != want {
			t.Errorf("Resource(%s) = %q, %v; want %q", kind, got, err, want)
		}
	}
}
