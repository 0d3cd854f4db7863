package tortoise

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

const (
	// scraped is the time before noon at which the series begin. scrapedAfter is the time after noon at which they end.
	// They have one point a minute.
	scraped, scrapedAfter = 72*time.Hour + 10*time.Minute, time.Hour
	// scrapedLimit is the memory limit of the pods. killedFor is the time before noon at which one of them is killed for
	// lack of memory.
	scrapedLimit, killedFor = 150 << 20, 5 * time.Hour
)

// scrapedCPU returns the CPU that a pod has used since the first point, in core seconds, at each point.
func scrapedCPU() []float64 {
	sum := []float64{1000}
	for at := time.Minute; at <= scraped+scrapedAfter; at += time.Minute {
		sum = append(sum, sum[len(sum)-1]+60*used(noon.Add(at-scraped), "main").CPU/1000)
	}
	return sum
}

// openMetrics returns the series that cadvisor and kube-state-metrics have about pods. All pods use the same CPU. A pod
// later in the list uses less memory. There are also series of the whole pod and of its sandbox, as in cadvisor, and of
// a pod in another namespace.
func openMetrics(namespace string, pods []string) []byte {
	var b bytes.Buffer
	cpu := scrapedCPU()
	for p, pod := range pods {
		for minute := range cpu {
			at := noon.Add(time.Duration(minute)*time.Minute - scraped)
			point := func(name, namespace, labels string, value float64) {
				fmt.Fprintf(&b, "%s{namespace=%q,pod=%q%s} %s %d\n", name, namespace, pod, labels, strconv.FormatFloat(value, 'g', -1, 64), at.Unix())
			}
			killed := 0.0
			if p == 0 && !at.Before(noon.Add(-killedFor)) {
				killed = 1
			}
			memory := float64(100-p) * (1 << 20)
			for labels, times := range map[string]float64{`,container="main"`: 1, `,container=""`: 1.2, `,container="POD"`: 0.1} {
				point("container_cpu_usage_seconds_total", namespace, labels, times*cpu[minute])
				point("container_memory_working_set_bytes", namespace, labels, times*memory)
			}
			point("container_cpu_usage_seconds_total", namespace+"0", `,container="main"`, 7*cpu[minute])
			point("container_memory_working_set_bytes", namespace+"0", `,container="main"`, 7*memory)
			point("container_cpu_cfs_throttled_seconds_total", namespace, `,container="main"`, cpu[minute]/4)
			point("kube_pod_status_ready", namespace, `,condition="true"`, 1)
			point("kube_pod_status_ready", namespace, `,condition="false"`, 0)
			point("kube_pod_container_resource_limits", namespace, `,container="main",resource="memory",unit="byte"`, scrapedLimit)
			point("kube_pod_container_resource_limits", namespace, `,container="main",resource="cpu",unit="core"`, 9)
			point("kube_pod_container_status_restarts_total", namespace, `,container="main"`, killed)
			point("kube_pod_container_status_last_terminated_reason", namespace, `,container="main",reason="OOMKilled"`, killed)
		}
	}
	b.WriteString("# EOF\n")
	return b.Bytes()
}

// scrapedSample returns the sample that these series give at an instant. A rate over five minutes has the growth of the
// last four intervals.
func scrapedSample(cpu []float64, at time.Time) workload.Sample {
	minute := int((at.Sub(noon) + scraped) / time.Minute)
	s := workload.Sample{
		At: at, Container: "main", CPU: 1000 * (cpu[minute] - cpu[minute-4]) / 240, Memory: 100 << 20, Replicas: 5, Throttled: 0.2,
		MemoryLimit: scrapedLimit,
	}
	if at.Equal(noon.Add(-killedFor)) {
		s.OOMKills = 1
	}
	return s
}

// backfilled starts a Prometheus whose database already has blocks with the given series.
func backfilled(text []byte) (url string, stop func()) {
	GinkgoHelper()
	t := GinkgoTB()
	dir := t.TempDir()
	file, data := filepath.Join(dir, "series.om"), filepath.Join(dir, "data")
	Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
	out, err := exec.CommandContext(ctx, env.Cluster.Bin("promtool"), "tsdb", "create-blocks-from", "--max-block-duration=100h", "--quiet",
		"openmetrics", file, data).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return harness.Prometheus{Binary: env.Cluster.Bin("prometheus"), Config: "{}", Data: data,
		Flags: []string{"--storage.tsdb.retention.time=100y"}}.Start(t)
}

var _ = Describe("A Tortoise whose source is a real Prometheus", Label("prometheus"), func() {
	It("computes the same numbers from the series as without a cluster, goes on with new samples, and names a server that is away", func() {
		ns := web()
		pods := recordedOf(ns, "web", noon, nil).Pods
		Eventually(pods).Should(HaveLen(5))
		url, stop := backfilled(openMetrics(ns, pods()))
		at, err := prometheus.New(prometheus.Options{Address: url})
		Expect(err).NotTo(HaveOccurred())
		server, err := measure.NewPrometheus(at, nil)
		Expect(err).NotTo(HaveOccurred())
		cpu := scrapedCPU()

		By("asking for present usage, which has only the pods of the given namespaces")
		near := cmpopts.EquateApprox(1e-9, 0)
		want := map[types.NamespacedName]measure.Pod{}
		for p, pod := range pods() {
			want[types.NamespacedName{Namespace: ns, Name: pod}] = measure.Pod{
				Stamp:      strconv.FormatInt(noon.Unix(), 10),
				Containers: []measure.Container{{Name: "main", MilliCPU: scrapedSample(cpu, noon).CPU, MemoryBytes: float64(100-p) * (1 << 20)}},
			}
		}
		Eventually(func(g Gomega) {
			got, err := server.Read(ctx, []string{ns, "elsewhere"}, noon.Add(30*time.Second))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cmp.Diff(want, got, near)).To(BeEmpty())
		}).Should(Succeed())

		By("asking for the past")
		var history []workload.Sample
		for at := noon.Add(-72 * time.Hour); !at.After(noon); at = at.Add(time.Minute) {
			history = append(history, scrapedSample(cpu, at))
		}
		got, err := server.History(ctx, measure.Range{
			Namespace: ns, Pods: measure.PodsOf("Deployment", "web"), From: noon.Add(-72 * time.Hour), To: noon, Step: time.Minute,
			Note: func(text string) { Fail("the server says " + text) },
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(cmp.Diff(history, got, near)).To(BeEmpty())

		By("recommending")
		clock := clocktesting.NewFakeClock(noon)
		opts := optionsAt(clock)
		opts.Prometheus = app.PrometheusOptions{Address: url}
		suite.Start(ctx, env, opts, adapters...)
		t := newTortoise(ns, v1alpha1.TortoiseOff, fromPrometheus, func(s *v1alpha1.TortoiseSpec) { s.History.Window = "72h" })
		learner := learnerOf(t)
		learner.Observe(history...)
		// the present
		learner.Observe(workload.Sample{At: noon, Container: "main", CPU: scrapedSample(cpu, noon).CPU, Memory: 100 << 20, Replicas: 5})
		found := learner.Decide(seen(ns, noon)).Report
		Expect(found.Phase).To(Equal("Working"))
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Phase).To(Equal("Working"))
			g.Expect(st.Containers).To(HaveLen(1))
			g.Expect(st.Containers[0].CPU.Recommended.String()).To(Equal(found.Containers[0].CPU.Recommended.String()))
			g.Expect(st.Containers[0].Memory.Recommended.String()).To(Equal(found.Containers[0].Memory.Recommended.String()))
			g.Expect(st.Autoscaler.Utilisation.Recommended).To(Equal(found.Autoscaler.Utilisation.Recommended))
			g.Expect(st.Autoscaler.Min.Recommended).To(Equal(found.Autoscaler.Min.Recommended))
		}).Should(Succeed())
		Expect(found.Containers[0].Memory.Recommended.Value()).To(BeNumerically(">=", 180<<20), "the kill at 150Mi counts as 180Mi")

		By("going on: without new samples, ten minutes of silence would be an emergency")
		for range 10 {
			clock.Step(time.Minute)
			still(phaseOf(ns, "web")).Should(Equal("Working"))
		}
		Expect(readyOf(ns)(Default)).To(HaveField("Status", BeEquivalentTo("True")))

		By("going away")
		stop()
		Eventually(readyOf(ns)).Should(And(HaveField("Status", BeEquivalentTo("False")),
			HaveField("Message", And(ContainSubstring(strings.TrimPrefix(url, "http://")), ContainSubstring("the metrics API is read meanwhile")))))
	})
})
