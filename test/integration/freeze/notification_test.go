package freeze

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A Notification", func() {
	It("reports a freeze ahead, its begin and end, the changes that it denies, and exceptions", func() {
		var mu sync.Mutex
		texts := map[string][]string{}
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var e struct {
				Data struct {
					Event string
					Text  string
				}
			}
			if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			texts[e.Data.Event] = append(texts[e.Data.Event], e.Data.Text)
		}))
		DeferCleanup(receiver.Close)
		received := func(event string) func() string {
			return func() string {
				mu.Lock()
				defer mu.Unlock()
				return strings.Join(texts[event], "\n")
			}
		}
		ns, alice := newNamespace(), as("alice", "developers")
		web := deployment(ns, "web")
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		apply(`
apiVersion: v1
kind: Secret
metadata: {name: flyball-notifications, namespace: %s}
stringData: {url: %q, key: YSBrZXkgb2YgdGhpcyB0ZXN0IG9ubHk=}
---
apiVersion: flyball.dev/v1alpha1
kind: Notification
metadata: {name: team, namespace: %s}
spec:
  events: [FreezeAhead, FreezeBegun, FreezeOver, Denied, ExceptionMade, ExceptionUsed]
  ahead: 1h
  to:
    webhook:
      urlFrom: {secretKeyRef: {name: flyball-notifications, key: url}}
      signingKeyFrom: {secretKeyRef: {name: flyball-notifications, key: key}}
`, ns, receiver.URL, ns)
		clock.SetTime(noon.Add(-30 * time.Minute))
		freezing(ns, "inventory", everything)
		Eventually(received("FreezeAhead")).Should(HavePrefix(
			"ChangeFreeze/" + ns + "/inventory: the freeze begins in 30 minutes, at 2026-03-02T12:00:00Z: changes are denied"))

		clock.SetTime(noon)
		Eventually(received("FreezeBegun")).Should(HavePrefix("ChangeFreeze/" + ns + "/inventory: freeze begun: "))
		Eventually(func() error { return patch(alice, web, restart) }).Should(BeRefused("inventory denies RollOut"))
		Eventually(received("Denied")).Should(ContainSubstring("RollOut of Deployment.apps/" + ns + "/web by alice"))

		grant("except", "release", ns, "freezeexceptions", "except")
		dave := as("dave", "release")
		Eventually(func() error {
			return dave.Create(ctx, object(`
apiVersion: flyball.dev/v1alpha1
kind: FreezeException
metadata: {name: fix, namespace: %s}
spec:
  activeFrom: 2026-03-02T12:00:00Z
  activeTo: 2026-03-02T14:00:00Z
  allow: [RollOut]
  reason: CVE fix
`, ns))
		}).Should(Succeed())
		Eventually(func() error { return patch(alice, web, restart) }).Should(Succeed())
		Eventually(received("ExceptionMade")).Should(ContainSubstring("FreezeException/" + ns + "/fix: exception made: created by dave"))
		Eventually(received("ExceptionUsed")).Should(ContainSubstring("RollOut of Deployment.apps/" + ns + "/web by alice"))

		clock.SetTime(noon.Add(24 * time.Hour))
		Eventually(received("FreezeOver")).Should(HavePrefix("ChangeFreeze/" + ns + "/inventory: freeze over: "))
		Expect(strings.Count(received("FreezeAhead")(), "\n")).To(BeZero(), "one message for the begin of a freeze")
	})

	It("is refused while its Secret has a signing key that receivers cannot use, and not before the Secret exists", func() {
		ns := newNamespace()
		team := func() error {
			return env.Client.Create(ctx, object(`
apiVersion: flyball.dev/v1alpha1
kind: Notification
metadata: {generateName: team-, namespace: %s}
spec:
  events: [Failed]
  to:
    webhook:
      urlFrom: {secretKeyRef: {name: flyball-notifications, key: url}}
      signingKeyFrom: {secretKeyRef: {name: flyball-notifications, key: key}}
`, ns))
		}
		Expect(team()).To(Succeed())
		apply(`
apiVersion: v1
kind: Secret
metadata: {name: flyball-notifications, namespace: %s}
stringData: {url: "https://example.com", key: "v1,whsec_YSBrZXkgb2YgdGhpcyB0ZXN0IG9ubHk="}
`, ns)
		Expect(team()).To(MatchError(And(ContainSubstring("spec.to.webhook.signingKeyFrom: Invalid value"),
			ContainSubstring("the key in the Secret is not Base64 on one line"), Not(ContainSubstring("YSBrZXkgb2Yg")))))
	})
})
