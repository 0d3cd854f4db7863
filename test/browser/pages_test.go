package browser

import (
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// tabTo presses Tab until the focus is on an element.
func (v *visitor) tabTo(selector string) {
	GinkgoHelper()
	for range 80 {
		v.do(chromedp.KeyEvent(kb.Tab))
		if eval[bool](v, `document.activeElement.matches(`+"`"+selector+"`"+`)`) {
			Expect(eval[string](v, `getComputedStyle(document.activeElement).outlineStyle`)).NotTo(Equal("none"), "the focus is not visible")
			return
		}
	}
	Fail("the key Tab does not lead to " + selector)
}

// overrides returns the Overrides of a namespace.
func overrides(ns string) []v1alpha1.Override {
	var list v1alpha1.OverrideList
	Expect(env.Client.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
	return list.Items
}

var _ = Describe("A browser", func() {
	var ns string
	BeforeEach(func() {
		ns = suite.Namespace(ctx, env)
		apply(shop, ns)
		suite.Settled() // a status that is written during a spec would make the page refresh itself
		DeferCleanup(func() {
			suite.Remove(ctx, env, &v1alpha1.Schedule{ObjectMeta: meta(ns, "nights")})
			suite.Remove(ctx, env, &v1alpha1.ChangeFreeze{ObjectMeta: meta(ns, "sale")})
		})
	})
	web := func() *appsv1.Deployment {
		GinkgoHelper()
		var d appsv1.Deployment
		Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, &d)).To(Succeed())
		return &d
	}
	asleep := func() bool { return *web().Spec.Replicas == 0 }

	It("shows each page without a complaint, light and dark, wide and narrow", func() {
		v := visit("alice", "-n", ns)
		pages := map[string]string{"/": "web", "/policies": "Schedule/" + ns + "/nights", "/freezes": "March 2026", "/savings": "Replica hours",
			"/tuning": "No Tortoise", "/health": "Checks", "/preview": "Show the difference",
			"/target/Deployment.apps/" + ns + "/web": "Next changes",
			"/policy/Schedule/" + ns + "/nights":     "Next transitions"}
		papers := map[string]bool{}
		for _, scheme := range []string{"light", "dark"} {
			v.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			for path, want := range pages {
				Expect(v.open(path)).To(ContainSubstring(want), path)
				v.accessible()
				Expect(v.Complaints()).To(BeEmpty(), "%s, %s", path, scheme)
			}
			papers[eval[string](v, `getComputedStyle(document.documentElement).backgroundColor`)] = true
		}
		Expect(papers).To(HaveLen(2), "the colours of light and dark are the same")
		v.do(chromedp.EmulateViewport(390, 844))
		for path := range pages {
			v.open(path)
			Expect(eval[int](v, `document.documentElement.scrollWidth`)).To(BeNumerically("<=", 390), "%s is wider than the screen", path)
		}
		v.do(chromedp.Evaluate(`document.body.append(Object.assign(document.createElement("script"), {text: "window.pwned = 1"}))`, nil))
		Expect(eval[bool](v, `window.pwned === undefined`)).To(BeTrue(), "a script inside a page runs")
		Eventually(v.Complaints).Should(ContainElement(ContainSubstring("Content Security Policy")))
	})

	It("prints the chart from the first page on, with labels apart and whole names", func() {
		v := visit("alice", "-n", ns, "--price=cpu=3.1,memory=0.4,currency=EUR")
		target := "/target/Deployment.apps/" + ns + "/web"
		for _, path := range []string{"/", "/?span=day", "/?span=month", "/savings", target, "/policy/Schedule/" + ns + "/nights", "/policies"} {
			v.do(emulation.SetEmulatedMedia().WithMedia("print"), chromedp.EmulateViewport(718, 1047)) // A4 without its margins
			v.open(path)
			Expect(eval[float64](v, `document.querySelector(".chart .row:not(.axis)")?.getBoundingClientRect().bottom ?? 0`)).To(
				BeNumerically("<", 600), path)
			Expect(eval[float64](v, `Math.max(0, ...[...document.querySelectorAll("table")].map((e) => e.getBoundingClientRect().right))`)).To(
				BeNumerically("<=", 718), "%s: a table is cut", path)
			Expect(eval[bool](v, `[...document.querySelectorAll("form, nav")].every((e) => e.getBoundingClientRect().height === 0)`)).To(
				BeTrue(), path)
			Expect(eval[bool](v, `[...document.querySelectorAll(".axis .long, .axis .short")].map((e) => e.getBoundingClientRect()).filter((b) =>
				b.width > 0).every((b, i, all) => i === 0 || all[i - 1].right <= b.left)`)).To(BeTrue(), path)
			Expect(eval[bool](v, `[...document.querySelectorAll(".name")].every((e) => e.scrollWidth <= e.clientWidth)`)).To(BeTrue(), path)
		}
	})

	It("shows the reason of a bar in one sentence, at the pointer and for the keys", func() {
		v := visit("alice", "-n", ns)
		tip := func(g Gomega) (text string) {
			g.Expect(v.Run(chromedp.Evaluate(`document.querySelector("#tip:not([hidden])")?.textContent ?? ""`, &text))).To(Succeed())
			return text
		}
		v.tabTo(`.group .name a`)
		Eventually(tip).Should(MatchRegexp(`^Awake \(3 replicas\) from Mon 12:00 until Mon 19:00, because no policy changes it\.$`))
		v.do(chromedp.KeyEvent(kb.ArrowRight))
		Eventually(tip).Should(MatchRegexp(`^Asleep \(no replicas\) from Mon 19:00 until Tue 07:00, because of Schedule/` + ns + `/nights\.$`))
		v.do(chromedp.KeyEvent(kb.Escape))
		Eventually(tip).Should(BeEmpty())
		at := eval[[]float64](v, `(({left, top, width, height}) => [left + width * 0.14, top + height / 2])(
			document.querySelector(".group > .row svg.bars").getBoundingClientRect())`)
		v.do(chromedp.MouseEvent(input.MouseMoved, at[0], at[1]))
		Eventually(tip).Should(HavePrefix("Asleep "))
	})

	It("says that it is live, and that it is not when the connection is lost", func() {
		v := visit("alice", "-n", ns)
		live := func(g Gomega) (text string) {
			g.Expect(v.Run(chromedp.Evaluate(`document.querySelector("#live").textContent`, &text))).To(Succeed())
			return text
		}
		Eventually(live).Should(Equal("live"))
		v.watched()
		v.open("/policies")
		Eventually(live).Should(Equal("live"))
		v.do(chromedp.Evaluate(`streams[0].dispatchEvent(new Event("error"))`, nil))
		Eventually(live).Should(Equal("not followed: no connection"))
	})

	It("switches the zone, and filters", func() {
		v := visit("alice", "-n", ns)
		v.do(chromedp.SetValue("select[name=zone]", "Europe/Berlin")) // the page takes a choice at once
		Eventually(v.seen).Should(ContainSubstring("CET"))
		Eventually(v.loaded).Should(ContainSubstring("zone=Europe%2FBerlin")) // the keys need the script
		v.do(chromedp.KeyEvent("/"), chromedp.KeyEvent("nothing alike"), chromedp.KeyEvent(kb.Enter))
		Eventually(v.seen).Should(ContainSubstring("No target has"))
	})

	It("keeps a target awake by the keyboard alone, and follows it", func() {
		clock.SetTime(noon.Add(10 * time.Hour))
		Eventually(asleep).Should(BeTrue())
		v := visit("alice", "-n", ns)
		v.tabTo(`.group .name a`)
		v.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`form[aria-label="Override schedules"]`))
		v.tabTo(`input[name=reason]`)
		v.do(chromedp.KeyEvent("month's end"))
		v.tabTo(`form[aria-label="Override schedules"] button`)
		v.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`input[name=confirmed] ~ button`))
		Expect(v.text()).To(And(ContainSubstring("Nothing was written yet"), ContainSubstring("kubectl flyball wake deployment.apps/web")))
		Expect(overrides(ns)).To(BeEmpty())
		Eventually(func(g Gomega) (text string) { // the browser gives the focus after it shows the page
			g.Expect(v.Run(chromedp.Evaluate(`document.activeElement.textContent`, &text))).To(Succeed())
			return text
		}).Should(Equal("Confirm"))
		v.do(chromedp.KeyEvent(kb.Enter))
		Eventually(func() []v1alpha1.Override { return overrides(ns) }).Should(ConsistOf(HaveField("Spec.Reason", "month's end")))
		Eventually(asleep).Should(BeFalse())
		Eventually(v.seen).Should(ContainSubstring("Done")) // until then the server may keep the world from before
		Expect(v.open("/target/Deployment.apps/" + ns + "/web")).To(ContainSubstring("End the wake of deployment.apps/web"))
	})

	It("suspends a policy by the mouse", func() {
		v := visit("alice", "-n", ns)
		v.do(chromedp.Click(`nav a[href^="/policies"]`))
		Eventually(v.loaded).Should(HavePrefix("/policies")) // the page before has such a link, too
		v.do(chromedp.Click(`a[href*="/policy/Schedule/"]`), chromedp.WaitVisible(`form[aria-label="Suspend"]`),
			chromedp.Click(`form[aria-label="Suspend"] button`), chromedp.WaitVisible(`input[name=confirmed] ~ button`))
		Expect(v.text()).To(ContainSubstring("kubectl flyball pause schedule/nights -n " + ns))
		v.do(chromedp.Click(`input[name=confirmed] ~ button`))
		Eventually(func() bool {
			var s v1alpha1.Schedule
			Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
			return s.Spec.Suspend
		}).Should(BeTrue())
		Eventually(v.seen).Should(ContainSubstring("Done"))
	})

	It("follows a transition without being loaded again", func() {
		v := visit("alice", "-n", ns)
		Expect(v.text()).To(ContainSubstring("now awake"))
		v.do(chromedp.Evaluate(`window.notLoadedAgain = true; document.querySelector(".group .name a").focus()`, nil))
		clock.SetTime(noon.Add(10 * time.Hour))
		Eventually(asleep).Should(BeTrue())
		Eventually(v.seen).Should(ContainSubstring("now asleep"))
		Expect(eval[bool](v, `window.notLoadedAgain === true`)).To(BeTrue())
		Expect(eval[string](v, `document.activeElement.textContent`)).To(Equal("web"), "the focus is lost")
	})

	It("keeps an answer and a form that was begun, when the world changes", func() {
		v := visit("alice", "-n", ns)
		v.watched()
		asks := func() int { // the number of times that the page has learnt of a new version
			return eval[int](v, `((before) => { ["one", "two"].forEach((data) =>
				streams[0].dispatchEvent(new MessageEvent("version", {data}))); return fetches - before; })(fetches)`)
		}
		v.open("/policies")
		Expect(asks()).To(BeNumerically(">", 0))
		v.open("/target/Deployment.apps/" + ns + "/web")
		v.do(chromedp.SendKeys("input[name=reason]", "half a"), chromedp.Evaluate(`document.activeElement.blur()`, nil))
		Expect(asks()).To(Equal(0))
		v.open("/policy/Schedule/" + ns + "/nights")
		v.do(chromedp.Click(`form[aria-label="Suspend"] button`), chromedp.WaitVisible(`input[name=confirmed] ~ button`),
			chromedp.Evaluate(`document.activeElement.blur()`, nil))
		Expect(asks()).To(Equal(0))
		v.open("/freezes")
		v.do(chromedp.SendKeys("input[name=object]", "deployment/web"), chromedp.KeyEvent(kb.Tab))
		Expect(eval[string](v, `location.search`)).To(BeEmpty(), "the question is sent before it is complete")
		v.do(chromedp.KeyEvent(kb.Enter))
		Eventually(v.seen).Should(ContainSubstring("ChangeFreeze/" + ns + "/sale denies"))
	})

	It("draws both changes of the clocks, and switches the zone there", func() {
		v := visit("alice", "-n", ns)
		for from, want := range map[string]string{"2026-03-27": "goes from 02:00 to 03:00: the time between is skipped",
			"2026-10-23": "goes back from 03:00 to 02:00: the time from 02:00 to 03:00 comes twice"} {
			Expect(v.open("/?zone=Europe%2FBerlin&from=" + from)).To(ContainSubstring(want))
			Expect(eval[int](v, `document.querySelectorAll("#grid .jump").length`)).To(Equal(1))
			v.do(chromedp.SetValue("select[name=zone]", "UTC"))
			Eventually(v.seen).Should(And(ContainSubstring("UTC"), Not(ContainSubstring(want))))
		}
	})

	It("makes an exception by the mouse", func() {
		v := visit("alice", "-n", ns)
		v.open("/target/Deployment.apps/" + ns + "/web")
		form := `form[aria-label="Make an exception"] `
		v.do(chromedp.Click(form+`input[value=rollout]`), chromedp.SendKeys(form+`input[name=reason]`, "a hotfix"), chromedp.Click(form+`button`),
			chromedp.WaitVisible(`input[name=confirmed] ~ button`))
		Expect(v.text()).To(ContainSubstring("kubectl flyball except"))
		var all v1alpha1.FreezeExceptionList
		Expect(env.Client.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
		Expect(all.Items).To(BeEmpty(), "a dry run has made an exception")
		v.do(chromedp.Click(`input[name=confirmed] ~ button`))
		Eventually(v.seen).Should(ContainSubstring("Done"))
		Expect(env.Client.List(ctx, &all, client.InNamespace(ns))).To(Succeed())
		Expect(all.Items).To(HaveLen(1))
		Expect(all.Items[0].Spec.Allow).To(Equal([]v1alpha1.Action{v1alpha1.ActionRollOut}))
	})

	It("opens more tabs than a browser allows connections, and follows changes again in a tab that comes to the front", func() {
		v := visit("alice", "-n", ns)
		var first *visitor
		for range 8 {
			tab := v.another()
			if first == nil {
				first = tab
			}
			Expect(tab.open("/policies")).To(ContainSubstring("Schedule/" + ns + "/nights"))
			tab.hide(true)
			Expect(eval[int](tab, `streams.at(-1).readyState`)).To(Equal(2), "a hidden tab keeps its stream")
		}
		first.hide(false)
		Expect(eval[int](first, `streams.at(-1).readyState`)).NotTo(Equal(2), "the tab follows no changes")
	})

	It("shows hostile texts as texts", func() {
		apply(
			`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: NS, name: evil, annotations: {
  example.com/reason: "</title><script>window.pwned=1</script>"}}, spec: {replicas: 1, selector: {matchLabels: {app: e}},
  template: {metadata: {labels: {app: e}}, spec: {containers: [{name: e, image: e}]}}}}`, ns)
		v := visit("alice", "-n", ns)
		for _, path := range []string{"/", "/freezes", "/policies", "/target/Deployment.apps/" + ns + "/web",
			"/target/Deployment.apps/" + ns + "/evil", "/?q=%3Cimg%20src=x%20onerror=window.pwned=1%3E"} {
			v.open(path)
			Expect(eval[bool](v, `window.pwned === undefined && !document.querySelector("main img, main script")`)).To(BeTrue(), path)
		}
		Expect(v.open("/freezes")).To(ContainSubstring("<img src=x onerror='window.pwned=1'>"))
	})

	It("shows a person with the role view in one namespace that namespace, and no action", func() {
		apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {namespace: NS, name: bob},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: browser-view}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]}`, ns)
		var v *visitor
		Eventually(func() string {
			address, errOut, _ := serve("bob", "-n", ns)
			return address + errOut.String()
		}).Should(HavePrefix("http://")) // the API server learns of a role after it was stored
		v = visit("bob", "-n", ns)
		Expect(v.text()).To(And(ContainSubstring("web"), ContainSubstring("left out, because you may not read")))
		for _, path := range []string{"/target/Deployment.apps/" + ns + "/web", "/policy/Schedule/" + ns + "/nights"} {
			v.open(path)
			Expect(eval[bool](v, `document.querySelector("form") === null`)).To(BeTrue(), path)
		}
	})

	It("is not opened for a person without rights, who reads which right is missing", func() {
		address, errOut, code := serve("nobody", "-n", ns)
		Expect(address).To(BeEmpty())
		Expect(<-code).To(Equal(1))
		Expect(errOut.String()).To(And(ContainSubstring("rights are missing"), ContainSubstring("list schedules.flyball.dev in namespace "+ns)))
		Expect(strings.Count(errOut.String(), "\n")).To(BeNumerically(">", 2))
	})
})
