package browser

import (
	"path/filepath"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The page of recommendations", func() {
	It("shows the recommended requests beside the present ones, with the history as a picture and as text", func() {
		data := filepath.Join(env.Root, "cmd", "kubectl-flyball", "cli", "testdata")
		v := visit("alice", "-n", "shop", "--offline", filepath.Join(data, "tuned"), "--usage", filepath.Join(data, "usage", "web.csv"))
		v.do(chromedp.Click(`nav a[href^="/tuning"]`), chromedp.WaitVisible(`select[name=object]`),
			chromedp.SetValue(`select[name=object]`, "Deployment.apps/shop/web"), chromedp.Click(`form[aria-label="Recommend"] button`),
			chromedp.WaitVisible(`.plot svg`))
		Eventually(v.loaded).Should(ContainSubstring("object="))
		Expect(v.text()).To(And(ContainSubstring("app cpu"), ContainSubstring("864 samples")))
		Expect(eval[int](v, `document.querySelectorAll(".plot polyline.used").length`)).To(Equal(4))
		v.do(chromedp.Click(`.plot details summary`))
		Expect(v.text()).To(ContainSubstring("Sun 2037-05-10"))
		for _, scheme := range []string{"light", "dark"} {
			v.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
			v.accessible()
		}
		v.do(chromedp.EmulateViewport(390, 844))
		Expect(eval[int](v, `document.documentElement.scrollWidth`)).To(BeNumerically("<=", 390))
	})
})
