package apply

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOtherManager(t *testing.T) {
	entry := func(manager, fields string, minute int) metav1.ManagedFieldsEntry {
		f := metav1.FieldsV1{}
		if err := f.UnmarshalJSON([]byte(fields)); err != nil {
			t.Fatal(err)
		}
		at := metav1.NewTime(time.Date(2026, 3, 2, 12, minute, 0, 0, time.UTC))
		return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: &f, Time: &at}
	}
	replicas := `{"f:spec":{"f:replicas":{}}}`
	tests := []struct {
		reason   string
		entries  []metav1.ManagedFieldsEntry
		pointers []string
		want     string
	}{
		{"nobody", nil, []string{"/spec/replicas"}, "nobody"},
		{"never Flyball itself", []metav1.ManagedFieldsEntry{entry(FieldManager, replicas, 0)}, []string{"/spec/replicas"}, "nobody"},
		{"who owns the field", []metav1.ManagedFieldsEntry{entry("kubectl", `{"f:spec":{"f:paused":{}}}`, 2), entry("argocd", replicas, 1)},
			[]string{"/spec/replicas"}, "argocd"},
		{"the latest of two", []metav1.ManagedFieldsEntry{entry("argocd", replicas, 1), entry("helm", replicas, 3), entry("old", replicas, 0)},
			[]string{"/spec/replicas"}, "helm"},
		{"any of the fields", []metav1.ManagedFieldsEntry{entry("argocd", replicas, 1)}, []string{"/spec/paused", "/spec/replicas"}, "argocd"},
		{"an annotation with a slash", []metav1.ManagedFieldsEntry{entry("argocd", `{"f:metadata":{"f:annotations":{"f:example.com/a":{}}}}`, 1)},
			[]string{"/metadata/annotations/example.com~1a"}, "argocd"},
		{"who owns the whole of what the field is in", []metav1.ManagedFieldsEntry{entry("argocd", `{"f:spec":{"f:strategy":{}}}`, 1)},
			[]string{"/spec/strategy/type"}, "argocd"},
		{"not who only owns a sibling", []metav1.ManagedFieldsEntry{entry("argocd", `{"f:spec":{".":{},"f:strategy":{"f:type":{}}}}`, 1)},
			[]string{"/spec/replicas"}, "nobody"},
		{"elements of a list are keyed", []metav1.ManagedFieldsEntry{entry("argocd", `{"f:spec":{"f:nodeSets":{"k:{\"name\":\"a\"}":{}}}}`, 1)},
			[]string{"/spec/nodeSets/0/count"}, "argocd"},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			if got := otherManager(tc.entries, tc.pointers, "nobody"); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
