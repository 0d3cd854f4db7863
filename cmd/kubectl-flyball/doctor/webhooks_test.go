package doctor

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// guarded is a world in which a schedule puts three of four workloads to sleep. One of the three is the backend of a
// webhook.
const guarded = `
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {name: nights, namespace: shop}
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *", target: {selector: {matchLabels: {sleeps: "yes"}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {env: dev}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {sleeps: "yes", tier: front}}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: guard, namespace: shop, labels: {sleeps: "yes"}}
spec: {replicas: 1, selector: {matchLabels: {app: guard}}, template: {metadata: {labels: {app: guard, part: webhook}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, namespace: shop, labels: {sleeps: "yes"}}
spec: {schedule: "0 1 * * *", jobTemplate: {spec: {template: {spec: {containers: [{name: main, image: "busybox:1.37"}]}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: awake, namespace: shop}
spec: {replicas: 1, selector: {matchLabels: {app: awake}}, template: {metadata: {labels: {app: awake}}}}
`

func rule(group, resource string, op admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{op},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}}}
}

// TestWebhooksInTheWay checks which webhooks doctor reports as obstacles of the night, and the reported consequences.
func TestWebhooksInTheWay(t *testing.T) {
	w, memory := worldOf(t, guarded)
	asleep := sleepersOf(memory)
	if len(asleep) != 3 {
		t.Fatalf("%v sleep", asleep)
	}
	update, create, all := admissionregistrationv1.Update, admissionregistrationv1.Create, admissionregistrationv1.OperationAll
	const web, guard, report = "Deployment.apps/shop/web", "Deployment.apps/shop/guard", "CronJob.batch/shop/report"
	const pods = "new pods in namespace shop"
	ignore := admissionregistrationv1.Ignore
	in := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	for _, c := range []struct {
		name string
		hook admissionregistrationv1.MutatingWebhook
		want []string
	}{
		{"a kind", admissionregistrationv1.MutatingWebhook{Rules: []admissionregistrationv1.RuleWithOperations{rule("apps", "deployments",
			update)}},
			[]string{guard, web}},
		{"everything", admissionregistrationv1.MutatingWebhook{Rules: []admissionregistrationv1.RuleWithOperations{rule("*", "*/*", all)}},
			[]string{report, guard, web, pods}},
		{"pods", admissionregistrationv1.MutatingWebhook{Rules: []admissionregistrationv1.RuleWithOperations{rule("", "pods", create)}},
			[]string{pods}},
		{"evictions", admissionregistrationv1.MutatingWebhook{Rules: []admissionregistrationv1.RuleWithOperations{rule("", "pods/eviction",
			create)}}, nil},
		{"another operation", admissionregistrationv1.MutatingWebhook{Rules: []admissionregistrationv1.RuleWithOperations{
			rule("apps", "*", create)}}, nil},
		{"another group", admissionregistrationv1.MutatingWebhook{Rules: []admissionregistrationv1.RuleWithOperations{
			rule("batch", "deployments", all)}}, nil},
		{"labels of objects", admissionregistrationv1.MutatingWebhook{ObjectSelector: in("tier", "front"),
			Rules: []admissionregistrationv1.RuleWithOperations{rule("apps", "*", all)}}, []string{web}},
		{"labels of pods", admissionregistrationv1.MutatingWebhook{ObjectSelector: in("part", "webhook"),
			Rules: []admissionregistrationv1.RuleWithOperations{rule("", "pods", create)}}, []string{pods}},
		{"labels of other pods", admissionregistrationv1.MutatingWebhook{ObjectSelector: in("app", "other"),
			Rules: []admissionregistrationv1.RuleWithOperations{rule("", "pods", create)}}, nil},
		{"this namespace", admissionregistrationv1.MutatingWebhook{NamespaceSelector: in("env", "dev"),
			Rules: []admissionregistrationv1.RuleWithOperations{rule("batch", "*", all)}}, []string{report}},
		{"other namespaces", admissionregistrationv1.MutatingWebhook{NamespaceSelector: in("env", "prod"),
			Rules: []admissionregistrationv1.RuleWithOperations{rule("*", "*", all)}}, nil},
		{"one that fails open", admissionregistrationv1.MutatingWebhook{FailurePolicy: &ignore,
			Rules: []admissionregistrationv1.RuleWithOperations{rule("*", "*", all)}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.hook.Name = "guard.example.com"
			c.hook.ClientConfig.Service = &admissionregistrationv1.ServiceReference{Namespace: "shop", Name: "guard"}
			var refused []string
			for _, h := range addHook(nil, c.hook, "ValidatingWebhookConfiguration/guard") {
				refused = append(refused, h.refused(w, memory, asleep)...)
			}
			if !slices.Equal(refused, c.want) {
				t.Errorf("refused are %q, want %q", refused, c.want)
			}
		})
	}

	h := hook{name: "webhook guard.example.com of ValidatingWebhookConfiguration/guard", namespace: "shop", service: "guard"}
	says := func(name string, b backend, wants ...string) {
		t.Helper()
		got := h.findings(b, []string{guard, web}, b.sleeping(memory, asleep, "shop"))
		if len(got) != len(wants) {
			t.Errorf("%s: %d findings: %q", name, len(got), got)
			return
		}
		for i, want := range wants {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q lacks %q", name, got[i], want)
			}
		}
	}
	says("no Service", backend{}, "has no ready endpoint: the API server refuses changes of "+guard+", "+web)
	says("a backend that stays awake", backend{ready: true, selector: map[string]string{"app": "awake"}})
	says("a backend that sleeps", backend{ready: true, selector: map[string]string{"part": "webhook"}},
		"behind its Service shop/guard is "+guard+", which Schedule/shop/nights puts to sleep")
	says("a backend without a selector", backend{ready: true})
}

// TestWebhooksByURL checks that a webhook at a URL makes the check "not checked" if it judges a write of the night.
func TestWebhooksByURL(t *testing.T) {
	w, memory := worldOf(t, guarded)
	const no = "1 webhook of other programs that fail closed, none in the way"
	const maybe = "webhook judge.example.com of ValidatingWebhookConfiguration/judge fails closed, and its backend at " +
		"https://judge.example.com/v cannot be checked from here: while it does not answer, the API server refuses changes of " +
		"Deployment.apps/shop/guard, Deployment.apps/shop/web"
	for resource, want := range map[string]Check{"deployments": {"other webhooks", NotChecked, []string{maybe}},
		"daemonsets": {"other webhooks", OK, []string{no}}} {
		clients := fake.NewClientset(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "judge"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "judge.example.com",
				ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://judge.example.com/v")},
				Rules:        []admissionregistrationv1.RuleWithOperations{rule("apps", resource, admissionregistrationv1.Update)}}}})
		c := &Checkup{}
		c.webhooks(t.Context(), clients, w, memory)
		if diff := cmp.Diff([]Check{want}, c.Checks); diff != "" {
			t.Errorf("%s: wanted (-) and found (+):\n%s", resource, diff)
		}
	}
}
