package deploy

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCertManager follows a certificate of cert-manager from its issuer to the manager and into the configuration: with
// the chart, with the chart and an existing issuer, and with the kustomize overlay.
func TestCertManager(t *testing.T) {
	for name, all := range map[string][]*unstructured.Unstructured{
		"chart": render(t, "--set", "webhook.certManager.enabled=true"),
		"chart, an issuer": render(t, "--set",
			"webhook.certManager.enabled=true,webhook.certManager.issuerRef.kind=ClusterIssuer,webhook.certManager.issuerRef.name=internal"),
		"kustomize": objects(t, must(t, "kubectl", "kustomize", "../../deploy/kustomize/overlays/cert-manager")),
	} {
		t.Run(name, func(t *testing.T) {
			certificate := find(t, all, "Certificate", "flyball-webhook")
			if got := text(t, certificate, "spec", "secretName"); got != "flyball-webhook-tls" {
				t.Errorf("the certificate is in the Secret %s", got)
			}
			hosts, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
			if err != nil || !slices.Equal(hosts, []string{"flyball-webhook.flyball-system.svc"}) {
				t.Errorf("the certificate is for %v, %v", hosts, err)
			}
			if text(t, certificate, "spec", "issuerRef", "kind") == "Issuer" {
				// The authority is created once, and not with each renewal.
				issuer := find(t, all, "Issuer", text(t, certificate, "spec", "issuerRef", "name"))
				authority := find(t, all, "Certificate", "flyball-webhook-ca")
				if signs, _, _ := unstructured.NestedBool(authority.Object, "spec", "isCA"); !signs ||
					text(t, issuer, "spec", "ca", "secretName") != text(t, authority, "spec", "secretName") {
					t.Errorf("the issuer %v does not sign with the authority %v", issuer.Object["spec"], authority.Object["spec"])
				}
				root := find(t, all, "Issuer", text(t, authority, "spec", "issuerRef", "name"))
				if _, found, _ := unstructured.NestedMap(root.Object, "spec", "selfSigned"); !found {
					t.Errorf("the authority is signed by %v", root.Object["spec"])
				}
			}

			pod, _, _ := unstructured.NestedMap(find(t, all, "Deployment", "flyball").Object, "spec", "template", "spec")
			volumes, _, _ := unstructured.NestedSlice(pod, "volumes")
			if len(volumes) != 1 || text(t, &unstructured.Unstructured{Object: volumes[0].(map[string]any)}, "secret",
				"secretName") != "flyball-webhook-tls" {
				t.Errorf("volumes %v", volumes)
			}
			containers, _, _ := unstructured.NestedSlice(pod, "containers")
			container := containers[0].(map[string]any)
			mounts, _, _ := unstructured.NestedSlice(container, "volumeMounts")
			if len(mounts) != 1 || mounts[0].(map[string]any)["mountPath"] != "/certificates" {
				t.Errorf("mounts %v", mounts)
			}
			if args, _, _ := unstructured.NestedStringSlice(container, "args"); !slices.Contains(args, "--webhook-cert-dir=/certificates") {
				t.Errorf("arguments %v", args)
			}
			// Helm owns the Secret of Flyball's own certificates, and cert-manager owns a different Secret. So a user can switch
			// the chart from one to the other.
			find(t, render(t), "Secret", "flyball-webhook-cert")
			// The Secret belongs to cert-manager, and the manager has no right on it.
			for _, rule := range rules(t, find(t, all, "Role", "flyball")) {
				if slices.Contains(rule.Resources, "secrets") {
					t.Errorf("the manager may %v the Secrets %v", rule.Verbs, rule.ResourceNames)
				}
			}
			if slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Secret" }) {
				t.Error("a Secret is installed that cert-manager makes")
			}
			for _, config := range []string{"flyball", "flyball-freeze"} {
				if !mayUpdate(t, find(t, all, "ClusterRole", "flyball-base"), config) {
					t.Errorf("the manager may not keep the authority of the configuration %s", config)
				}
			}
			if slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool { return o.GetKind() == "ValidatingWebhookConfiguration" }) {
				t.Error("a configuration is installed that the manager makes")
			}
		})
	}
}

// mayUpdate reports whether a role allows to watch and update one webhook configuration.
func mayUpdate(t *testing.T, role *unstructured.Unstructured, name string) bool {
	for _, rule := range rules(t, role) {
		if slices.Contains(rule.Resources, "validatingwebhookconfigurations") && slices.Contains(rule.ResourceNames, name) &&
			slices.Contains(rule.Verbs, "watch") && slices.Contains(rule.Verbs, "update") {
			return true
		}
	}
	return false
}

// text returns a string field of an object.
func text(t *testing.T, obj *unstructured.Unstructured, path ...string) string {
	t.Helper()
	s, _, err := unstructured.NestedString(obj.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// last returns the value of the last argument with a prefix, which takes precedence.
func last(args []string, prefix string) (value string) {
	for _, arg := range args {
		if v, ok := strings.CutPrefix(arg, prefix); ok {
			value = v
		}
	}
	return value
}
