package admission_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"flyball.dev/flyball/engine/admission/register"
)

// A user with rights on the status only cannot change an object's ledger through it, even without any freeze. Other
// status updates pass, and a user with rights on the object may change its ledger.
func TestLedgerIsGuarded(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(api.Config())
	if err := bind(t.Context(), clients, "reporters", []string{"reporters"}, rbacv1.PolicyRule{
		APIGroups: []string{"apps"}, Resources: []string{"deployments/status"}, Verbs: []string{"patch", "update"},
	}); err != nil {
		t.Fatal(err)
	}
	frozenDeployment(t)
	name, deployments := objectName(t), clients.AppsV1().Deployments("default")
	patch := func(who *kubernetes.Clientset, body string, subresources ...string) error {
		_, err := who.AppsV1().Deployments("default").Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{},
			subresources...)
		return err
	}
	const ledger = `{"metadata":{"annotations":{"flyball.dev/ledger":"{\"of\":\"Deployment/%s\"}"}}}`
	reporter := kubernetes.NewForConfigOrDie(api.Impersonate("reporter", "reporters"))
	opts := options(t, adapters(t))
	opts.Policies = true
	start(t, opts)
	refused := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), register.LedgerPolicyName)
	}
	const empty = `{"metadata":{"annotations":{"flyball.dev/ledger":""}}}`
	tries := 0
	eventually(t, "a ledger cannot be made by a status", func() error {
		tries++
		if err := patch(reporter, fmt.Sprintf(ledger, fmt.Sprint(tries)), "status"); !refused(err) {
			return fmt.Errorf("not refused: %w", err)
		}
		return nil
	})
	if err := patch(clients, `{"metadata":{"annotations":null}}`); err != nil {
		t.Fatal(err)
	}
	if err := patch(reporter, empty, "status"); !refused(err) {
		t.Errorf("an empty one: %v", err)
	}
	if err := patch(clients, fmt.Sprintf(ledger, name)); err != nil {
		t.Fatalf("with the object: %v", err)
	}
	for reason, body := range map[string]string{
		"changed": fmt.Sprintf(ledger, "b"), "emptied": empty,
		"removed": `{"metadata":{"annotations":{"flyball.dev/ledger":null}}}`, "removed with all others": `{"metadata":{"annotations":null}}`,
	} {
		if err := patch(reporter, body, "status"); !refused(err) {
			t.Errorf("%s through status: %v", reason, err)
		}
	}
	if err := patch(reporter, `{"metadata":{"annotations":{"a":"b"}},"status":{"observedGeneration":1}}`, "status"); err != nil {
		t.Errorf("another annotation through status: %v", err)
	}
	if err := patch(clients, `{"spec":{"replicas":3}}`, "scale"); err != nil {
		t.Errorf("a scale: %v", err)
	}
	live, err := deployments.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil || live.Annotations["flyball.dev/ledger"] != fmt.Sprintf(`{"of":"Deployment/%s"}`, name) || live.Annotations["a"] != "b" {
		t.Errorf("in the end: %v, %v", live.Annotations, err)
	}

	policies := clients.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	if err := policies.Delete(t.Context(), register.LedgerPolicyName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the policy is made again", func() error {
		_, err := policies.Get(t.Context(), register.LedgerPolicyName, metav1.GetOptions{})
		return err
	})
}
