package idle

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/test/harness"
)

// history is two days of series before an instant, and an hour after it for slow machines: requests for web in the first of each twelve
// hours, with a sample every 15 seconds, and a series with a sample a minute.
func history(now time.Time) string {
	var b bytes.Buffer
	begin, end, n := now.Add(5*time.Minute-49*time.Hour).Truncate(time.Minute), now.Add(time.Hour), 0
	for i := 0; begin.Add(time.Duration(i) * 15 * time.Second).Before(end); i++ {
		at := begin.Add(time.Duration(i) * 15 * time.Second)
		if i%(12*60*4) < 60*4 {
			n++
		}
		fmt.Fprintf(&b, "requests_total{namespace=\"shop\",name=\"web\"} %d %d\n", n, at.Unix())
		fmt.Fprintf(&b, "requests_total{namespace=\"shop\",name=\"stats\"} 1 %d\n", at.Unix())
	}
	for at := begin; at.Before(end); at = at.Add(time.Minute) {
		fmt.Fprintf(&b, "seldom_total{namespace=\"shop\",name=\"web\"} 1 %d\n", at.Unix())
	}
	b.WriteString("# EOF\n")
	return b.String()
}

// objects are targets and schedules with demands.
const objects = `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web}, spec: {replicas: 2}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: db}, spec: {replicas: 1}}
`

const schedule = `---
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {namespace: shop, name: %s}
spec:
  target: {kinds: [{group: apps, kind: Deployment}], names: [%s]}
  idle: {demand: "rate(%s[2m])", asleepAfter: 2h, interval: %s, labels: {name: %s}}
`

// flyball runs the plugin on files, at an instant.
func flyball(now time.Time, files string, args ...string) (out string, err error) {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "objects.yaml")
	Expect(os.WriteFile(file, []byte(files), 0o600)).To(Succeed())
	var said bytes.Buffer
	cmd := cli.New(factory.Env{IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &said, ErrOut: &said},
		Now: func() time.Time { return now }})
	cmd.SetArgs(append(args, "--offline", file, "-n", "shop"))
	err = cmd.ExecuteContext(ctx)
	return said.String(), err
}

var _ = Describe("The history of a demand", Label("prometheus"), Ordered, func() {
	var (
		url string
		now time.Time
	)

	BeforeAll(func() {
		dir := GinkgoT().TempDir()
		file, data := filepath.Join(dir, "series.om"), filepath.Join(dir, "data")
		now = time.Now()
		Expect(os.WriteFile(file, []byte(history(now)), 0o600)).To(Succeed())
		out, err := exec.CommandContext(ctx, env.Cluster.Bin("promtool"), "tsdb", "create-blocks-from", "--max-block-duration=100h", "--quiet",
			"openmetrics", file, data).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		url, _ = harness.Prometheus{Binary: env.Cluster.Bin("prometheus"), Config: "{}", Data: data}.Start(GinkgoTB())
	})

	It("says how long a target would have slept, and how often a user would have woken it", func() {
		suggest := func(g Gomega) string {
			out, err := flyball(now, objects, "suggest", "schedule", "deployment/web", "--idle", "rate(requests_total[2m])", "--prometheus", url,
				"--history", "2d", "--asleep-after", "3h")
			g.Expect(err).NotTo(HaveOccurred(), out)
			return out
		}
		Eventually(suggest).Should(And(
			ContainSubstring("# - with 2h this would have slept 75 % of the time, with 4 wakes\n"),
			ContainSubstring("# - with 3h this would have slept 66 % of the time, with 4 wakes\n"),
			ContainSubstring("# - the longest wait of a user: 31s until the write, and the start of the pods\n"),
			ContainSubstring("    asleepAfter: 3h\n    demand: rate(requests_total[2m])\n  target:\n"),
			Not(ContainSubstring("labels"))))

		By("asking only for series of its namespace, as the manager does")
		out, err := flyball(now, objects, "suggest", "schedule", "deployment/web", "--idle", "rate(requests_total[2m])", "--prometheus", url,
			"--history", "2h", "--prometheus-tenant-label", "team")
		Expect(err).To(MatchError(ContainSubstring("the demand has no series for Deployment.apps/shop/web")), out)

		By("showing explain since when nobody uses it")
		out, err = flyball(now, objects+fmt.Sprintf(schedule, "use", "web", "requests_total", "15s", "name"), "explain", "deployment/web",
			"--prometheus", url, "--prometheus-tenant-label", "namespace")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(MatchRegexp(`(last used at|no use is known since|not used since) `))

		By("refusing a flag as the demand")
		out, err = flyball(now, objects, "suggest", "schedule", "deployment/web", "--prometheus", url, "--idle", "--help")
		Expect(err).To(MatchError(ContainSubstring(`--idle: "--help" looks like a flag`)), out)

		By("naming a demand without a series for the target")
		out, err = flyball(now, objects, "suggest", "schedule", "deployment/db", "--idle", "rate(requests_total[2m])", "--prometheus", url,
			"--history", "2h")
		Expect(err).To(MatchError(ContainSubstring("the demand has no series for Deployment.apps/shop/db")), out)
	})

	It("shows doctor the series that name no target, and those with too few samples", func() {
		doctor := func(name, target, series, interval, label string) string {
			out, _ := flyball(now, objects+fmt.Sprintf(schedule, name, target, series, interval, label), "doctor", "--prometheus", url,
				"--prometheus-tenant-label", "namespace")
			return out
		}
		Eventually(func() string { return doctor("good", "web", "requests_total", "15s", "name") }).Should(
			ContainSubstring("1 demand answered, with a fresh series for each target"))
		out, _ := flyball(now, objects+fmt.Sprintf(schedule, "free", "web", "requests_total", "15s", "name"), "doctor", "--prometheus", url)
		Expect(out).To(ContainSubstring("Schedule/shop/free: spec.idle of a namespaced Schedule needs a label that keeps its query inside"))
		Expect(doctor("foreign", "web", `requests_total{namespace=\"bakery\"}`, "15s", "name")).To(ContainSubstring(
			`no series of requests_total{namespace="bakery",namespace="shop"} has a sample of the last 30s`))
		Expect(doctor("seldom", "web", "seldom_total", "30s", "name")).To(ContainSubstring("Schedule/shop/seldom: the series of " +
			`seldom_total{namespace="shop"} have a sample every 1m0s, and spec.idle.interval is 30s`))
		Expect(doctor("other", "db", "requests_total", "15s", "name")).To(ContainSubstring(
			"Schedule/shop/other: no series names a target by the labels namespace and name, for example "))
		Expect(doctor("half", "web, db", "requests_total", "15s", "name")).To(ContainSubstring(
			"Schedule/shop/half: 1 of 2 targets stay as they are, such as Deployment.apps/shop/db: the demand has no series for it"))
		Expect(doctor("stale", "web", "gone_total", "15s", "name")).To(ContainSubstring(
			`no series of gone_total{namespace="shop"} has a sample of the last 30s`))
	})
})
