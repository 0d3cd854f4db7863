package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"flyball.dev/flyball/engine/admission/register"
)

// A user with all rights on webhook configurations cannot edit or delete the configurations of freezes, neither one by
// one nor as a collection, nor give them to the garbage collector. Other configurations can be changed. Flyball's own
// account, a holder of the verb override, and the garbage collector may change them.
func TestWebhookConfigurationsAreGuarded(t *testing.T) {
	clients := kubernetes.NewForConfigOrDie(api.Config())
	everything := rbacv1.PolicyRule{APIGroups: []string{"admissionregistration.k8s.io"},
		Resources: []string{"validatingwebhookconfigurations"},
		Verbs:     []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"}}
	override := rbacv1.PolicyRule{APIGroups: everything.APIGroups, Resources: everything.Resources,
		ResourceNames: []string{"flyball", "flyball-freeze"}, Verbs: []string{"override"}}
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	for user, rules := range map[string][]rbacv1.PolicyRule{
		"meddler": {everything}, collector: {everything}, "overrider": {everything, override},
		"system:serviceaccount:flyball-system:flyball": {everything, override},
	} {
		group := strings.ReplaceAll(user, ":", "-")
		if err := bind(t.Context(), clients, group, []string{group}, rules...); err != nil {
			t.Fatal(err)
		}
	}
	k := keeper(t)
	for _, object := range register.AdmissionObjects() {
		if _, err := k.Keep(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := k.WithWatch.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
	label := metav1.LabelSelector{MatchLabels: map[string]string{"guard-test": "true"}}
	for _, name := range []string{"flyball", "flyball-freeze", "somebody-elses"} {
		config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: label.MatchLabels}}
		if _, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), config,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) func(name, body string) error {
		hooks := kubernetes.NewForConfigOrDie(api.Impersonate(user,
			strings.ReplaceAll(user, ":", "-"))).AdmissionregistrationV1().ValidatingWebhookConfigurations()
		return func(name, body string) error {
			switch {
			case name == "":
				return hooks.DeleteCollection(t.Context(), metav1.DeleteOptions{},
					metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&label)})
			case body == "":
				return hooks.Delete(t.Context(), name, metav1.DeleteOptions{})
			}
			_, err := hooks.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
			return err
		}
	}
	const orphan = `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"6f1e"}]}}`
	edit := func(n int) string { return fmt.Sprintf(`{"metadata":{"annotations":{"edit":"%d"}}}`, n) }
	meddler, tries := as("meddler"), 0
	refused := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "verb override") &&
			strings.Contains(err.Error(), register.GuardPolicyName)
	}
	eventually(t, "an edit is refused", func() error {
		tries++
		if err := meddler("flyball-freeze", edit(tries)); !refused(err) {
			return fmt.Errorf("not refused: %w", err)
		}
		return nil
	})
	for _, name := range []string{"flyball", "flyball-freeze"} {
		for what, body := range map[string]string{"deleted": "", "given an owner that does not exist": orphan, "edited": edit(0),
			"emptied": `{"webhooks":null,"metadata":{"labels":null}}`} {
			if err := meddler(name, body); !refused(err) {
				t.Errorf("%s %s: %v", name, what, err)
			}
		}
	}
	if err := meddler("", ""); !refused(err) {
		t.Errorf("deleted as a collection: %v", err)
	}
	for i, user := range []string{"overrider", "system:serviceaccount:flyball-system:flyball"} {
		if err := as(user)("flyball-freeze", edit(-i-1)); err != nil {
			t.Errorf("edited by %s: %v", user, err)
		}
	}
	for name, user := range map[string]string{"flyball": collector, "flyball-freeze": "overrider"} {
		if err := as(user)(name, ""); err != nil {
			t.Errorf("%s is deleted by %s: %v", name, user, err)
		}
	}
	if err := meddler("somebody-elses", ""); err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("an unrelated configuration: %v", err)
	}
}
