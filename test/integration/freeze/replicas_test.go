package freeze

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

// perSecond is the number of requested changes per second.
const perSecond = 50

// deploymentOfManagers has several managers behind a Service. Each manager is a separate process. They have a cluster
// of their own, because the suite's manager would keep its own address in the webhook configuration.
type deploymentOfManagers struct {
	env     *harness.Env
	service *harness.Service
	binary  string
	// started has every replica that was started. running has the replicas that have not ended, the oldest first.
	started, running []*replica
}

// replica is one manager.
type replica struct {
	process *harness.Process
	address string
}

// role owns the webhook configuration of the replicas, so the configuration is deleted with it.
const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: flyball}, rules: []}"

func newDeploymentOfManagers() *deploymentOfManagers {
	GinkgoHelper()
	own, err := harness.Up(ctx, local.Options{Level: local.LevelWorkloads, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(own.Cluster.Stop()).To(Succeed()) })
	Expect(own.InstallAdapters(ctx, "deployments.apps")).To(Succeed())
	Expect(own.Apply(ctx, []byte(role))).To(Succeed())
	service, err := harness.NewService()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(service.Close)
	// API servers resolve the name of such a Service themselves. They use HTTP/1.1, as with any other Service.
	Expect(own.Apply(ctx, fmt.Appendf(nil, `
apiVersion: v1
kind: Service
metadata: {name: flyball-webhook, namespace: %s}
spec: {type: ExternalName, externalName: localhost}
`, harness.Namespace))).To(Succeed())
	binary, err := own.Build(ctx, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	d := &deploymentOfManagers{env: own, service: service, binary: binary}
	DeferCleanup(func() {
		for _, r := range d.running {
			r.process.Kill()
		}
		if CurrentSpecReport().Failed() {
			for _, r := range d.started {
				GinkgoWriter.Printf("--- the manager at %s:\n%s", r.address, r.process.Output())
			}
		}
	})
	return d
}

// start runs one more replica and waits until the Service leads to it.
func (d *deploymentOfManagers) start(args ...string) *replica {
	GinkgoHelper()
	port, health := suite.FreePort(), address(suite.FreePort())
	p, err := d.env.StartProcess(d.binary, append([]string{
		"--leader-elect=true", "--health-probe-bind-address=" + health,
		"--webhook=true", "--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", port),
		fmt.Sprintf("--webhook-service-port=%d", d.service.Port()), "--webhook-owner=flyball", "--webhook-drain=10s",
	}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	r := &replica{process: p, address: address(port)}
	d.started, d.running = append(d.started, r), append(d.running, r)
	d.service.Add(r.address, "http://"+health+"/readyz")
	Eventually(d.service.Ready).WithArguments(r.address).Should(BeTrue())
	return r
}

// kill kills the oldest replica, like a crash, and waits until the Service no longer leads to it.
func (d *deploymentOfManagers) kill() {
	GinkgoHelper()
	r := d.oldest()
	r.process.Kill()
	Eventually(d.service.Gone).WithArguments(r.address).Should(BeTrue())
}

// terminate ends the oldest replica, as a rolling update does.
func (d *deploymentOfManagers) terminate() {
	GinkgoHelper()
	Expect(d.oldest().process.Terminate()).To(Succeed())
}

func (d *deploymentOfManagers) oldest() *replica {
	r := d.running[0]
	d.running = d.running[1:]
	return r
}

// frozen tries a change that the freeze refuses.
func (d *deploymentOfManagers) frozen(ctx context.Context) error {
	return d.env.Client.Patch(ctx, deployment("default", "web"), client.RawPatch(types.MergePatchType, []byte(toTwo)), client.DryRunAll)
}

// path returns the path of the webhook to which API servers send reviews.
func (d *deploymentOfManagers) path() string {
	GinkgoHelper()
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	Expect(d.env.Client.Get(ctx, client.ObjectKey{Name: "flyball-freeze"}, &config)).To(Succeed())
	return *config.Webhooks[0].ClientConfig.Service.Path
}

// byLabel is a freeze that selects namespaces by their labels.
const byLabel = `
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: by-label}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaceSelector: {matchLabels: {env: prod}}}, startTime: 2020-01-01T00:00:00Z, endTime: 2090-01-01T00:00:00Z, deny: [Scale]}
`

// guard returns the failure policy of the webhook that guards the labels of namespaces. It returns "" if they are not
// guarded.
func (d *deploymentOfManagers) guard(g Gomega) admissionregistrationv1.FailurePolicyType {
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	g.Expect(d.env.Client.Get(ctx, client.ObjectKey{Name: "flyball-freeze"}, &config)).To(Succeed())
	for _, w := range config.Webhooks {
		if w.Name == "namespaces.freeze.flyball.dev" {
			return *w.FailurePolicy
		}
	}
	return ""
}

// verdict returns an error unless the freeze refuses the change that it has to refuse.
func (d *deploymentOfManagers) verdict(ctx context.Context) error {
	if err := d.frozen(ctx); !refused(err) {
		return errors.Join(errors.New("not refused by the freeze"), err)
	}
	return nil
}

// underLoad requests changes continuously, from before an incident until after it. It returns the requests without a
// verdict.
func (d *deploymentOfManagers) underLoad(incident func(load *harness.Load)) []harness.Failure {
	GinkgoHelper()
	before := d.service.Refused()
	load := harness.StartLoad(perSecond, d.verdict)
	reach := func(n int) { Eventually(load.Asked).Should(BeNumerically(">=", n)) }
	reach(perSecond)
	incident(load)
	reach(load.Asked() + perSecond)
	failures, summary := load.Stop()
	AddReportEntry("load", ReportEntryVisibilityFailureOrVerbose,
		fmt.Sprintf("%s; %d connections refused", summary, d.service.Refused()-before))
	return failures
}

// death is the time between the death of a replica and the moment when the Service no longer leads to it. It begins
// when the replica was killed, or could not answer any more.
type death struct{ from, to time.Time }

// lost reports whether a request failed only because of the death of a replica. The request must have been under way in
// the time of the death, and its connection must have brought no answer.
func lost(f harness.Failure, deaths ...death) bool {
	text := f.Err.Error()
	return strings.Contains(text, `freeze.flyball.dev": failed to call webhook: Post "`) && !strings.Contains(text, "x509: ") &&
		slices.ContainsFunc(deaths, func(d death) bool { return f.Begun.Before(d.to) && f.Ended.After(d.from) })
}

var _ = Describe("Several replicas", Ordered, func() {
	var managers *deploymentOfManagers
	BeforeAll(func() {
		managers = newDeploymentOfManagers()
		managers.start()
		managers.start()
		Expect(managers.env.AwaitAdapters(ctx, "deployments.apps")).To(Succeed())
		Expect(managers.env.Apply(ctx, []byte(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: long}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [default]}, startTime: 2020-01-01T00:00:00Z, endTime: 2090-01-01T00:00:00Z, deny: [Scale]}
`))).To(Succeed())
		Expect(managers.env.Client.Create(ctx, deployment("default", "web"))).To(Succeed())
		Eventually(managers.verdict).WithContext(ctx).Should(Succeed())
	})

	It("each enforce a policy as soon as it is created", func() {
		own := managers.env
		Expect(own.Apply(ctx, []byte(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: new, namespace: default}
spec: {startTime: 2020-01-01T00:00:00Z, endTime: 2090-01-01T00:00:00Z, deny: [Delete]}
`))).To(Succeed())
		for _, r := range managers.running {
			Eventually(func() (string, error) {
				return deletionReview(r.address,
					managers.path())
			}).Should(ContainSubstring("ChangeFreeze/default/new denies Delete"))
		}
		Expect(own.Client.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{}, client.InNamespace("default"))).To(Succeed())
	})

	It("keep the denial that a freeze of one namespace has announced, when its Calendar is deleted and they are replaced", func() {
		own := managers.env
		Expect(own.Apply(ctx, []byte(`
apiVersion: flyball.dev/v1alpha1
kind: Calendar
metadata: {name: long}
spec: {dates: [{start: "2020-01-01", end: "2090-01-01"}]}
---
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: kept, namespace: default}
spec: {calendars: [{name: long, effect: Frozen}], deny: [Delete]}
`))).To(Succeed())
		kept := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kept"}}
		Eventually(func(g Gomega) *v1alpha1.AnnouncedDenial {
			g.Expect(own.Client.Get(ctx, client.ObjectKeyFromObject(kept), kept)).To(Succeed())
			return kept.Status.Announced
		}).ShouldNot(BeNil())
		Expect(own.Client.Delete(ctx, &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "long"}})).To(Succeed())
		for range 2 {
			managers.start()
			managers.terminate()
		}
		for _, r := range managers.running {
			Eventually(func() (string, error) {
				return deletionReview(r.address, managers.path())
			}).Should(ContainSubstring("ChangeFreeze/default/kept denies Delete"))
		}
		Expect(own.Client.Delete(ctx, kept)).To(Succeed())
	})

	It("are replaced one by one, as in a rolling update, without the loss of a request", func() {
		failures := managers.underLoad(func(*harness.Load) {
			for range 4 {
				managers.start()
				managers.terminate()
			}
		})
		Expect(failures).To(BeEmpty())
	})

	It("lose only the requests to a replica that is killed", func() {
		var deaths []death
		failures := managers.underLoad(func(*harness.Load) {
			for range 3 {
				begin := time.Now()
				managers.kill()
				deaths = append(deaths, death{begin, time.Now()})
				managers.start()
			}
		})
		for _, f := range failures {
			Expect(lost(f, deaths...)).To(BeTrue(), "begun at %s, ended at %s, deaths %v: %v", f.Begun, f.Ended, deaths, f.Err)
		}
	})

	It("let no request pass that a killed replica was answering", func() {
		var d death
		failures := managers.underLoad(func(load *harness.Load) {
			d.from = time.Now()
			Expect(managers.running[0].process.Pause()).To(Succeed())
			Eventually(func() int { return load.Waiting(time.Second) }).Should(BeNumerically(">", 0))
			managers.kill()
			d.to = time.Now()
		})
		Expect(failures).NotTo(BeEmpty())
		for _, f := range failures {
			Expect(lost(f, d)).To(BeTrue(), "begun at %s, ended at %s, death %v: %v", f.Begun, f.Ended, d, f.Err)
		}
	})

	It("that are all gone refuse frozen changes, and let everything else and the repair pass", func() {
		Expect(managers.env.Apply(ctx, []byte(byLabel))).To(Succeed())
		Eventually(managers.guard).Should(Equal(admissionregistrationv1.Fail))
		prod := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod", Labels: map[string]string{"env": "prod"}}}
		Expect(managers.env.Client.Create(ctx, prod)).To(Succeed())
		for len(managers.running) > 0 {
			managers.kill()
		}
		own := managers.env
		Expect(managers.frozen(ctx)).To(MatchError(ContainSubstring(`failed calling webhook "freeze.flyball.dev"`)))
		other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
		Expect(own.Client.Create(ctx, other)).To(Succeed())
		for ns, edits := range map[*corev1.Namespace][]string{prod: {`{"env":"dev"}`, `{"env":null}`, `null`},
			other: {`{"env":"prod"}`, `{"a":"b"}`}} {
			for _, labels := range edits {
				Expect(patch(own.Client, ns, `{"metadata":{"labels":`+labels+`}}`,
					client.DryRunAll)).To(MatchError(ContainSubstring(`failed calling webhook "namespaces.freeze.flyball.dev"`)), labels)
			}
			Expect(patch(own.Client, ns, `{"metadata":{"annotations":{"a":"b"},"finalizers":["example.com/none"]}}`)).To(Succeed())
			Expect(patch(own.Client, ns, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		}
		for _, ns := range []string{"kube-system", harness.Namespace} {
			Expect(patch(own.Client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}},
				`{"metadata":{"labels":{"repaired":"yes"}}}`)).To(Succeed())
		}
		Expect(own.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "new-",
			Labels: map[string]string{"env": "dev"}}})).To(Succeed())
		Expect(own.Client.Delete(ctx, other)).To(Succeed())
		Expect(own.Client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "free"}})).To(Succeed())
		Expect(own.Client.Create(ctx, deployment("default", "new"))).To(Succeed(), "Create is not denied, so it is not sent")
		for _, ns := range []string{"kube-system", harness.Namespace} {
			repair := deployment(ns, "repair")
			Expect(own.Client.Create(ctx, repair)).To(Succeed())
			Expect(patch(own.Client, repair, toTwo)).To(Succeed(), "the repair path")
		}
	})

	It("come back to an unchanged cluster", func() {
		Expect(managers.env.Client.Create(ctx, deployment("prod", "web"))).To(Succeed())
		managers.start()
		Eventually(managers.verdict).WithContext(ctx).Should(Succeed())
		relabel := func() error {
			return patch(managers.env.Client, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "prod"}},
				`{"metadata":{"labels":{"env":"dev"}}}`, client.DryRunAll)
		}
		Eventually(relabel).Should(Succeed(), "the admin may override")
		Expect(managers.env.Client.Delete(ctx, &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: "by-label"}})).To(Succeed())
		Eventually(managers.guard).Should(BeEmpty())
		managers.kill()
		Eventually(relabel).Should(Succeed(), "nothing is left that selects by labels")
		Expect(managers.frozen(ctx)).To(MatchError(ContainSubstring(`failed calling webhook "named-1.freeze.flyball.dev"`)))
		Expect(patch(managers.env.Client, deployment("prod", "web"), toTwo, client.DryRunAll)).To(Succeed(),
			"a freeze of one namespace binds no other")
		managers.start()
		Eventually(managers.verdict).WithContext(ctx).Should(Succeed())
	})

	It("switch to certificates from a directory, and lose nothing during their renewal", func() {
		issuer, err := harness.NewIssuer()
		Expect(err).NotTo(HaveOccurred())
		project := func(dir string) {
			GinkgoHelper()
			files, err := issuer.Files("flyball-webhook." + harness.Namespace + ".svc")
			Expect(err).NotTo(HaveOccurred())
			Expect(harness.Project(dir, files)).To(Succeed())
		}
		trusted := func(g Gomega) string {
			var config admissionregistrationv1.ValidatingWebhookConfiguration
			g.Expect(managers.env.Client.Get(ctx, client.ObjectKey{Name: "flyball-freeze"}, &config)).To(Succeed())
			return string(config.Webhooks[0].ClientConfig.CABundle)
		}
		dirs := []string{GinkgoT().TempDir(), GinkgoT().TempDir()}
		managers.kill()
		for _, dir := range dirs {
			project(dir)
			managers.start("--webhook-cert-dir=" + dir)
		}
		Eventually(trusted).Should(Equal(string(issuer.Bundle())))
		Eventually(managers.verdict).WithContext(ctx).Should(Succeed())
		failures := managers.underLoad(func(*harness.Load) {
			for i, dir := range dirs {
				before := serial(managers.running[i].address)
				project(dir)
				Eventually(serial).WithArguments(managers.running[i].address).ShouldNot(Equal(before))
			}
		})
		Expect(failures).To(BeEmpty())
		Expect(trusted(Default)).To(Equal(string(issuer.Bundle())))
		managers.terminate()
	})

	It("give way to a manager without a webhook, which leaves no webhook configuration", func() {
		managers.kill()
		Expect(managers.frozen(ctx)).To(MatchError(ContainSubstring("failed calling webhook")))
		m := managers.env.Start(harness.Options{Log: GinkgoWriter})
		Eventually(managers.frozen).WithContext(ctx).Should(Succeed())
		Expect(m.Stop()).To(Succeed())
		managers.start()
		Eventually(managers.verdict).WithContext(ctx).Should(Succeed())
	})

	It("that are removed leave no blocking configuration, although the freeze stays", func() {
		own := managers.env
		managers.kill()
		Expect(managers.frozen(ctx)).To(MatchError(ContainSubstring("failed calling webhook")))
		Expect(own.Client.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "flyball"}})).To(Succeed())
		Eventually(managers.frozen).WithContext(ctx).Should(Succeed(), "the configuration goes with its owner")

		Expect(own.Apply(ctx, []byte(role))).To(Succeed())
		managers.start()
		Eventually(managers.verdict).WithContext(ctx).Should(Succeed())
		Expect(own.Client.DeleteAllOf(ctx, &v1alpha1.Adapter{})).To(Succeed())
		Eventually(managers.frozen).WithContext(ctx).Should(Succeed(), "without adapters nothing is judged")
	})
})

// serial returns the serial number of the certificate that is served at an address.
func serial(address string) string {
	GinkgoHelper()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", address)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// deletionReview sends the review of the deletion of a Deployment to one replica, as the API server does.
func deletionReview(address, path string) (string, error) {
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"DELETE","namespace":"default","name":"web",
"resource":{"group":"apps","version":"v1","resource":"deployments"},"userInfo":{"username":"alice"},"dryRun":true,"oldObject":{"metadata":{"name":"web"}}}}`
	direct := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := direct.Post("https://"+address+path, "application/json", strings.NewReader(review))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
