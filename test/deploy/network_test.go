package deploy

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestNetworkPolicy checks that the policy is on by default, allows egress to the API servers' ports, and admits the
// clients in the values to the webhook.
func TestNetworkPolicy(t *testing.T) {
	policy := func(args ...string) (p networkingv1.NetworkPolicy) {
		t.Helper()
		obj := find(t, render(t, args...), "NetworkPolicy", "flyball")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, &p, true); err != nil {
			t.Fatal(err)
		}
		return p
	}
	out := func(p networkingv1.NetworkPolicy) (ports []int) {
		for _, port := range p.Spec.Egress[0].Ports {
			ports = append(ports, port.Port.IntValue())
		}
		return ports
	}
	standard := policy()
	if got := out(standard); !slices.Equal(got, []int{443, 6443, 53, 53}) || len(standard.Spec.Egress) != 1 ||
		len(standard.Spec.Egress[0].To) != 0 {
		t.Errorf("lets out to %v", got)
	}
	if got := out(policy("--set", "networkPolicy.apiServerPorts={8443}")); !slices.Equal(got, []int{8443, 53, 53}) {
		t.Errorf("with another port it lets out to %v", got)
	}
	for address, port := range map[string]int{"http://prometheus.monitoring:9090/x": 9090, "http://prometheus": 80,
		"https://prometheus.example.com": 443} {
		if got := out(policy("--set", "prometheus.address="+address)); !slices.Equal(got, []int{443, 6443, port, 53, 53}) {
			t.Errorf("with a Prometheus at %s it lets out to %v", address, got)
		}
	}
	var hook networkingv1.NetworkPolicy
	obj := find(t, render(t, "--set", "networkPolicy.apiServerPorts={8443}"), "NetworkPolicy", "flyball-uninstall")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, &hook, true); err != nil {
		t.Fatal(err)
	}
	// Without this rule, in a namespace that denies egress by default, an uninstallation would wait for this job
	// forever.
	if got := out(hook); !slices.Equal(got, []int{8443, 53, 53}) ||
		hook.Spec.PodSelector.MatchLabels["app.kubernetes.io/name"] != "flyball-uninstall" ||
		obj.GetAnnotations()["helm.sh/hook"] != "pre-delete" {
		t.Errorf("the job of an uninstallation is let out to %v, by %v", got, hook.Spec.PodSelector)
	}
	webhook := func(p networkingv1.NetworkPolicy) networkingv1.NetworkPolicyIngressRule {
		for _, rule := range p.Spec.Ingress {
			if len(rule.Ports) == 1 && rule.Ports[0].Port.String() == "webhook" {
				return rule
			}
		}
		t.Fatalf("no rule of the webhook alone in %v", p.Spec.Ingress)
		return networkingv1.NetworkPolicyIngressRule{}
	}
	if from := webhook(standard).From; len(from) != 0 {
		t.Errorf("lets in %v", from)
	}
	if from := webhook(policy("--set-json", `networkPolicy.apiServers=[{"ipBlock":{"cidr":"10.0.0.0/28"}}]`)).From; len(from) != 1 ||
		from[0].IPBlock.CIDR != "10.0.0.0/28" {
		t.Errorf("with named API servers it lets in %v", from)
	}
}
