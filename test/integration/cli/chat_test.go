package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("The page about chats", func() {
	It("has two lines that wake a namespace, and end that, with nothing but the right to create and delete Overrides", func() {
		ns := suite.Namespace(ctx, env)
		apply(shop, ns)
		DeferCleanup(removeNights, ns)
		developers(ns)
		asleep := func() string {
			return value(ns, change{Target: "CronJob.batch/" + ns + "/report", Field: "/spec/suspend"})
		}
		clock.SetTime(noon.Add(10 * time.Hour))
		Eventually(asleep).Should(Equal("true"))

		text, err := os.ReadFile(filepath.Join(env.Root, "docs", "wake.md"))
		Expect(err).NotTo(HaveOccurred())
		block := regexp.MustCompile("(?s)```shell\n(.*?)```").FindSubmatch(text)
		Expect(block).NotTo(BeNil())
		lines := strings.Split(strings.TrimSpace(string(block[1])), "\n")
		Expect(lines).To(HaveLen(2))
		authority := filepath.Join(GinkgoT().TempDir(), "ca.crt")
		Expect(os.WriteFile(authority, env.Config.CAData, 0o600)).To(Succeed())
		name := ""
		call := func(line, account string) (string, error) {
			cmd := exec.CommandContext(ctx, "sh", "-c", strings.Replace(line, "/namespaces/shop/", "/namespaces/"+ns+"/", 1))
			cmd.Env = append(os.Environ(), "API="+env.Config.Host, "CA="+authority, "TOKEN="+tokenOf(ns, account), "NAME="+name)
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		out, err := call(lines[0], "view")
		Expect(err).To(HaveOccurred(), out)
		out, err = call(lines[0], "orderer")
		Expect(err).NotTo(HaveOccurred(), out)
		Eventually(asleep).Should(Equal("false"))
		name = regexp.MustCompile("chat-[a-z0-9]+").FindString(out)
		out, err = call(lines[1], "orderer")
		Expect(err).NotTo(HaveOccurred(), out)
		Eventually(asleep).Should(Equal("true"))
	})
})
