package policy_test

import (
	"testing"

	"flyball.dev/flyball/engine/policy"
)

func TestReservedKeys(t *testing.T) {
	for _, tc := range []struct {
		key    string
		own    bool
		domain string
	}{
		{"flyball.dev/ledger", true, ""},
		{"a.Flyball.dev/b", true, ""},
		{"flyball.dev", false, ""},
		{"myflyball.dev/a", false, ""},
		{"kubernetes.io/a", false, "kubernetes.io"},
		{"kubectl.KUBERNETES.io/restartedAt", false, "kubernetes.io"},
		{"eck.k8s.io/a", false, "k8s.io"},
		{"cluster.x-k8s.io/paused", false, ""},
		{"kubernetes.io", false, ""},
		{"cnpg.io/fencedInstances", false, ""},
	} {
		if own, domain := policy.IsOwnKey(tc.key), policy.KubernetesDomain(tc.key); own != tc.own || domain != tc.domain {
			t.Errorf("%s: Flyball's own: %t, of Kubernetes: %q", tc.key, own, domain)
		}
	}
}
