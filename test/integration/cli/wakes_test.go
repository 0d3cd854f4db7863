package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	realclock "k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/admit/front"
	"flyball.dev/flyball/engine/admit/wakes"
	"flyball.dev/flyball/test/integration/suite"
)

// sleepers are a Deployment of two replicas and a schedule under which it sleeps at noon.
const sleepers = `
{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: %[1]s, name: web}, spec: {replicas: 2, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: "a:1"}]}}}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: %[1]s, name: noons}, spec: {asleep: [{from: "11:00", to: "20:00"}], wake: {maxDuration: 12h}, target: {names: [web]}}}
`

const (
	// wakesAll are the rules of the chart's role flyball-wake.
	wakesAll = `[{apiGroups: [flyball.dev], resources: [schedules, clusterschedules], verbs: [wake]}]`
	webOf    = `"target":{"group":"apps","kind":"Deployment","namespace":%q,"name":"web"}`
)

// asleepSpec creates a namespace with a sleeping Deployment.
func asleepSpec() (ns string) {
	GinkgoHelper()
	ns = suite.Namespace(ctx, env)
	apply(sleepers, ns)
	hasReplicas(ns, 0)
	return ns
}

func hasReplicas(ns string, want int) {
	GinkgoHelper()
	Eventually(func() int { return int(*web(ns).Spec.Replicas) }).Should(Equal(want))
}

// makeReady reports both replicas of the Deployment as available, as its controller would.
func makeReady(ns string) {
	GinkgoHelper()
	Eventually(func() error { // the manager may write the object in between
		d := web(ns)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2,
			AvailableReplicas: 2, Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
		return env.Client.Status().Update(ctx, d)
	}).Should(Succeed())
}

func web(ns string) *appsv1.Deployment {
	GinkgoHelper()
	d := &appsv1.Deployment{}
	Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, d)).To(Succeed())
	return d
}

// bot returns the client of a new service account with a role in a namespace. The resource and the name are one of the
// schedules that the role covers.
func bot(ns, account, rules, resource, name string) *pipeline {
	GinkgoHelper()
	apply(`
{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: %[1]s, name: %[2]s}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: %[1]s, name: %[2]s}, rules: %[3]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: %[1]s, name: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[2]s}
subjects: [{kind: ServiceAccount, namespace: %[1]s, name: %[2]s}]
`, ns, account, rules)
	awaitRights(ns, account, authorizationv1.ResourceAttributes{Verb: wakes.Verb, Group: "flyball.dev", Resource: resource, Name: name,
		Namespace: ns})
	p := *pipelines
	p.token = tokenOf(ns, account)
	return &p
}

// wakes sends a request of the wake API, and checks it and a positive answer against the OpenAPI description.
func (p *pipeline) wakes(method, body string) (reply, wakes.Answer) {
	GinkgoHelper()
	got := p.post(method, wakes.Path, []byte(body))
	var answer wakes.Answer
	if got.Code == http.StatusOK {
		conforms("Wake", body)
		conforms("Answer", got.Text)
		Expect(json.Unmarshal([]byte(got.Text), &answer)).To(Succeed(), got.Text)
	}
	return got, answer
}

func conforms(schema, text string) {
	GinkgoHelper()
	var value any
	Expect(json.Unmarshal([]byte(text), &value)).To(Succeed(), text)
	Expect(openAPI("wakes", schema).Validate(value).Errors).To(BeEmpty(), "%s: %s", schema, text)
}

var _ = Describe("The wake API", func() {
	It("wakes a target and ends that, and an event says who did it and why", func() {
		ns := asleepSpec()
		p := bot(ns, "bot", wakesAll, "schedules", "noons")
		body := fmt.Sprintf(`{`+webOf+`,"for":"2h","reason":"demo <b>&\"x\" für alle"}`, ns)
		got, answer := p.wakes(http.MethodPost, body)
		Expect(got.Code).To(Equal(http.StatusOK), got.Text)
		Expect(answer.Until).To(BeTemporally("==", noon.Add(2*time.Hour)))
		Expect(answer.User).To(Equal("system:serviceaccount:" + ns + ":bot"))
		Expect(answer.Schedules).To(Equal([]string{"Schedule/" + ns + "/noons"}))
		Expect(answer.Asleep).To(Equal([]string{"Deployment.apps/" + ns + "/web"}))
		Expect(answer.Message).To(Equal("1 of 1 target asleep, which wake now"))
		hasReplicas(ns, 2)
		d := web(ns)
		Expect(d.Annotations).To(HaveKeyWithValue("flyball.dev/awake-until", "2026-03-02T14:00:00Z"))
		Expect(d.Annotations).To(HaveKeyWithValue("flyball.dev/awake-reason", `demo <b>&"x" für alle`))
		Eventually(func(g Gomega) {
			var events eventsv1.EventList
			g.Expect(env.Client.List(ctx, &events, client.InNamespace(ns))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", "KeptAwake"), HaveField("Regarding.UID", d.UID), HaveField("Note",
				`user "system:serviceaccount:`+ns+`:bot" keeps deployment/web awake until 2026-03-02T14:00:00Z: demo <b>&"x" für alle`))))
		}).Should(Succeed())

		_, answer = p.wakes(http.MethodPost, strings.Replace(body, "2h", "3h", 1))
		Expect(answer.Message).To(Equal("nothing is asleep: 1 target of deployment/web will not go to sleep until then"))
		got, answer = p.wakes(http.MethodDelete, fmt.Sprintf(`{`+webOf+`}`, ns))
		Expect(got.Code).To(Equal(http.StatusOK), got.Text)
		Expect(answer.Message).To(Equal("schedules decide again"))
		hasReplicas(ns, 0)
		Expect(web(ns).Annotations).NotTo(Or(HaveKey("flyball.dev/awake-until"), HaveKey("flyball.dev/awake-reason")))
	})

	It("wakes a namespace and the targets of a schedule", func() {
		ns := asleepSpec()
		p := bot(ns, "bot", wakesAll, "schedules", "noons")
		for _, place := range []string{fmt.Sprintf(`"namespace":%q`, ns),
			fmt.Sprintf(`"policy":{"kind":"Schedule","namespace":%q,"name":"noons"}`, ns)} {
			got, _ := p.wakes(http.MethodPost, `{`+place+`,"until":"2026-03-02T13:00:00+01:00"}`)
			Expect(got.Code).To(Equal(http.StatusBadRequest), got.Text)
			Expect(got.Text).To(ContainSubstring("until: 2026-03-02T13:00:00+01:00 is over"))
			got, _ = p.wakes(http.MethodPost, `{`+place+`,"until":"2026-03-02T14:00:00+01:00"}`)
			Expect(got.Code).To(Equal(http.StatusOK), got.Text)
			hasReplicas(ns, 2)
			got, _ = p.wakes(http.MethodDelete, `{`+place+`}`)
			Expect(got.Code).To(Equal(http.StatusOK), got.Text)
			hasReplicas(ns, 0)
		}
	})

	It("asks every schedule of a namespace, also without a target just now", func() {
		ns := asleepSpec()
		apply(
			`{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: %[1]s, name: previews}, spec: {asleep: [{from: "11:00", to: "20:00"}], wake: {maxDuration: 1h}, target: {names: ["preview-*"]}}}`,
			ns)
		some := bot(ns, "some", `[{apiGroups: [flyball.dev], resources: [schedules], resourceNames: [noons], verbs: [wake]}]`, "schedules",
			"noons")
		all := bot(ns, "all", wakesAll, "schedules", "noons")
		body := fmt.Sprintf(`{"namespace":%q,"for":"2h"}`, ns)
		Eventually(func() string {
			got, _ := some.wakes(http.MethodPost, body)
			return got.Text
		}).Should(ContainSubstring("the verb wake is missing on Schedule/" + ns + "/previews"))
		got, _ := all.wakes(http.MethodPost, body)
		Expect(got.Text).To(ContainSubstring("Schedule/" + ns + "/previews allows at most 1h0m0s at once"))
		all.wakes(http.MethodDelete, fmt.Sprintf(`{"namespace":%q}`, ns)) // of a request before the manager knew the schedule
		hasReplicas(ns, 0)
	})

	It("needs the verb on every schedule that selects the target, in its namespace", func() {
		ns, elsewhere := asleepSpec(), suite.Namespace(ctx, env)
		office := "office-" + ns
		apply(
			`{apiVersion: flyball.dev/v1alpha1, kind: ClusterSchedule, metadata: {name: %[2]s}, spec: {asleep: [{from: "11:30", to: "20:00"}], target: {namespaces: [%[1]s]}}}`,
			ns, office)
		DeferCleanup(func() {
			suite.Remove(ctx, env, object("flyball.dev/v1alpha1", "ClusterSchedule", "", office))
		})
		all := bot(ns, "all", wakesAll, "schedules", "noons")
		body := fmt.Sprintf(`{`+webOf+`,"for":"2h"}`, ns)
		Eventually(func() []string {
			_, answer := all.wakes(http.MethodPost, body)
			return answer.Schedules
		}).Should(Equal([]string{"ClusterSchedule/" + office, "Schedule/" + ns + "/noons"}))

		noons := `[{apiGroups: [flyball.dev], resources: [schedules], resourceNames: [noons], verbs: [wake]}]`
		edits := `[{apiGroups: [flyball.dev], resources: [schedules, clusterschedules], verbs: [patch, wake], resourceNames: [other]}]`
		nobody := *pipelines
		nobody.token = ""
		unknown := nobody
		unknown.token = "no-token-of-this-cluster"
		generic := "this takes the verb wake on each schedule that selects it"
		for _, refused := range []struct {
			p          *pipeline
			body, want string
			code       int
		}{
			{&nobody, body, "give a token of the cluster", http.StatusUnauthorized},
			{&unknown, body, "does not know this token", http.StatusUnauthorized},
			{bot(ns, "some", noons, "schedules", "noons"), body, "the verb wake is missing on ClusterSchedule/" + office + "\n",
				http.StatusForbidden},
			{bot(ns, "none", edits, "schedules", "other"), body, generic, http.StatusForbidden},
			{bot(elsewhere, "far", wakesAll, "schedules", "noons"), body, generic, http.StatusForbidden},
			{bot(elsewhere, "farther", wakesAll, "schedules", "noons"), strings.Replace(body, `"web"`, `"nothing"`, 1), generic,
				http.StatusForbidden},
			{all, `{"policy":{"kind":"ClusterSchedule","name":"` + office + `"},"for":"2h"}`, "the verb wake is missing on ClusterSchedule/" +
				office,
				http.StatusForbidden},
			{all, strings.Replace(body, `"web"`, `"nothing"`, 1), "there is no Deployment.apps/" + ns + "/nothing", http.StatusNotFound},
			{all, `{"policy":{"kind":"Schedule","namespace":"` + ns + `","name":"nothing"},"for":"2h"}`, "there is no Schedule/" + ns + "/nothing",
				http.StatusNotFound},
			{all, strings.Replace(body, "Deployment", "Deploymint", 1), "there is no adapter for the kind Deploymint.apps",
				http.StatusUnprocessableEntity},
			{all, strings.Replace(body, `"2h"`, `"13h"`, 1), "Schedule/" + ns + "/noons allows at most 12h0m0s at once (spec.wake.maxDuration)",
				http.StatusUnprocessableEntity},
			{all, strings.Replace(body, `"for":"2h"`, `"until":"2026-03-03T00:00:01Z"`, 1), "allows at most 12h0m0s at once",
				http.StatusUnprocessableEntity},
		} {
			got, _ := refused.p.wakes(http.MethodPost, refused.body)
			Expect(got.Code).To(Equal(refused.code), "%s: %s", refused.body, got.Text)
			Expect(got.Text).To(ContainSubstring(refused.want))
			if refused.want == generic {
				Expect(got.Text).NotTo(Or(ContainSubstring("noons"), ContainSubstring("office-")), "the schedules stay hidden")
			}
		}
		free := bot(elsewhere, "free", wakesAll, "schedules", "noons")
		got, _ := free.wakes(http.MethodPost, `{"namespace":"`+elsewhere+`","for":"2h"}`)
		Expect(got.Code).To(Equal(http.StatusNotFound))
		Expect(got.Text).To(ContainSubstring("no schedule selects an object in namespace " + elsewhere))
	})

	It("refuses what a freeze would refuse the caller with kubectl", func() {
		ns := asleepSpec()
		p := bot(ns, "bot", wakesAll, "schedules", "noons")
		freeze := "awake-" + ns
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: %[2]s}
spec: {target: {namespaces: [%[1]s], annotationSelector: {matchExpressions: [{key: flyball.dev/awake-until, operator: DoesNotExist}]}}, deny: [RollOut], startTime: "2026-03-02T11:00:00Z", endTime: "2026-03-03T12:00:00Z"}
`, ns, freeze)
		DeferCleanup(func() {
			suite.Remove(ctx, env, object("flyball.dev/v1alpha1", "ClusterChangeFreeze", "", freeze))
		})
		Eventually(func() string {
			got, _ := p.wakes(http.MethodPost, fmt.Sprintf(`{`+webOf+`,"for":"2h"}`, ns))
			if got.Code == http.StatusOK {
				_, _ = p.wakes(http.MethodDelete, fmt.Sprintf(`{`+webOf+`}`, ns))
			}
			return fmt.Sprint(got.Code, " ", got.Text)
		}).Should(And(HavePrefix("403"), ContainSubstring(freeze)))
		Expect(web(ns).Annotations).NotTo(HaveKey("flyball.dev/awake-until"))
	})

	It("streams until all targets are ready", func() {
		ns := asleepSpec()
		p := bot(ns, "bot", wakesAll, "schedules", "noons")
		lines, end := p.wait(ns)
		defer end()
		var answer, progress string
		Eventually(lines).Should(Receive(&answer))
		conforms("Answer", answer)
		Eventually(lines).Should(Receive(&progress, ContainSubstring("does not hold")), "it is awake, and no controller makes it ready")
		conforms("Progress", progress)
		Expect(progress).To(And(ContainSubstring(`"ready":0,"of":1,"waiting":"Deployment.apps/`+ns+`/web"`), ContainSubstring(`"done":false`)))
		makeReady(ns)
		Eventually(lines).Should(Receive(MatchJSON(`{"ready":1,"of":1,"done":true}`)))
		Eventually(lines).Should(BeClosed())
	})

	It("ends a wait with its client, and bounds the waits of a user", func() {
		ns := asleepSpec()
		p := bot(ns, "bot", wakesAll, "schedules", "noons")
		var ends []func()
		for range 10 {
			lines, end := p.wait(ns)
			ends = append(ends, end)
			Eventually(lines).Should(Receive(ContainSubstring(`"place"`)))
			Eventually(lines).Should(Receive(ContainSubstring(`"ready":0`)))
		}
		body := `{"namespace":"` + ns + `","for":"2h","wait":true}`
		got, _ := p.wakes(http.MethodPost, body)
		Expect(got.Code).To(Equal(http.StatusTooManyRequests), got.Text)
		Expect(got.Text).To(ContainSubstring("too many waits at once"))
		ends[0]()
		Eventually(func() bool {
			lines, end := p.wait(ns)
			defer end()
			_, answered := <-lines
			return answered
		}).Should(BeTrue(), "the place of the client that has gone is free")
		for _, end := range ends[1:] {
			end()
		}
	})

	It("limits its requests", func() {
		ns := asleepSpec()
		p := bot(ns, "bot", wakesAll, "schedules", "noons")
		post := func(rest string) string { return `{"namespace":"` + ns + `",` + rest + `}` }
		for _, bad := range []struct {
			method, body string
			code         int
			text         string
		}{
			{http.MethodGet, "", http.StatusMethodNotAllowed, "POST keeps awake"},
			{http.MethodPost, `[]`, http.StatusBadRequest, "cannot unmarshal array"},
			{http.MethodPost, post(`"for":"2h"`) + `{}`, http.StatusBadRequest, "there is more after the object"},
			{http.MethodPost, post(`"fro":"2h"`), http.StatusBadRequest, `unknown field "fro"`},
			{http.MethodPost, post(`"for":"2 hours"`), http.StatusBadRequest, "for: duration"},
			{http.MethodPost, post(`"for":"2h","until":"2037-01-01T00:00:00Z"`), http.StatusBadRequest, "give exactly one of for"},
			{http.MethodPost, post(`"for":"2h","policy":{"kind":"Schedule","name":"a"}`), http.StatusBadRequest, "give exactly one of target"},
			{http.MethodDelete, post(`"for":"2h"`), http.StatusBadRequest, "go with POST"},
			{http.MethodPost, `{"policy":{"kind":"Trigger","namespace":"a","name":"a"},"for":"2h"}`, http.StatusUnprocessableEntity,
				"no kind of schedules"},
			{http.MethodPost, post(`"for":"2h","reason":"a\nb"`), http.StatusBadRequest, "reason: the character U+000A"},
			{http.MethodPost, post(`"for":"2h","reason":"\u001b[31mred"`), http.StatusBadRequest, "reason: the character U+001B"},
			{http.MethodPost, post(`"for":"2h","reason":"\u202egnp.exe"`), http.StatusBadRequest, "reason: the character U+202E"},
			{http.MethodPost, post(`"for":"2h","reason":"` + strings.Repeat("x", 257) + `"`), http.StatusBadRequest, "257 bytes, more than 256"},
			{http.MethodPost, strings.Repeat("[", 8000), http.StatusBadRequest, "read the request"},
			{http.MethodPost, post(`"for":"2h","reason":"` + strings.Repeat("x", 9000) + `"`), http.StatusRequestEntityTooLarge,
				"more than 8192 bytes"},
		} {
			got := p.post(bad.method, wakes.Path, []byte(bad.body))
			Expect(got.Code).To(Equal(bad.code), "%.100s: %s", bad.body, got.Text)
			Expect(got.Text).To(ContainSubstring(bad.text), "%.100s", bad.body)
		}
		Expect(web(ns).Annotations).NotTo(HaveKey("flyball.dev/awake-until"))

		server := httptest.NewServer(wakes.New(wakes.Options{Clock: realclock.RealClock{}, Front: front.Options{
			Tokens: clients().AuthenticationV1().TokenReviews(), Rights: clients().AuthorizationV1().SubjectAccessReviews(), Rate: 1,
			Pace: realclock.RealClock{}}}))
		DeferCleanup(server.Close)
		slow := &pipeline{url: server.URL, client: server.Client(), token: p.token}
		for range 10 {
			Expect(slow.post(http.MethodPost, wakes.Path, []byte("[]")).Code).To(Equal(http.StatusBadRequest))
		}
		tooOften := slow.post(http.MethodPost, wakes.Path, []byte("[]"))
		Expect(tooOften.Code).To(Equal(http.StatusTooManyRequests), tooOften.Text)
		Expect(tooOften.Text).To(ContainSubstring(`user "system:serviceaccount:` + ns + `:bot" asks too often`))
	})

	It("has examples for a pipeline and a chat that work", func() {
		ns := asleepSpec()
		p := bot(ns, "bot", wakesAll, "schedules", "noons")
		text, err := os.ReadFile(filepath.Join(env.Root, "docs", "wake.md"))
		Expect(err).NotTo(HaveOccurred())
		example := func(language string) string {
			found := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
			Expect(found).NotTo(BeNil())
			return string(found[1])
		}
		authority := filepath.Join(GinkgoT().TempDir(), "ca.crt")
		Expect(os.WriteFile(authority, p.authority, 0o600)).To(Succeed())
		shell := func(script, token string, args ...string) (string, error) {
			cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, "sh"}, args...)...)
			cmd.Env = append(os.Environ(), "FLYBALL_URL="+p.url, "FLYBALL_CA="+authority, "FLYBALL_TOKEN="+token)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		chat := example("sh")
		Expect(strings.Count(chat, "\n")).To(BeNumerically("<=", 20))
		woken, slept := "namespace/"+ns+": 1 of 1 target asleep, which wake now\n", "namespace/"+ns+": schedules decide again\n"
		for _, said := range []struct{ command, text, want string }{
			{"/wake", ns + " 2h demo for a customer", woken}, {"/sleep", ns, slept},
			{"/wake", ns + " 99h * $(reboot)", "allows at most 12h0m0s at once"},
			{"/wake", "default 2h", "may not wake namespace/default"},
			{"/wake", ns, "write /wake NAMESPACE TIME REASON"},
			{"/sleep", "", "write /sleep NAMESPACE"},
		} {
			out, err := shell(chat, p.token, said.command, "alice", said.text)
			Expect(err == nil).To(Equal(!strings.HasPrefix(said.want, "write ")), "%s: %s", said.text, out)
			Expect(out).To(ContainSubstring(said.want))
			switch said.want {
			case woken:
				hasReplicas(ns, 2)
			case slept:
				hasReplicas(ns, 0)
			}
		}
		step := strings.Replace(example("shell"), `"shop"`, `"`+ns+`"`, 1)
		out, err := shell(step, "x")
		Expect(err).To(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("does not know this token"))
		done := make(chan string, 1)
		go func() {
			defer GinkgoRecover()
			out, err := shell(step, p.token)
			Expect(err).NotTo(HaveOccurred(), out)
			done <- out
		}()
		hasReplicas(ns, 2)
		makeReady(ns)
		Eventually(done).Should(Receive(ContainSubstring(`"done":true`)))
	})
})

// wait begins a wait for a namespace. The channel gets the lines of the answer, and is closed at its end. The function
// goes away as a client does that is killed.
func (p *pipeline) wait(ns string) (lines <-chan string, end func()) {
	GinkgoHelper()
	waiting, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(waiting, http.MethodPost, p.url+wakes.Path,
		bytes.NewBufferString(`{"namespace":"`+ns+`","for":"2h","wait":true}`))
	Expect(err).NotTo(HaveOccurred())
	req.Header.Set("Authorization", "Bearer "+p.token)
	all := make(chan string, 1000)
	resp, err := p.client.Do(req) //nolint:bodyclose // the goroutine that reads the body closes it
	Expect(err).NotTo(HaveOccurred())
	go func() {
		defer close(all)
		defer func() { _ = resp.Body.Close() }()
		for scanner := bufio.NewScanner(resp.Body); resp.StatusCode == http.StatusOK && scanner.Scan(); {
			all <- scanner.Text()
		}
	}()
	return all, cancel
}
