package schedules

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/controller/notifications"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

const signingKey = "YSBrZXkgb2YgdGhpcyB0ZXN0IG9ubHk="

// receiver is a webhook that keeps the messages that it accepts.
type receiver struct {
	*httptest.Server
	// refuses is the status of the answers; 0: messages are accepted.
	refuses atomic.Int32

	mu       sync.Mutex
	received []sent
}

// sent is a message, with the default text.
type sent struct {
	Type, Subject string
	Text, Command string
}

func newReceiver() *receiver {
	GinkgoHelper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer GinkgoRecover()
		if code := r.refuses.Load(); code != 0 {
			w.WriteHeader(int(code))
			return
		}
		body, err := io.ReadAll(req.Body)
		Expect(err).NotTo(HaveOccurred())
		h := req.Header
		signature := notifications.Sign([]byte("a key of this test only"), h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), body)
		Expect(h.Get("Webhook-Signature")).To(Equal("v1," + signature))
		var e struct {
			ID, Type, Subject string
			Data              struct{ Text, Command string }
		}
		Expect(json.Unmarshal(body, &e)).To(Succeed())
		Expect(e.ID).To(Equal(h.Get("Webhook-Id")))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.received = append(r.received, sent{e.Type, e.Subject, e.Data.Text, e.Data.Command})
	}))
	DeferCleanup(r.Close)
	return r
}

func (r *receiver) messages() []sent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]sent{}, r.received...)
}

// notifying runs a manager that may send messages to this machine.
func notifying(clock *suite.Clock) *harness.Manager {
	GinkgoHelper()
	return suite.Start(scene.Ctx, scene.Env, harness.Options{Clock: clock, Notifications: app.NotificationOptions{Enabled: true,
		AllowedHosts: []string{"127.0.0.0/8", "::1/128"}}}, scene.Builtin...)
}

// notificationTo creates a Notification to a webhook, with its Secret.
func notificationTo(namespace, url string, events ...v1alpha1.NotificationEvent) *v1alpha1.Notification {
	GinkgoHelper()
	scene.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "flyball-notifications"},
		StringData: map[string]string{"url": url, "key": signingKey}})
	n := &v1alpha1.Notification{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "team"}}
	n.Spec.Events = events
	from := func(key string) v1alpha1.SecretSource {
		return v1alpha1.SecretSource{SecretKeyRef: v1alpha1.SecretKey{Name: "flyball-notifications", Key: key}}
	}
	n.Spec.To.Webhook = &v1alpha1.NotificationWebhook{URLFrom: from("url"), SigningKeyFrom: from("key")}
	scene.Create(n)
	DeferCleanup(func() { Expect(client.IgnoreNotFound(scene.Env.Client.Delete(scene.Ctx, n))).To(Succeed()) })
	return n
}

// readyNotification returns the condition Ready of a Notification.
func readyNotification(n *v1alpha1.Notification) func() *metav1.Condition {
	return func() *metav1.Condition {
		Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(n), n)).To(Succeed())
		return meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
	}
}

var _ = Describe("A Notification", func() {
	It("sends one message for each step of a night of many targets, and none again after a restart", func() {
		clock, r := suite.NewClock(scene.Monday), newReceiver()
		m := notifying(clock)
		ns := scene.NewNamespace()
		scene.CreateMany(ns, "web", 300, 3)
		scene.Known(ns, 300) // the first message counts them
		n := notificationTo(ns, r.URL, v1alpha1.EventTransitionAhead, v1alpha1.EventAsleep, v1alpha1.EventAwake)
		Eventually(readyNotification(n)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		s := scene.Nightly(ns, "nights")
		policy := "Schedule/" + ns + "/nights"
		Eventually(r.messages).Should(HaveExactElements(HaveField("Text", ContainSubstring("300 targets: 300 awake"))))

		clock.SetTime(scene.Dusk.Add(-15 * time.Minute))
		stay := "To stay awake: kubectl flyball wake schedule/nights -n " + ns + " --for 2h"
		Eventually(r.messages).Should(HaveLen(2))
		Expect(r.messages()[1]).To(Equal(sent{"dev.flyball.TransitionAhead", policy,
			policy + ": asleep in 15 minutes, at 2026-03-02T20:00:00Z: 300 targets. " + stay, stay}))

		clock.SetTime(scene.Dusk)
		Eventually(r.messages).Should(HaveLen(3))
		Expect(r.messages()[2].Type).To(Equal("dev.flyball.Asleep"))
		Expect(r.messages()[2].Text).To(And(HavePrefix(policy+": asleep since"), ContainSubstring("300 targets")))

		Eventually(func() int64 { readyNotification(n)(); return n.Status.Sent }).Should(BeEquivalentTo(3))
		Expect(n.Status.LastSent.Event).To(Equal(v1alpha1.EventAsleep))
		Expect(n.Status.LastSent.Policy).To(Equal(policy))
		Expect(m.Stop()).To(Succeed())
		clock.SetTime(scene.Dawn.Add(-10 * time.Minute))
		notifying(clock)
		Eventually(r.messages).Should(HaveLen(4))
		Expect(r.messages()[3].Text).To(ContainSubstring("awake in 10 minutes"))

		clock.SetTime(scene.Dawn)
		Eventually(r.messages).Should(HaveLen(5))
		Expect(r.messages()[4].Type).To(Equal("dev.flyball.Awake"))
		suite.Still(r.messages).Should(HaveLen(5))
		scene.Remove(s) // while a manager runs
	})

	It("reports in its status why a message is not sent, and no write of a target waits for it", func() {
		clock, r := suite.NewClock(scene.Monday), newReceiver()
		notifying(clock)
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		n := notificationTo(ns, r.URL, v1alpha1.EventAsleep, v1alpha1.EventAwake)
		Eventually(readyNotification(n)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		scene.Nightly(ns, "nights")
		atFirst, atDawn := HaveField("Type", "dev.flyball.Awake"), HaveField("Type", "dev.flyball.Awake")
		Eventually(r.messages).Should(HaveExactElements(atFirst))
		r.refuses.Store(http.StatusForbidden)
		clock.SetTime(scene.Dusk)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(readyNotification(n)).Should(And(scene.BeCondition(metav1.ConditionFalse, "NotSent"),
			HaveField("Message", ContainSubstring("the receiver answered 403 Forbidden"))))
		Expect(n.Status.LastFailure.Event).To(Equal(v1alpha1.EventAsleep))
		Expect(n.Status.Failed).To(BeEquivalentTo(1))
		r.refuses.Store(http.StatusTooManyRequests) // the next message is tried again and again
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(readyNotification(n)).Should(And(scene.BeCondition(metav1.ConditionFalse, "NotSent"),
			HaveField("Message", ContainSubstring("is tried again, at most 8 times: the receiver answered 429 Too Many Requests"))))
		Expect(n.Status.Failed).To(BeEquivalentTo(1), "no message more was given up")
		r.refuses.Store(0)
		Eventually(readyNotification(n)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(r.messages()).To(HaveExactElements(atFirst, atDawn))
	})

	It("names the missing Secret, the refused address and the fault of a template", func() {
		clock := suite.NewClock(scene.Monday)
		suite.Start(scene.Ctx, scene.Env, harness.Options{Clock: clock, Notifications: app.NotificationOptions{Enabled: true}}, scene.Builtin...)
		ns := scene.NewNamespace()
		scene.Nightly(ns, "nights")
		n := notificationTo(ns, "http://127.0.0.1:1/x?token=secret", v1alpha1.EventTransitionAhead)
		scene.Patch(n, `{"spec":{"template":"{{.Nobody}}"}}`)
		Eventually(readyNotification(n)).Should(And(scene.BeCondition(metav1.ConditionFalse, "InvalidSpec"),
			HaveField("Message", ContainSubstring("spec.template"))))
		scene.Patch(n, `{"spec":{"template":null,"to":{"webhook":{"urlFrom":{"secretKeyRef":{"name":"nothing","key":"url"}}}}}}`)
		Eventually(readyNotification(n)).Should(And(scene.BeCondition(metav1.ConditionFalse, "AddressUnreadable"),
			HaveField("Message", HavePrefix("spec.to.webhook.urlFrom: Secrets with the name nothing are not read for messages"))))
		scene.Patch(n, `{"spec":{"to":{"webhook":{"urlFrom":{"secretKeyRef":{"name":"flyball-notifications","key":"nothing"}}}}}}`)
		Eventually(readyNotification(n)).Should(And(scene.BeCondition(metav1.ConditionFalse, "AddressUnreadable"),
			HaveField("Message", "spec.to.webhook.urlFrom: the Secret flyball-notifications has no key nothing")))
		scene.Patch(n, `{"spec":{"to":{"webhook":{"urlFrom":{"secretKeyRef":{"name":"flyball-notifications","key":"url"}}}}}}`)
		Eventually(readyNotification(n)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		clock.SetTime(scene.Dusk.Add(-time.Minute))
		Eventually(readyNotification(n)).Should(And(scene.BeCondition(metav1.ConditionFalse, "NotSent"),
			HaveField("Message", And(ContainSubstring("127.0.0.1 is a loopback address"), Not(ContainSubstring("token"))))))
	})

	It("reports that the installation sends no messages", func() {
		scene.StartManager()
		n := notificationTo(scene.NewNamespace(), "https://example.com", v1alpha1.EventAsleep)
		Eventually(readyNotification(n)).Should(And(scene.BeCondition(metav1.ConditionFalse, "Disabled"),
			HaveField("Message", ContainSubstring("notifications.enabled"))))
	})

	It("sends no messages above the limit of its namespace, until an older one is deleted", func() {
		ns, r := scene.NewNamespace(), newReceiver()
		n := notificationTo(ns, r.URL, v1alpha1.EventAsleep)
		more := []*v1alpha1.Notification{n}
		for _, name := range []string{"team-2", "team-3"} {
			next := &v1alpha1.Notification{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: n.Spec}
			scene.Create(next)
			more = append(more, next)
		}
		suite.Start(scene.Ctx, scene.Env, harness.Options{Clock: suite.NewClock(scene.Monday), Notifications: app.NotificationOptions{
			Enabled: true, PerNamespace: 2}}, scene.Builtin...)
		Eventually(readyNotification(more[2])).Should(And(scene.BeCondition(metav1.ConditionFalse, "TooMany"),
			HaveField("Message", ContainSubstring("notifications.perNamespace"))))
		for _, used := range more[:2] {
			Eventually(readyNotification(used)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		}
		Expect(scene.Env.Client.Delete(scene.Ctx, more[0])).To(Succeed())
		Eventually(readyNotification(more[2])).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})
})
