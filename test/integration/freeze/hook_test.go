package freeze

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
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
		Consistently(configuration).Should(BeNil())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: one}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-06T12:00:00Z, deny: [Delete]}
`)
		Eventually(rulesOf).Should(ConsistOf("deployments: DELETE"))
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: two}
spec: {target: {kinds: [{group: apps, kind: Deployment}, {group: batch, kind: CronJob}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-07T12:00:00Z, deny: [Scale, Create]}
`)
		Eventually(rulesOf).Should(ConsistOf("deployments: CREATE UPDATE DELETE", "deployments/scale: UPDATE", "cronjobs: CREATE UPDATE", "cronjobs/scale: UPDATE"))
		clock.SetTime(time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)) // the first is over
		Eventually(rulesOf).Should(ConsistOf("deployments: CREATE UPDATE", "deployments/scale: UPDATE", "cronjobs: CREATE UPDATE", "cronjobs/scale: UPDATE"))
		clock.SetTime(time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC))
		Eventually(configuration).Should(BeNil())
	})

	It("comes back when somebody removes it or cuts its rules", func() {
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: one}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-06T12:00:00Z, deny: [Delete]}
`)
		Eventually(rulesOf).Should(ConsistOf("deployments: DELETE"))
		Expect(env.Client.Delete(ctx, configuration(Default))).To(Succeed())
		Eventually(configuration).ShouldNot(BeNil())
		Expect(env.Client.Patch(ctx, configuration(Default), client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["CREATE"]}]`)))).To(Succeed())
		Eventually(rulesOf).Should(ConsistOf("deployments: DELETE"))
	})
})

// balancer passes connections to the first backend, from a different one each time, that accepts.
type balancer struct {
	listener net.Listener
	backends []string
	next     atomic.Int32
}

func newBalancer(backends ...string) *balancer {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	b := &balancer{listener: listener, backends: backends}
	go b.serve()
	DeferCleanup(listener.Close)
	return b
}

func (b *balancer) port() int { return b.listener.Addr().(*net.TCPAddr).Port }

func (b *balancer) serve() {
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		go b.pass(conn)
	}
}

// pass joins a connection with one to a backend. As with a Service whose endpoints follow readiness, a backend that does not
// accept is passed over.
func (b *balancer) pass(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	first := int(b.next.Add(1))
	for i := range b.backends {
		to, err := net.Dial("tcp", b.backends[(first+i)%len(b.backends)])
		if err != nil {
			continue
		}
		defer func() { _ = to.Close() }()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(to, conn); _ = to.(*net.TCPConn).CloseWrite() })
		wg.Go(func() { _, _ = io.Copy(conn, to); _ = conn.(*net.TCPConn).CloseWrite() })
		wg.Wait()
		return
	}
}

var _ = Describe("Several replicas", Ordered, func() {
	var stop []func() error // each stops one replica, once
	var ports []int
	var own *harness.Env
	BeforeAll(func() {
		// Managers behind one address, in a cluster of their own: the suite's manager would keep its own address in the configuration.
		var err error
		own, err = harness.Up(ctx, local.Options{Level: local.LevelWorkloads, Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(own.Cluster.Stop()).To(Succeed()) })
		Expect(own.InstallAdapters(ctx, "deployments.apps")).To(Succeed())
		Expect(own.Apply(ctx, []byte(role))).To(Succeed())
		ports = []int{freePort(), freePort()}
		front := newBalancer(address(ports[0]), address(ports[1]))
		for _, port := range ports {
			options := webhookAt(port, "flyball")
			options.URL, options.Owner = "https://"+address(front.port()), "flyball"
			m := own.Start(harness.Options{Config: own.Cluster.Impersonate("flyball", "system:masters"), Log: GinkgoWriter, Webhook: options})
			stop = append(stop, sync.OnceValue(m.Stop))
			DeferCleanup(stop[len(stop)-1])
		}
		Expect(own.AwaitAdapters(ctx, "deployments.apps")).To(Succeed())
		for _, port := range ports {
			Eventually(func() error {
				conn, err := tls.Dial("tcp", address(port), &tls.Config{InsecureSkipVerify: true})
				if err == nil {
					err = conn.Close()
				}
				return err
			}).Should(Succeed())
		}
		Expect(own.Apply(ctx, []byte(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: long}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [default]}, startTime: 2020-01-01T00:00:00Z, endTime: 2090-01-01T00:00:00Z, deny: [Scale]}
`))).To(Succeed())
		Expect(own.Client.Create(ctx, deployment("default", "web"))).To(Succeed())
		Eventually(func() error { return patch(own.Client, deployment("default", "web"), toTwo, client.DryRunAll) }).Should(BeRefused())
	})

	It("each enforce a policy as soon as it is created", func() {
		Expect(own.Apply(ctx, []byte(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: new, namespace: default}
spec: {startTime: 2020-01-01T00:00:00Z, endTime: 2090-01-01T00:00:00Z, deny: [Delete]}
`))).To(Succeed())
		for _, port := range ports {
			Eventually(func() (string, error) { return deletionReview(port) }).Should(ContainSubstring("ChangeFreeze/default/new denies Delete"))
		}
		Expect(own.Client.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{}, client.InNamespace("default"))).To(Succeed())
	})

	It("lose no request when one of them goes", func() {
		failures := underLoad(own, func() { Expect(stop[0]()).To(Succeed()) })
		Expect(failures).To(BeEmpty())
	})

	It("that are all gone refuse what is frozen, and let everything else and the repair pass", func() {
		Expect(stop[1]()).To(Succeed())
		err := patch(own.Client, deployment("default", "web"), toTwo, client.DryRunAll)
		Expect(err).To(MatchError(ContainSubstring(`failed calling webhook "freeze.flyball.dev"`)))
		other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
		Expect(own.Client.Create(ctx, other)).To(Succeed())
		Expect(patch(own.Client, other, `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed())
		Expect(own.Client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "free"}})).To(Succeed())
		Expect(own.Client.Create(ctx, deployment("default", "new"))).To(Succeed(), "Create is not denied, so it is not sent")
		for _, ns := range []string{"kube-system", harness.Namespace} {
			repair := deployment(ns, "repair")
			Expect(own.Client.Create(ctx, repair)).To(Succeed())
			Expect(patch(own.Client, repair, toTwo)).To(Succeed(), "the repair path")
		}
	})

	again := func() (stop func() error) {
		options := webhookAt(freePort(), "flyball")
		options.Owner = "flyball"
		m := own.Start(harness.Options{Config: own.Cluster.Impersonate("flyball", "system:masters"), Log: GinkgoWriter, Webhook: options})
		stop = sync.OnceValue(m.Stop)
		DeferCleanup(stop)
		return stop
	}
	frozen := func() error { return patch(own.Client, deployment("default", "web"), toTwo, client.DryRunAll) }

	It("come back to a cluster as it was left", func() {
		again()
		Eventually(frozen).Should(BeRefused())
	})

	It("that are removed leave nothing that blocks, although the freeze stays", func() {
		stop := again()
		Eventually(frozen).Should(BeRefused())
		Expect(stop()).To(Succeed())
		Expect(frozen()).To(MatchError(ContainSubstring("failed calling webhook")))
		Expect(own.Client.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "flyball"}})).To(Succeed())
		Eventually(frozen).WithTimeout(time.Minute).Should(Succeed(), "the configuration goes with its owner")

		Expect(own.Apply(ctx, []byte(role))).To(Succeed())
		again()
		Eventually(frozen).Should(BeRefused())
		Expect(own.Client.DeleteAllOf(ctx, &v1alpha1.Adapter{})).To(Succeed())
		Eventually(frozen).Should(Succeed(), "without adapters nothing is judged")
	})
})

// role is what the webhook configuration of the replicas goes with.
const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: flyball}, rules: []}"

// deletionReview asks one replica, as the API server does, about the deletion of a Deployment.
func deletionReview(port int) (string, error) {
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"DELETE","namespace":"default","name":"web",
"resource":{"group":"apps","version":"v1","resource":"deployments"},"userInfo":{"username":"alice"},"dryRun":true,"oldObject":{"metadata":{"name":"web"}}}}`
	direct := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := direct.Post("https://"+address(port)+"/judge", "application/json", strings.NewReader(review))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// underLoad runs an incident while changes are asked for all the time, and gives every answer that is no verdict.
func underLoad(own *harness.Env, incident func()) []error {
	GinkgoHelper()
	loading, stop := context.WithCancel(ctx)
	var mu sync.Mutex
	var failures []error
	var wg sync.WaitGroup
	var asked atomic.Int32
	tick := time.NewTicker(5 * time.Millisecond) // 200 a second
	defer tick.Stop()
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-loading.Done():
					return
				case <-tick.C:
				}
				err := own.Client.Patch(ctx, deployment("default", "web"), client.RawPatch(types.MergePatchType, []byte(toTwo)), client.DryRunAll)
				asked.Add(1)
				if !refused(err) {
					mu.Lock()
					failures = append(failures, errors.Join(errors.New("not refused"), err))
					mu.Unlock()
				}
			}
		})
	}
	time.Sleep(time.Second)
	incident()
	time.Sleep(2 * time.Second)
	stop()
	wg.Wait()
	Expect(asked.Load()).To(BeNumerically(">", 100))
	return failures
}
