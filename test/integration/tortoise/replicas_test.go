package tortoise

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// replica is one of several managers, one of which is the leader. All of them use the address of the same Service.
type replica struct {
	*harness.Process
	port   int
	health string
}

func replicate(service *harness.Service) replica {
	GinkgoHelper()
	r := replica{port: suite.FreePort(), health: fmt.Sprintf("127.0.0.1:%d", suite.FreePort())}
	r.Process = run("--leader-elect=true", "--health-probe-bind-address="+r.health, "--webhook=true", "--webhook-host=127.0.0.1",
		fmt.Sprintf("--webhook-port=%d", r.port),
		fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", service.Port()), "--webhook-secret=tortoise-replicas")
	return r
}

// serves makes a Service lead to the replica, and waits until it does.
func (r replica) serves(service *harness.Service) {
	GinkgoHelper()
	address := fmt.Sprintf("127.0.0.1:%d", r.port)
	service.Add(address, "http://"+r.health+"/readyz")
	Eventually(service.Ready).WithArguments(address).Should(BeTrue())
}

// leader returns the holder of the managers' lease.
func leader(g Gomega) string {
	lease := &coordinationv1.Lease{}
	g.Expect(client.IgnoreNotFound(env.Client.Get(ctx, client.ObjectKey{Namespace: harness.Namespace, Name: "flyball-manager"},
		lease))).To(Succeed())
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// asked sends the review of a new pod to the replica, as the API server does, and returns the requests that the pod
// gets.
func (r replica) asked(path string, pod *corev1.Pod) (string, error) {
	raw, err := json.Marshal(pod)
	if err != nil {
		return "", err
	}
	review, err := json.Marshal(admissionv1.AdmissionReview{TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1",
		Kind: "AdmissionReview"}, Request: &admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Create, Namespace: pod.Namespace, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		Object: runtime.RawExtension{Raw: raw}, DryRun: new(true),
	}})
	if err != nil {
		return "", err
	}
	direct := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := direct.Post(fmt.Sprintf("https://127.0.0.1:%d%s", r.port, path), "application/json", bytes.NewReader(review))
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Response == nil {
		return "", errors.Join(fmt.Errorf("answered with %s", resp.Status), err)
	}
	if patch := answer.Response.Patch; patch != nil {
		p, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return "", err
		}
		if raw, err = p.Apply(raw); err != nil {
			return "", err
		}
	}
	created := &corev1.Pod{}
	if err := json.Unmarshal(raw, created); err != nil {
		return "", err
	}
	return requestsOf(created), nil
}

// requestsOf returns the requests and limits of the container in a pod of web, as text.
func requestsOf(p *corev1.Pod) string {
	r := p.Spec.Containers[0].Resources
	return fmt.Sprintf("%s %s limit %s", r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Memory())
}

// witness asks a replica continuously and records the answers. It records equal successive answers only once.
type witness struct {
	stop    chan struct{}
	ended   sync.WaitGroup
	mu      sync.Mutex
	answers []string
	count   int
}

func (r replica) witnessed(path string, pod *corev1.Pod) *witness {
	w := &witness{stop: make(chan struct{})}
	w.ended.Go(func() {
		for {
			answer, err := r.asked(path, pod)
			if err != nil {
				answer = err.Error()
			}
			w.mu.Lock()
			if w.count++; len(w.answers) == 0 || w.answers[len(w.answers)-1] != answer {
				w.answers = append(w.answers, answer)
			}
			w.mu.Unlock()
			select {
			case <-w.stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return w
}

// said returns the recorded answers. asked is the number of all answers so far.
func (w *witness) said() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.answers)
}

func (w *witness) asked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// end stops asking and returns the recorded answers.
func (w *witness) end() []string {
	close(w.stop)
	w.ended.Wait()
	return w.said()
}

// toldOfNew reads the requests for new pods of web from its Recommendation.
func toldOfNew(ns string) func(Gomega) string {
	return func(g Gomega) string {
		told := recommendation(ns, "web")(g).NewPods
		g.Expect(told).NotTo(BeNil())
		g.Expect(told.Containers).To(HaveLen(1))
		g.Expect(told.Containers[0].CPU).To(BeNil())
		memory := *told.Containers[0].Memory
		limit := memory.DeepCopy()
		limit.Add(memory)
		return fmt.Sprintf("1 %s limit %s", &memory, &limit)
	}
}

// plainPod returns a pod as the newest ReplicaSet of web creates it.
func plainPod(ns string) *corev1.Pod {
	GinkgoHelper()
	pod := anyPod(Default, ns)
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("1Gi")
	return pod
}

// podsPath returns the path to which API servers send the reviews of new pods.
func podsPath(g Gomega) string {
	var config admissionregistrationv1.MutatingWebhookConfiguration
	g.Expect(env.Client.Get(ctx, client.ObjectKey{Name: "flyball-pods"}, &config)).To(Succeed())
	u, err := url.Parse(*config.Webhooks[0].ClientConfig.URL)
	g.Expect(err).NotTo(HaveOccurred())
	return u.Path
}

var _ = Describe("A replica that does not lead", func() {
	It("changes created pods like the leader, after each change of the recommendation, and after the leader was killed", func() {
		ns := web()
		kubelet(ns, nobody)
		Eventually(asked(ns)).Should(HaveKeyWithValue(own, 5))
		pod := plainPod(ns)
		Expect(requestsOf(pod)).To(Equal(own))
		remember(ns, learntUntil(ns, time.Now()))
		service, err := harness.NewService()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(service.Close)
		DeferCleanup(unhook)
		first := replicate(service)
		Eventually(leader).ShouldNot(BeEmpty())
		before := leader(Default)
		other := replicate(service)
		other.serves(service) // only the other replica serves now
		t := tortoiseOf(ns, v1alpha1.TortoiseAuto)
		t.Spec.Vertical.Apply, t.Spec.Vertical.Cooldown = v1alpha1.ApplyOnCreate, "1s"
		exactly := func(memory string) []v1alpha1.TunedResources {
			bound := &v1alpha1.Quantities{Memory: new(resource.MustParse(memory))}
			return []v1alpha1.TunedResources{{Container: "main", CPU: v1alpha1.ScaleOff, Min: bound, Max: bound}}
		}
		t.Spec.Resources = exactly("900Mi")
		Eventually(func() error { return env.Client.Create(ctx, t) }).Should(Succeed())
		Eventually(podsPath).ShouldNot(BeEmpty())
		path := podsPath(Default)
		same := func(g Gomega) {
			told := toldOfNew(ns)(g)
			for _, r := range []replica{first, other} {
				g.Expect(r.asked(path, pod)).To(Equal(told))
			}
		}
		Eventually(same).Should(Succeed())
		told := []string{toldOfNew(ns)(Default)}
		Expect(told[0]).To(Equal("1 900Mi limit 1800Mi"))
		witnesses := []*witness{first.witnessed(path, pod), other.witnessed(path, pod)}

		// change causes another recommendation, and waits until it is reported.
		change := func(memory string) {
			GinkgoHelper()
			Eventually(func() error {
				if err := env.Client.Get(ctx, client.ObjectKeyFromObject(t), t); err != nil {
					return err
				}
				t.Spec.Resources = exactly(memory)
				return env.Client.Update(ctx, t)
			}).Should(Succeed())
			Eventually(toldOfNew(ns)).Should(ContainSubstring(" " + memory + " "))
			told = append(told, toldOfNew(ns)(Default))
		}
		By("changing the recommendation")
		change("800Mi")
		Eventually(same).Should(Succeed())
		created(ns, "changed", told[1])

		By("killing the leader")
		Expect(witnesses[0].end()).To(Equal(told))
		first.Kill()
		Expect(leader(Default)).To(Equal(before))
		created(ns, "without", told[1])
		Eventually(leader).ShouldNot(Equal(before))
		change("700Mi")
		Eventually(func() string { return last(witnesses[1].said()) }).Should(Equal(told[2]))
		created(ns, "after", told[2])
		Expect(witnesses[1].end()).To(Equal(told))
		AddReportEntry("answers", ReportEntryVisibilityFailureOrVerbose,
			fmt.Sprintf("%d of the leader, %d of the other", witnesses[0].asked(), witnesses[1].asked()))
		suite.Remove(ctx, env, t)
	})
})

func last(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// created rolls web out, and checks that all of its new pods have the reported requests from the beginning.
func created(ns, turn, told string) {
	GinkgoHelper()
	rollTuned(ns, turn, "tuned-by")
	Expect(resizers(ns)(Default)).To(BeEmpty())
	Expect(asked(ns)(Default)).To(And(HaveLen(1), HaveKey(told)))
}
