package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	realclock "k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/test/integration/suite"
)

// sale is a freeze that denies roll-outs of frozen objects for a day, from the instant at which specs begin.
const sale = `
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: sale, namespace: %[1]s}
spec: {target: {selector: {matchLabels: {frozen: "yes"}}}, deny: [RollOut], startTime: "2026-03-02T11:00:00Z", endTime: "2026-03-03T12:00:00Z", message: {reason: sale}}
`

// frozenSpec creates a namespace with two Deployments, one of which is frozen. It also returns a pipeline for this
// namespace.
func frozenSpec(asker *pipeline) (ns string, p *pipeline) {
	GinkgoHelper()
	ns = suite.Namespace(ctx, env)
	k := kindsOfTable[0]
	for _, name := range []string{"frozen", "free"} {
		apply("%s", manifest(k.apiVersion, k.kind, ns, name, k.spec))
	}
	apply(sale, ns)
	p = asker.of(ns, "deployer")
	Eventually(func() string { return p.ask(rollout(ns, "frozen")).Text }).Should(ContainSubstring(`"allowed":false`))
	return ns, p
}

func rollout(ns, name string) string {
	return "{action: RollOut, object: {group: apps, kind: Deployment, namespace: " + ns + ", name: " + name + "}}"
}

var _ = Describe("The evaluate API", func() {
	It("answers callers, for themselves, now and later", func() {
		ns, p := frozenSpec(pipelines)
		now := p.ask(rollout(ns, "frozen")).Review.Status
		Expect(now.User.Name).To(Equal("system:serviceaccount:" + ns + ":deployer"))
		Expect(now.User.Groups).To(ContainElements("system:serviceaccounts:"+ns, "system:authenticated"))
		Expect(now.NextAllowed).To(BeTemporally("==", noon.Add(24*time.Hour)))
		Expect(now.Denials[0].Reason).To(Equal("sale"))
		later := strings.Replace(rollout(ns, "frozen"), "{", "{at: 2026-03-03T12:00:00Z, ", 1)
		Expect(p.ask(later).Review.Status.Allowed).To(BeTrue())
		Expect(p.ask(rollout(ns, "free")).Review.Status.Allowed).To(BeTrue())
		other := p.ask("{manifest: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: " + ns + ", name: a}}}").Review.Status
		Expect(other.Allowed).To(BeTrue())
		Expect(other.Note).To(ContainSubstring("there is no adapter for ConfigMap"))
	})

	It("gives no verdict to unknown callers, or callers without the right", func() {
		ns, p := frozenSpec(pipelines)
		elsewhere := suite.Namespace(ctx, env)
		admin := *p
		admin.token = "" // the administrator of the specs has a certificate, and no token
		none := *p
		none.token = "no-token-of-this-cluster"
		stranger := *pipelines.of(elsewhere, "stranger")
		impersonator := *pipelines.of(ns, "impersonator", "people")
		for _, refused := range []struct {
			p          *pipeline
			spec, want string
			code       int
		}{
			{&admin, rollout(ns, "free"), "give a token of the cluster", http.StatusUnauthorized},
			{&none, rollout(ns, "free"), "does not know this token", http.StatusUnauthorized},
			{&stranger, rollout(ns, "free"), "may not create freezereviews.flyball.dev in namespace " + ns, http.StatusForbidden},
			{&stranger, rollout(ns, "nothing"), "may not create freezereviews.flyball.dev in namespace " + ns, http.StatusForbidden},
			{p, rollout(elsewhere, "free"), "may not create freezereviews.flyball.dev in namespace " + elsewhere, http.StatusForbidden},
			{p, "{manifest: {apiVersion: v1, kind: Namespace, metadata: {name: a}}}", "may not create freezereviews.flyball.dev",
				http.StatusForbidden},
			{p, strings.Replace(rollout(ns, "free"), "{", "{user: alice, ", 1), `may not impersonate users "alice"`, http.StatusForbidden},
			{p, strings.Replace(rollout(ns, "free"), "{", "{user: 'system:serviceaccount:a:b', ", 1), `may not impersonate serviceaccounts "b"`,
				http.StatusForbidden},
			{p, strings.Replace(rollout(ns, "free"), "{", "{user: 'system:serviceaccount:"+ns+":deployer', groups: [oncall], ", 1),
				`may not impersonate groups "oncall"`, http.StatusForbidden},
			{&impersonator, strings.Replace(rollout(ns, "free"), "{", "{user: alice, groups: [people, oncall], ", 1),
				`may not impersonate groups "oncall"`, http.StatusForbidden},
		} {
			got := refused.p.ask(refused.spec)
			Expect(got.Code).To(Equal(refused.code), "%s: %s", refused.spec, got.Text)
			Expect(got.Text).To(ContainSubstring(refused.want))
			Expect(got.Text).NotTo(ContainSubstring("sale"))
		}
		Expect(impersonator.ask(strings.Replace(rollout(ns, "free"), "{", "{user: alice, groups: [people], ",
			1)).Review.Status.User.Groups).To(Equal([]string{"people", "system:authenticated"}))
	})

	It("accepts only tokens for its own audience, if configured", func() {
		ns := suite.Namespace(ctx, env)
		p := pipelines.of(ns, "deployer")
		own := served(evaluate.Options{Audiences: []string{"flyball"}, Rate: 100})
		own.token = p.token
		Expect(own.ask(rollout(ns, "free")).Code).To(Equal(http.StatusUnauthorized))
		own.token = tokenOf(ns, "deployer", "flyball")
		Expect(own.ask(rollout(ns, "free")).Code).To(Equal(http.StatusUnprocessableEntity), "known, and asks about a kind without an adapter")
		p.token = own.token
		Expect(p.ask(rollout(ns, "free")).Code).To(Equal(http.StatusUnauthorized), "of no use elsewhere")
	})

	It("limits its requests", func() {
		ns, p := frozenSpec(pipelines)
		for _, bad := range []struct {
			method, path, body string
			code               int
			text               string
		}{
			{http.MethodGet, evaluate.Path, "", http.StatusMethodNotAllowed, "post a FreezeReview"},
			{http.MethodPost, evaluate.Path + "/", "{}", http.StatusNotFound, "404 page not found"},
			{http.MethodPost, "/elsewhere", "{}", http.StatusNotFound, "404 page not found"},
			{http.MethodPost, evaluate.Path, "{}", http.StatusBadRequest, `apiVersion and kind are "" and ""`},
			{http.MethodPost, evaluate.Path, `{"spec": ` + strings.Repeat("[", 2000), http.StatusBadRequest, "nested deeper than"},
			{http.MethodPost, evaluate.Path, `{"spec": "` + strings.Repeat("x", 4<<20) + `"}`, http.StatusRequestEntityTooLarge, "bytes, more than"},
		} {
			got := p.post(bad.method, bad.path, []byte(bad.body))
			Expect(got.Code).To(Equal(bad.code), "%s %s %.20s", bad.method, bad.path, bad.body)
			Expect(got.Text).To(ContainSubstring(bad.text), "%s %s %.20s", bad.method, bad.path, bad.body)
		}
		unknown := p.ask("{action: Scale, object: {group: apps, kind: Deploymint, namespace: " + ns + ", name: a}}")
		Expect(unknown.Code).To(Equal(http.StatusUnprocessableEntity))
		Expect(unknown.Text).To(ContainSubstring("there is no adapter for the kind Deploymint.apps"))
		Expect(p.ask(rollout(ns, "nothing")).Text).To(ContainSubstring("there is no Deployment.apps/" + ns +
			"/nothing: only its creation can be judged"))
		Expect(p.ask("{manifest: {apiVersion: apps/v1beta1, kind: Deployment, metadata: {namespace: " + ns +
			", name: a}}}").Text).To(ContainSubstring("write the manifest in that version"))

		slow := served(evaluate.Options{Rate: 1, Pace: clocktesting.NewFakePassiveClock(noon)}) // so that no time refills the limit
		slow.token = p.token
		for range 10 {
			Expect(slow.ask(rollout(ns, "free")).Code).To(Equal(http.StatusUnprocessableEntity))
		}
		tooOften := slow.ask(rollout(ns, "free"))
		Expect(tooOften.Code).To(Equal(http.StatusTooManyRequests), tooOften.Text)
		Expect(tooOften.Text).To(ContainSubstring(`user "system:serviceaccount:` + ns + `:deployer" asks too often`))
		Expect(tooOften.Header.Get("Retry-After")).To(Equal("1"))
		slow.token = pipelines.of(ns, "another").token
		Expect(slow.ask(rollout(ns, "free")).Code).To(Equal(http.StatusUnprocessableEntity), "another user has not asked yet")
	})

	It("has a step for pipelines that fails closed", func() {
		text, err := os.ReadFile(filepath.Join(env.Root, "docs", "evaluate.md"))
		Expect(err).NotTo(HaveOccurred())
		step := regexp.MustCompile("(?s)```shell\n(.*?)```").FindSubmatch(text)
		Expect(step).NotTo(BeNil())
		Expect(strings.Count(string(step[1]), "\n")).To(Equal(3), "three lines")
		asked := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(text)
		Expect(asked).NotTo(BeNil())

		ns, p := frozenSpec(pipelines)
		authority := filepath.Join(GinkgoT().TempDir(), "ca.crt")
		Expect(os.WriteFile(authority, p.authority, 0o600)).To(Succeed())
		review := func(name string) string {
			return strings.NewReplacer(`"shop"`, `"`+ns+`"`, `"web"`, `"`+name+`"`).Replace(string(asked[1]))
		}
		type variables struct{ url, ca, token, review string }
		good := variables{p.url, authority, p.token, review("free")}
		run := func(edit func(*variables)) (string, error) {
			v := good
			edit(&v)
			cmd := exec.CommandContext(ctx, "sh", "-c", string(step[1]))
			cmd.Env = append(os.Environ(), "FLYBALL_URL="+v.url, "FLYBALL_CA="+v.ca, "FLYBALL_TOKEN="+v.token, "FLYBALL_REVIEW="+v.review)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		out, err := run(func(*variables) {})
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring(`"allowed":true`))
		for what, edit := range map[string]func(*variables){ // the keys are patterns of the printed text
			"ChangeFreeze/" + ns + "/sale denies RollOut": func(v *variables) { v.review = review("frozen") },
			"does not know this token":                    func(v *variables) { v.token = "x" },
			"may not create freezereviews.flyball.dev":    func(v *variables) { v.review = strings.Replace(good.review, ns, "default", 1) },
			"unknown field":                               func(v *variables) { v.review = strings.Replace(good.review, `"action"`, `"actoin"`, 1) },
			"there is no Deployment":                      func(v *variables) { v.review = review("nothing") },
			`curl: \(7\) Failed to connect`:               func(v *variables) { v.url = "https://127.0.0.1:1" },
			`curl: \((35|60|77)\).*certificate`:           func(v *variables) { v.ca = "/dev/null" },
			// The request is refused before its body is read. curl may see the end of the connection before it has sent the
			// body. So the error that it reports depends on how much it has sent.
			`curl: \(\d+\) `: func(v *variables) { v.url += "/elsewhere" },
		} {
			out, err := run(edit)
			Expect(err).To(HaveOccurred(), "%s: %s", what, out)
			Expect(out).To(MatchRegexp(what))
		}
	})
})

// served starts the API without a manager. It knows the API server, but has no adapters.
func served(o evaluate.Options) *pipeline {
	GinkgoHelper()
	if o.KindOf == nil {
		o.KindOf = func(schema.GroupKind) (evaluate.Served, bool) { return evaluate.Served{}, false }
	}
	o.Tokens, o.Rights = clients().AuthenticationV1().TokenReviews(), clients().AuthorizationV1().SubjectAccessReviews()
	o.Clock = realclock.RealClock{}
	if o.Pace == nil {
		o.Pace = o.Clock
	}
	server := httptest.NewServer(evaluate.New(o))
	DeferCleanup(server.Close)
	return &pipeline{url: server.URL, client: server.Client(), schema: pipelines.schema}
}
