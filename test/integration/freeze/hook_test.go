package freeze

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rulesOf lists the rules of the freeze webhook as "resource: OPERATIONS".
func rulesOf(g Gomega) []string {
	config := configuration(g)
	g.Expect(config).NotTo(BeNil())
	webhooks, _, _ := unstructured.NestedSlice(config.Object, "webhooks")
	var out []string
	rules, _, _ := unstructured.NestedSlice(webhooks[0].(map[string]any), "rules")
	for _, r := range rules {
		rule := r.(map[string]any)
		operations, _, _ := unstructured.NestedStringSlice(rule, "operations")
		resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
		for _, resource := range resources {
			out = append(out, resource+": "+strings.Join(operations, " "))
		}
	}
	return out
}

var _ = Describe("The webhook configuration", func() {
	It("is there only while a freeze is, with the kinds and operations in use", func() {
		// Where Scale is denied, every change of what scales others is judged.
		const scalers = "horizontalpodautoscalers: CREATE UPDATE DELETE"
		Consistently(configuration).Should(BeNil())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: one}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-06T12:00:00Z, deny: [Delete]}
`)
		Eventually(rulesOf).Should(ConsistOf("deployments: UPDATE DELETE"))
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: two}
spec: {target: {kinds: [{group: apps, kind: Deployment}, {group: batch, kind: CronJob}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-07T12:00:00Z, deny: [Scale, Create]}
`)
		Eventually(rulesOf).Should(ConsistOf("deployments: CREATE UPDATE DELETE", "deployments/scale: UPDATE", "cronjobs: CREATE UPDATE", "cronjobs/scale: UPDATE", scalers))
		clock.SetTime(time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)) // the first is over
		Eventually(rulesOf).Should(ConsistOf("deployments: CREATE UPDATE", "deployments/scale: UPDATE", "cronjobs: CREATE UPDATE", "cronjobs/scale: UPDATE", scalers))
		clock.SetTime(time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC))
		Eventually(configuration).Should(BeNil())
	})

	It("guards the labels of namespaces closed while a freeze that selects by them is guarded, and not else", func() {
		guard := func(g Gomega) []string {
			var policies []string
			webhooks, _, _ := unstructured.NestedSlice(configuration(g).Object, "webhooks")
			for _, w := range webhooks {
				name, policy := w.(map[string]any)["name"].(string), w.(map[string]any)["failurePolicy"].(string)
				if strings.HasPrefix(name, "namespaces.") {
					policies = append(policies, policy)
				}
			}
			return policies
		}
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: by-name}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [nowhere]}, startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-20T12:00:00Z, deny: [Delete]}
`)
		Eventually(configuration).ShouldNot(BeNil())
		Consistently(guard, "300ms").Should(BeEmpty())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: by-label}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaceSelector: {matchLabels: {env: nowhere}}}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-06T12:00:00Z, guardAhead: 1h, deny: [Delete]}
`)
		Eventually(guard).Should(ConsistOf("Ignore"))
		for _, change := range []struct {
			hour int
			want []string
		}{{11, []string{"Fail"}}, {12, []string{"Fail"}}, {36, nil}} {
			clock.SetTime(time.Date(2026, 3, 5, change.hour, 0, 0, 0, time.UTC))
			Eventually(guard).Should(ConsistOf(change.want))
		}
	})

	It("comes back when somebody removes it or cuts its rules", func() {
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: one}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-06T12:00:00Z, deny: [Delete]}
`)
		Eventually(rulesOf).Should(ConsistOf("deployments: UPDATE DELETE"))
		Expect(env.Client.Delete(ctx, configuration(Default))).To(Succeed())
		Eventually(configuration).ShouldNot(BeNil())
		Expect(env.Client.Patch(ctx, configuration(Default), client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["CREATE"]}]`)))).To(Succeed())
		Eventually(rulesOf).Should(ConsistOf("deployments: UPDATE DELETE"))
	})
})
