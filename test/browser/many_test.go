package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// many are the namespaces of 50 targets each.
const many = 40

// manyTargets writes a file of 2,000 Deployments in many namespaces, under one cluster policy.
func manyTargets() string {
	GinkgoHelper()
	var text strings.Builder
	text.WriteString(`{apiVersion: flyball.dev/v1alpha1, kind: ClusterSchedule, metadata: {name: nights},
  spec: {target: {namespaceSelector: {}, kinds: [{group: apps, kind: Deployment}]}, timeZone: UTC,
  asleep: [{name: night, from: "20:00", to: "06:00"}]}}`)
	for ns := range many {
		_, _ = fmt.Fprintf(&text, "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: team-%02d}}", ns)
		for i := range 50 {
			_, _ = fmt.Fprintf(&text, "\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: team-%02d, name: web-%02d}, "+
				"spec: {replicas: 2}}",
				ns, i)
		}
	}
	file := filepath.Join(GinkgoT().TempDir(), "many.yaml")
	Expect(os.WriteFile(file, []byte(text.String()), 0o600)).To(Succeed())
	return file
}

var _ = Describe("A browser with 2,000 targets", func() {
	It("gets the rows of a group on demand, and scrolls through all groups", func() {
		v := visit("alice", "-A", "--offline", manyTargets())
		rows := func() int { return eval[int](v, `document.querySelectorAll(".group .name a").length`) }
		Expect(v.text()).To(ContainSubstring("of 2,000 targets"))
		Expect(eval[int](v, `document.querySelectorAll(".group").length`)).To(Equal(many))
		Expect(rows()).To(BeZero())
		Expect(eval[int](v, `document.querySelectorAll("*").length`)).To(BeNumerically("<", 10_000), "the page is too large to scroll smoothly")
		v.do(chromedp.Evaluate(`window.scrollTo(0, document.documentElement.scrollHeight)`, nil))
		last := `document.querySelectorAll(".group > summary")[39]`
		Expect(eval[bool](v, `(({top, bottom}) => top >= 0 && bottom <= innerHeight)(`+last+`.getBoundingClientRect())`)).To(BeTrue())
		v.do(chromedp.Evaluate(last+`.focus()`, nil), chromedp.KeyEvent(" "), chromedp.Click(`.group:last-of-type p a`))
		Eventually(v.seen).Should(ContainSubstring("web-49"))
		Expect(rows()).To(Equal(50))
		v.accessible()
	})
})
