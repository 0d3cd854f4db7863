// Package browser tests kubectl flyball ui with a real browser, on a real API server with the real manager.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	cdruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/test/browser/chrome"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env     *harness.Env
	ctx     context.Context
	clock   *clocktesting.FakeClock
	program string
	axe     string // the text of axe-core
)

// noon is the instant at which every spec begins, on a Monday.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func TestBrowser(t *testing.T) { suite.Run(t, "kubectl flyball ui in a browser") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI}, "deployments.apps")
	var err error
	program, err = chrome.Find(ctx, env.Root)
	Expect(err).NotTo(HaveOccurred())
	axe, err = chrome.Axe(ctx, env.Root)
	Expect(err).NotTo(HaveOccurred())
	Expect(env.Apply(ctx, []byte(people))).To(Succeed())
	clock = clocktesting.NewFakeClock(noon)
	suite.Start(ctx, env, harness.Options{Clock: clock}, "deployments.apps")
})

var _ = BeforeEach(func() { clock.SetTime(noon) })

// people gives rights to two users. alice may change everything. bob has the rights of the cluster role view, in the
// namespaces that bind the role.
const people = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: browser-view}
rules:
- {apiGroups: [""], resources: [namespaces], verbs: [get]}
- {apiGroups: [apps], resources: ["*"], verbs: [get, list, watch]}
- {apiGroups: [flyball.dev], resources: ["*"], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: browser-alice}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}]
`

// shop is a namespace with a Deployment that sleeps at night.
const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: NS, name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
---
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {namespace: NS, name: nights}
spec: {target: {kinds: [{group: apps, kind: Deployment}]}, timeZone: Europe/Berlin, asleep: [{name: night, from: "20:00", to: "08:00"}]}
---
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {namespace: NS, name: sale}
spec: {target: {}, startTime: "2026-03-02T10:00:00Z", endTime: "2026-03-04T12:00:00Z", message: {reason: "<img src=x onerror='window.pwned=1'>"}}
`

// apply applies YAML. The name of the namespace ns is inserted in it.
func apply(text, ns string) {
	GinkgoHelper()
	Expect(env.Apply(ctx, []byte(strings.ReplaceAll(text, "NS", ns)))).To(Succeed())
}

// serve starts kubectl flyball ui as a user. The channel code receives the exit code.
func serve(user string, args ...string) (address string, errOut *bytes.Buffer, code chan int) {
	read, write := io.Pipe()
	serving, stop := context.WithCancel(ctx)
	code, errOut = make(chan int, 1), &bytes.Buffer{}
	args = append([]string{"ui", "--no-browser", "--time-zone=UTC", "--cache-dir=" + GinkgoT().TempDir(),
		"--kubeconfig=" + env.Cluster.Kubeconfig, "--as=" + user}, args...)
	go func() {
		code <- cli.Run(serving, args, factory.Env{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: errOut},
			Now: clock.Now})
		_ = write.Close()
	}()
	DeferCleanup(stop)
	line, _ := bufio.NewReader(read).ReadString('\n')
	return strings.TrimSpace(line), errOut, code
}

// visitor is a person with a browser.
type visitor struct {
	*chrome.Tab
	address string
}

// visit opens the printed address in a new browser, and waits for the page of the week. At the end of the spec it
// checks that no page has complained.
func visit(user string, args ...string) *visitor {
	GinkgoHelper()
	address, errOut, _ := serve(user, args...)
	Expect(address).To(HavePrefix("http://127.0.0.1:"), "%s", errOut)
	bounded, cancel := context.WithTimeout(ctx, harness.Patience*20) // of a whole spec, which opens up to 40 pages
	DeferCleanup(cancel)
	tab, end, err := chrome.Open(bounded, program, GinkgoWriter.Printf)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(end)
	root, _, _ := strings.Cut(address, "/?")
	v := &visitor{tab, root}
	v.do(chromedp.Navigate(address), chromedp.WaitVisible("main .cards"))
	DeferCleanup(func() { Expect(v.Complaints()).To(BeEmpty()) })
	return v
}

// accessible checks the page with axe-core. Violations of the impacts serious and critical are errors.
func (v *visitor) accessible() {
	GinkgoHelper()
	var found []string
	v.do(chromedp.Evaluate(axe, nil), chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"]}).then((r) =>
		r.violations.filter((v) => ["serious", "critical"].includes(v.impact)).flatMap((v) =>
			v.nodes.map((n) => location.pathname + ": " + v.id + ": " + n.html + ": " + n.failureSummary)))`, &found, awaited))
	Expect(found).To(BeEmpty())
}

// awaited makes an evaluation wait for its promise.
func awaited(p *cdruntime.EvaluateParams) *cdruntime.EvaluateParams { return p.WithAwaitPromise(true) }

// do runs actions in the browser.
func (v *visitor) do(actions ...chromedp.Action) {
	GinkgoHelper()
	Expect(v.Run(actions...)).To(Succeed())
}

// meta returns the metadata of an object.
func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// watched keeps the streams of later pages in the variable streams, and counts their requests in the variable fetches.
func (v *visitor) watched() {
	GinkgoHelper()
	v.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`const Stream = EventSource, real = fetch; window.streams = []; window.fetches = 0;
			window.EventSource = class extends Stream { constructor(a) { super(a); streams.push(this); } };
			window.fetch = (...a) => { fetches++; return real(...a); };`).Do(ctx)
		return err
	}))
}

// another opens another watched tab of the same browser.
func (v *visitor) another() *visitor {
	GinkgoHelper()
	own, end := chromedp.NewContext(v.Context)
	DeferCleanup(end)
	tab := &visitor{&chrome.Tab{Context: own}, v.address}
	tab.watched()
	return tab
}

// hide makes the page believe that its tab went to the background, or came to the front. A headless browser shows all tabs.
func (v *visitor) hide(hidden bool) {
	GinkgoHelper()
	v.do(chromedp.Evaluate(fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true});
		document.dispatchEvent(new Event("visibilitychange"))`, hidden), nil))
}

// open opens a page and returns the text of its content.
func (v *visitor) open(path string) string {
	GinkgoHelper()
	v.do(chromedp.Navigate(v.address+path), chromedp.WaitVisible("main h1"), chromedp.Poll(`document.readyState === "complete"`, nil))
	return v.text()
}

// text returns the text of the content that a person sees.
func (v *visitor) text() (text string) {
	GinkgoHelper()
	v.do(chromedp.Evaluate(`document.querySelector("main").innerText`, &text))
	return text
}

// seen returns the text of the content. Unlike text, it may be called repeatedly while the page changes.
func (v *visitor) seen(g Gomega) (text string) {
	g.Expect(v.Run(chromedp.Evaluate(`document.querySelector("main")?.innerText ?? ""`, &text))).To(Succeed())
	return text
}

// loaded returns the path and the query of the address once the page and its script are loaded, and "" before.
func (v *visitor) loaded(g Gomega) (address string) {
	g.Expect(v.Run(chromedp.Evaluate(`document.readyState === "complete" ? location.pathname + location.search : ""`, &address))).To(Succeed())
	return address
}

// eval returns the value of a JavaScript expression on the page.
func eval[T any](v *visitor, expression string) (value T) {
	GinkgoHelper()
	v.do(chromedp.Evaluate(expression, &value))
	return value
}
