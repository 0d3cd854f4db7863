package deploy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/engine/admit/registration"
)

// TestLedgerPolicyIsTheManagers compares the guard of the ledger that the chart installs with the one that a manager outside the
// cluster makes.
func TestLedgerPolicyIsTheManagers(t *testing.T) {
	all := render(t)
	policy, binding := registration.LedgerPolicy()
	var livePolicy admissionregistrationv1.ValidatingAdmissionPolicy
	var liveBinding admissionregistrationv1.ValidatingAdmissionPolicyBinding
	read := func(obj *unstructured.Unstructured, into any) {
		t.Helper()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, into, true); err != nil {
			t.Fatal(err)
		}
	}
	read(find(t, all, "ValidatingAdmissionPolicy", registration.LedgerPolicyName), &livePolicy)
	read(find(t, all, "ValidatingAdmissionPolicyBinding", registration.LedgerPolicyName), &liveBinding)
	if diff := cmp.Diff(policy.Spec, livePolicy.Spec); diff != "" {
		t.Errorf("the policy (-manager +chart):\n%s", diff)
	}
	if diff := cmp.Diff(binding.Spec, liveBinding.Spec); diff != "" {
		t.Errorf("the binding (-manager +chart):\n%s", diff)
	}
}
