package cli

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// browser is the browser of a person in front of kubectl flyball ui.
type browser struct {
	http.Client
	address string
}

// openUI starts kubectl flyball ui as a user, and uses the printed address.
func openUI(user string, args ...string) *browser {
	GinkgoHelper()
	read, write := io.Pipe()
	serving, stop := context.WithCancel(ctx)
	code := make(chan int, 1)
	args = append([]string{"ui", "--no-browser", "--time-zone=UTC", "--cache-dir=" + GinkgoT().TempDir()}, args...)
	if who, ok := accounts[user]; ok {
		args = append(args, "--kubeconfig="+kubeconfigOf(who[0], who[1]))
	} else {
		args = append(args, "--kubeconfig="+env.Cluster.Kubeconfig, "--as="+user, "--as-group=people")
	}
	go func() {
		defer GinkgoRecover()
		code <- cli.Run(serving, args, factory.Env{
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: GinkgoWriter},
			Now:       clock.Now})
		_ = write.Close()
	}()
	DeferCleanup(func() {
		stop()
		Eventually(code).Should(Receive(Equal(0)))
	})
	line, err := bufio.NewReader(read).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	jar, err := cookiejar.New(nil)
	Expect(err).NotTo(HaveOccurred())
	root, query, _ := strings.Cut(strings.TrimSpace(line), "/?")
	b := &browser{Client: http.Client{Jar: jar}, address: root}
	b.page(http.MethodGet, "/?"+query, nil, http.StatusOK)
	return b
}

// page returns a page. A form is sent as a browser sends it.
func (b *browser) page(method, path string, form url.Values, status int) string {
	GinkgoHelper()
	r, err := http.NewRequestWithContext(ctx, method, b.address+path, strings.NewReader(form.Encode()))
	Expect(err).NotTo(HaveOccurred())
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.address)
	}
	answer, err := b.Do(r)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(answer.StatusCode).To(Equal(status), string(text))
	return string(text)
}

var formToken = regexp.MustCompile(`name="token" value="([0-9a-f]{64})"`)

// act sends a form, first as a dry run.
func (b *browser) act(form url.Values, status int) string {
	GinkgoHelper()
	form.Set("token", formToken.FindStringSubmatch(b.page(http.MethodGet, "/preview", nil, http.StatusOK))[1])
	return b.page(http.MethodPost, "/act", form, status)
}

var _ = Describe("Pages", func() {
	var ns string
	BeforeEach(func() {
		ns = suite.Namespace(ctx, env)
		apply(shop, ns)
		DeferCleanup(removeNights, ns)
		clock.SetTime(noon.Add(10 * time.Hour))
		Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(ContainSubstring("2 asleep"))
	})
	nights := func() bool {
		var s v1alpha1.Schedule
		Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
		return s.Spec.Suspend
	}

	It("take actions once they are confirmed, with the rights of the person", func() {
		b := openUI("alice", "-n", ns)
		place := "/target/CronJob.batch/" + ns + "/report"
		Expect(b.page(http.MethodGet, place, nil, http.StatusOK)).To(ContainSubstring("<option>cronjob.batch/report</option>"))
		form := url.Values{"verb": {"wake"}, "on": {"cronjob.batch/report"}, "namespace": {ns}, "for": {"2h"}, "reason": {"month's end"}}
		got := b.act(form, http.StatusOK)
		Expect(got).To(And(ContainSubstring("Nothing was written yet"), ContainSubstring("kubectl flyball wake cronjob.batch/report")))
		Expect(overridesOf(ns)).To(BeEmpty())
		form.Set("confirmed", "yes")
		b.act(form, http.StatusOK)
		Expect(overridesOf(ns)).To(ConsistOf(HaveField("Spec.OverrideRules", Equal(v1alpha1.OverrideRules{Effect: v1alpha1.OverrideAwake,
			Until: "2026-03-03T00:00:00Z", Reason: "month's end"}))))
		Expect(b.page(http.MethodGet, place, nil, http.StatusOK)).To(ContainSubstring("End the wake of cronjob.batch/report"))
		b.act(url.Values{"verb": {"wake"}, "end": {"yes"}, "on": {"cronjob.batch/report"}, "namespace": {ns}, "confirmed": {"yes"}},
			http.StatusOK)
		Expect(overridesOf(ns)).To(BeEmpty())

		policy := "/policy/Schedule/" + ns + "/nights"
		Expect(b.page(http.MethodGet, policy, nil, http.StatusOK)).To(ContainSubstring("Suspend the policy"))
		form = url.Values{"verb": {"pause"}, "on": {"schedule/nights"}, "namespace": {ns}}
		b.act(form, http.StatusOK)
		Expect(nights()).To(BeFalse())
		form.Set("confirmed", "yes")
		b.act(form, http.StatusOK)
		Expect(nights()).To(BeTrue())
		Expect(b.page(http.MethodGet, policy, nil, http.StatusOK)).To(ContainSubstring("Resume the policy"))
		form.Set("end", "yes")
		b.act(form, http.StatusOK)
		Expect(nights()).To(BeFalse())
	})

	It("make an exception from a freeze", func() {
		apply(`{apiVersion: flyball.dev/v1alpha1, kind: ChangeFreeze, metadata: {name: sale, namespace: %s},
  spec: {target: {}, startTime: "2026-03-02T12:00:00Z", endTime: "2026-03-04T12:00:00Z"}}`, ns)
		DeferCleanup(func() {
			Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{}, client.InNamespace(ns))).To(Succeed())
			Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.FreezeException{}, client.InNamespace(ns))).To(Succeed())
		})
		Eventually(func() int { return run("alice:people", "", "can-i", "rollout", "deployment/web", "-n", ns).Code }).Should(Equal(1))
		b := openUI("alice", "-n", ns)
		Expect(b.page(http.MethodGet, "/target/Deployment.apps/"+ns+"/web", nil, http.StatusOK)).To(ContainSubstring("Make an exception"))
		form := url.Values{"verb": {"except"}, "on": {"deployment.apps/web"}, "namespace": {ns}, "allow": {"rollout"}, "for": {"1h"},
			"reason": {"CVE fix"}}
		exceptions := func() int {
			var all v1alpha1.FreezeExceptionList
			Expect(env.Client.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
			return len(all.Items)
		}
		Expect(b.act(form, http.StatusOK)).To(ContainSubstring("It lifts"))
		Expect(exceptions()).To(Equal(0))
		form.Set("confirmed", "yes")
		b.act(form, http.StatusOK)
		Expect(exceptions()).To(Equal(1))
	})

	It("offer nothing to a person without rights, and nothing at all read-only", func() {
		b := openUI("viewer", "-n", ns)
		form := url.Values{"verb": {"wake"}, "on": {"cronjob.batch/report"}, "namespace": {ns}, "for": {"2h"}, "confirmed": {"yes"}}
		for _, path := range []string{"/target/CronJob.batch/" + ns + "/report", "/policy/Schedule/" + ns + "/nights"} {
			Expect(b.page(http.MethodGet, path, nil, http.StatusOK)).NotTo(ContainSubstring("<form"))
		}
		Expect(b.act(form, http.StatusUnprocessableEntity)).To(ContainSubstring(
			"this right is needed: create overrides.flyball.dev in namespace " + ns))
		b = openUI("alice", "-n", ns, "--read-only")
		Expect(b.page(http.MethodGet, "/target/CronJob.batch/"+ns+"/report", nil, http.StatusOK)).NotTo(ContainSubstring("<form"))
		b.act(form, http.StatusNotFound)
		Expect(overridesOf(ns)).To(BeEmpty())
	})
})
