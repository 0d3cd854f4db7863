package doctor

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
)

// expiresSoon is a remaining lifetime of a webhook certificate. If less is left, doctor reports a problem, because the
// manager renews certificates much earlier.
const expiresSoon = 24 * time.Hour

// Live checks the running cluster: the manager and the webhook. It writes nothing.
func (c *Checkup) Live(ctx context.Context, clients Clients, objects dynamic.Interface, flyballNamespace, namespace string,
	now time.Time) {
	c.manager(ctx, clients, flyballNamespace)
	c.configurations(ctx, clients, now)
	c.answers(ctx, objects, namespace)
}

func (c *Checkup) manager(ctx context.Context, clients Clients, namespace string) {
	list, err := clients.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=flyball"})
	switch {
	case err != nil:
		c.Skip("manager", err.Error())
	case len(list.Items) == 0:
		c.Skip("manager", "there is no Deployment with app.kubernetes.io/name=flyball in namespace "+namespace+
			"; --flyball-namespace says where it runs")
	default:
		var findings []string
		for i := range list.Items {
			if d := &list.Items[i]; d.Status.ReadyReplicas == 0 {
				findings = append(findings, fmt.Sprintf("Deployment %s has no ready replica: nothing wakes and nothing sleeps", d.Name))
			}
		}
		c.Add("manager", "it runs", findings)
	}
}

// configurations checks the webhook configurations and the CA certificates in them.
func (c *Checkup) configurations(ctx context.Context, clients Clients, now time.Time) {
	list, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=flyball"})
	if err != nil {
		c.Skip("webhook certificates", err.Error())
		return
	}
	var findings []string
	n := 0
	for i := range list.Items {
		for k := range list.Items[i].Webhooks {
			n++
			findings = append(findings, certificates(&list.Items[i].Webhooks[k], now)...)
		}
	}
	c.Add("webhook certificates", workload.Count(n, "webhook")+", trusted for longer than a day", findings)
}

func certificates(hook *admissionregistrationv1.ValidatingWebhook, now time.Time) (findings []string) {
	rest := hook.ClientConfig.CABundle
	if len(rest) == 0 {
		return []string{fmt.Sprintf("%s has no caBundle: API servers do not trust the manager yet", hook.Name)}
	}
	var last time.Time
	for block, more := pem.Decode(rest); block != nil; block, more = pem.Decode(more) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && cert.NotAfter.After(last) {
			last = cert.NotAfter
		}
	}
	if last.Before(now.Add(expiresSoon)) {
		return []string{fmt.Sprintf("the authority of %s ends at %s and was not renewed", hook.Name, last.Format(time.RFC3339))}
	}
	return nil
}

// answers checks that the webhook refuses an invalid schedule. The schedule has an unknown time zone and is sent as a
// dry run.
func (c *Checkup) answers(ctx context.Context, objects dynamic.Interface, namespace string) {
	kind, _ := kinds.Find(schedule.Kind)
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind.Name,
		"metadata": map[string]any{"generateName": "doctor-", "namespace": namespace},
		"spec":     map[string]any{"target": map[string]any{}, "timeZone": "Nowhere/Land", "upscale": "0 8 * * *", "downscale": "0 20 * * *"},
	}}
	_, err := objects.Resource(v1alpha1.GroupVersion.WithResource(kind.Resource)).Namespace(namespace).
		Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	const name = "webhook"
	switch {
	case err == nil:
		c.Add(name, "",
			[]string{"a schedule in a time zone that does not exist was let through: the webhook is not installed, so policies are not checked " +
				"and nothing is frozen"})
	case strings.Contains(err.Error(), "spec.timeZone"):
		c.Add(name, "it answers, and refuses what is wrong", nil)
	case strings.Contains(err.Error(), "failed calling webhook"):
		c.Add(name, "", []string{"it cannot be reached: " + err.Error()})
	case apierrors.IsForbidden(err):
		c.Skip(name, "to see whether it answers takes the right to create schedules in namespace "+namespace+"; the request is a dry run")
	default:
		c.Skip(name, err.Error())
	}
}
