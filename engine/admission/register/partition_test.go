package register_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/workload"
)

func deployments(actions workload.Change, namespaces ...string) register.FreezeRule {
	return register.FreezeRule{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: actions, Namespaces: namespaces}
}

func configured(kinds ...register.FreezeRule) *admissionregistrationv1.ValidatingWebhookConfiguration {
	url := "https://127.0.0.1"
	return register.FreezeConfiguration(admissionregistrationv1.WebhookClientConfig{URL: &url}, kinds,
		register.FreezeScope{Exempt: []string{"kube-system"}})
}

// sentBy returns the webhooks that receive a request in a namespace.
func sentBy(t *testing.T, config *admissionregistrationv1.ValidatingWebhookConfiguration, namespace, resource string,
	operation admissionregistrationv1.OperationType) (names []string) {
	t.Helper()
	if config == nil {
		return nil
	}
	for _, w := range config.Webhooks {
		selector, err := metav1.LabelSelectorAsSelector(w.NamespaceSelector)
		if err != nil {
			t.Fatal(err)
		}
		if !selector.Matches(labels.Set{"kubernetes.io/metadata.name": namespace}) {
			continue
		}
		for _, r := range w.Rules {
			if slices.Contains(r.Resources, resource) && slices.Contains(r.Operations, operation) {
				names = append(names, w.Name)
			}
		}
	}
	return names
}

// Changes denied in some namespaces are sent only from there, and no change is sent twice.
func TestChangesAreSentOnlyFromFrozenNamespaces(t *testing.T) {
	config := configured(
		deployments(workload.ChangeCreate),
		deployments(workload.ChangeCreate|workload.ChangeScale, "shop"), deployments(workload.ChangeDelete, "shop"),
		deployments(workload.ChangeDelete, "blog"), deployments(workload.ChangeRollOut, "wiki"),
		register.FreezeRule{Group: "batch", Resource: "jobs", Versions: []string{"v1"}, Actions: workload.ChangeDelete,
			Namespaces: []string{"blog", "kube-system"}},
	)
	var got []string
	for _, w := range config.Webhooks {
		line := w.Name
		for _, e := range w.NamespaceSelector.MatchExpressions {
			line += fmt.Sprintf(" %s %v", e.Operator, e.Values)
		}
		for _, r := range w.Rules {
			line += fmt.Sprintf(" %v %v", r.Resources, r.Operations)
		}
		got = append(got, line)
	}
	want := []string{
		"freeze.flyball.dev NotIn [kube-system] [deployments] [CREATE UPDATE] [deployments/status] [UPDATE]",
		"named-1.freeze.flyball.dev In [blog] NotIn [kube-system] [deployments] [DELETE] [jobs] [UPDATE DELETE] [jobs/status] [UPDATE]",
		"named-2.freeze.flyball.dev In [kube-system] NotIn [kube-system] [jobs] [UPDATE DELETE] [jobs/status] [UPDATE]",
		"named-3.freeze.flyball.dev In [shop] NotIn [kube-system] [deployments] [DELETE] [deployments/scale] [UPDATE]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

// Too many different namespaces share one webhook, and above a limit all namespaces do.
func TestTooManyNamespacesShareWebhooks(t *testing.T) {
	var differing, many []register.FreezeRule
	for i := range 17 {
		differing = append(differing, register.FreezeRule{Resource: fmt.Sprintf("r%d", i), Versions: []string{"v1"},
			Actions: workload.ChangeScale, Namespaces: []string{fmt.Sprintf("ns%d", i)}})
	}
	for i := range 1001 {
		many = append(many, deployments(workload.ChangeScale, fmt.Sprintf("ns%d", i)))
	}
	for _, test := range []struct {
		reason   string
		config   *admissionregistrationv1.ValidatingWebhookConfiguration
		webhooks int
		// outside means that a namespace without a freeze is affected too.
		outside bool
	}{
		{"16 that differ", configured(differing[:16]...), 16, false},
		{"17 that differ", configured(differing...), 1, false},
		{"1000 that do not", configured(many[:1000]...), 1, false},
		{"1001", configured(many...), 1, true},
	} {
		if got := len(test.config.Webhooks); got != test.webhooks {
			t.Errorf("%s: %d webhooks, want %d", test.reason, got, test.webhooks)
		}
		resource := test.config.Webhooks[0].Rules[0].Resources[0]
		if got := len(sentBy(t, test.config, "other", resource, "UPDATE")) > 0; got != test.outside {
			t.Errorf("%s: another namespace is bound: %t", test.reason, got)
		}
		if got := sentBy(t, test.config, "ns0", resource, "UPDATE"); len(got) != 1 {
			t.Errorf("%s: sent to %v", test.reason, got)
		}
	}
}

// Every denied change is sent from its namespace exactly once.
func TestDeniedChangesAreSentOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	operations := map[admissionregistrationv1.OperationType]workload.Change{
		"CREATE": workload.ChangeCreate, "DELETE": workload.ChangeDelete,
		"UPDATE": workload.ChangeCreate | workload.ChangeDelete | workload.ChangeRollOut | workload.ChangeScale,
	}
	for range 300 {
		var kinds []register.FreezeRule
		for range random.IntN(30) {
			k := deployments(workload.Change(random.UintN(16)))
			k.Resource = fmt.Sprintf("r%d", random.IntN(3))
			for range random.IntN(4) {
				k.Namespaces = append(k.Namespaces, fmt.Sprintf("ns%d", random.IntN(20)))
			}
			kinds = append(kinds, k)
		}
		config := configured(kinds...)
		for _, k := range kinds {
			for operation, actions := range operations {
				if k.Actions&actions == 0 {
					continue
				}
				for _, ns := range append(slices.Clone(k.Namespaces), strings.Repeat("other", 1-min(1, len(k.Namespaces)))) {
					if got := sentBy(t, config, ns, k.Resource, operation); ns != "" && len(got) != 1 {
						t.Fatalf("%s of %s in %s is sent to %v by %+v", operation, k.Resource, ns, got, kinds)
					}
				}
			}
		}
	}
}
