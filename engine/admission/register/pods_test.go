package register_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/admission/register"
)

// TestPodsNeverWaitForServer proves that pods of exempt namespaces are never sent, and that no pod waits long or fails
// with the server.
func TestPodsNeverWaitForServer(t *testing.T) {
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("ns-%d", i)
	}
	exempt := metav1.LabelSelectorRequirement{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn,
		Values: []string{"flyball-system", "kube-system"}}
	for _, test := range []struct {
		namespaces []string
		want       []metav1.LabelSelectorRequirement
	}{
		{[]string{"shop", "blog"}, []metav1.LabelSelectorRequirement{{Key: exempt.Key, Operator: metav1.LabelSelectorOpIn,
			Values: []string{"blog", "shop"}}, exempt}},
		{many, []metav1.LabelSelectorRequirement{exempt}},
	} {
		config := register.PodsConfiguration(admissionregistrationv1.WebhookClientConfig{}, test.namespaces,
			[]string{"kube-system", "flyball-system"})
		for _, w := range config.Webhooks {
			if diff := cmp.Diff(test.want, w.NamespaceSelector.MatchExpressions); diff != "" {
				t.Errorf("%d namespaces (-want +got):\n%s", len(test.namespaces), diff)
			}
			if *w.FailurePolicy != admissionregistrationv1.Ignore || *w.SideEffects != admissionregistrationv1.SideEffectClassNone ||
				*w.TimeoutSeconds != 1 {
				t.Errorf("%+v", w)
			}
		}
	}
}
