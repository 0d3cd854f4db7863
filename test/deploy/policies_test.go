package deploy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/engine/admission/register"
)

// TestAdmissionPoliciesAreTheManagers compares the chart's admission policies with those that a manager outside the
// cluster creates.
func TestAdmissionPoliciesAreTheManagers(t *testing.T) {
	all := render(t)
	read := func(obj *unstructured.Unstructured, into any) {
		t.Helper()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, into, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range register.AdmissionPolicies() {
		var policy admissionregistrationv1.ValidatingAdmissionPolicy
		var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
		read(find(t, all, "ValidatingAdmissionPolicy", want.Policy.Name), &policy)
		read(find(t, all, "ValidatingAdmissionPolicyBinding", want.Binding.Name), &binding)
		if diff := cmp.Diff(want.Policy.Spec, policy.Spec); diff != "" {
			t.Errorf("the policy %s (-manager +chart):\n%s", policy.Name, diff)
		}
		if diff := cmp.Diff(want.Binding.Spec, binding.Spec); diff != "" {
			t.Errorf("the binding %s (-manager +chart):\n%s", binding.Name, diff)
		}
	}
}
