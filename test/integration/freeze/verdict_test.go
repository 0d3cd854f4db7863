package freeze

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Every kind", func() {
	all := []string{"Create", "Delete", "RollOut", "Scale"}
	for _, s := range specimens() {
		It("is frozen exactly as listed: "+s.kind, func() {
			ns := newNamespace()
			alice := as("alice")
			obj := s.made(ns, "a")
			tries := []struct {
				name   string
				denied []string
				try    func() error
			}{
				{"create", []string{"Create"}, func() error { return alice.Create(ctx, object(s.object, ns, "b"), client.DryRunAll) }},
				{"delete", []string{"Delete"}, func() error { return alice.Delete(ctx, obj.DeepCopy(), client.DryRunAll) }},
			}
			add := func(name, body string, denied ...string) {
				if body != "" {
					tries = append(tries, struct {
						name   string
						denied []string
						try    func() error
					}{name, denied, func() error { return patch(alice, obj, body, client.DryRunAll) }})
				}
			}
			add("roll-out", s.rollOut, "RollOut")
			add("scale", s.scale, "Scale")
			add("both", s.both, "RollOut", "Scale")
			add("label", `{"metadata":{"labels":{"team":"b"}}}`, s.labels...)
			add("annotation", `{"metadata":{"annotations":{"team":"b"}}}`)
			add("owner", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"6f1e"}]}}`,
				append(s.owners, "Delete")...)
			if s.subresource != "" {
				tries = append(tries, struct {
					name   string
					denied []string
					try    func() error
				}{"/scale", []string{"Scale"}, func() error {
					return patchScale(alice, obj, s.subresource, client.DryRunAll)
				}})
			}
			for _, deny := range append([]string{strings.Join(all, ", ")}, all...) {
				freezing(ns, "inventory", deny)
				listed := strings.Split(deny, ", ")
				for _, t := range tries {
					var hit []string
					for _, d := range t.denied {
						if slices.Contains(listed, d) {
							hit = append(hit, d)
						}
					}
					if len(hit) == 0 {
						Eventually(t.try).Should(Succeed(), "%s while %s is denied", t.name, deny)
						continue
					}
					Eventually(t.try).Should(BeRefused(
						fmt.Sprintf("ChangeFreeze/%s/inventory denies %s: inventory (contact #shop)", ns, strings.Join(hit, " and ")),
						"Next allowed: 2026-03-03T12:00:00Z (UTC)"), "%s while %s is denied", t.name, deny)
				}
			}
		})
	}
})

var _ = Describe("A refusal", func() {
	It("names the instant at which all policies allow", func() {
		ns := newNamespace()
		web := deployment(ns, "web")
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		freezing(ns, "inventory", "Scale")
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterMaintenanceWindow
metadata: {name: wednesdays}
spec:
  target: {namespaces: [%s]}
  timeZone: Europe/Berlin
  windows: [{name: wednesday, days: [Wed], from: "10:00", to: "12:00"}]
  deny: [Scale, RollOut]
  message: {reason: only on Wednesdays}
`, ns)
		Eventually(func() error { return patch(as("alice"), web, toTwo, client.DryRunAll) }).Should(BeRefused(
			"inventory denies Scale", "ClusterMaintenanceWindow/wednesdays denies Scale: only on Wednesdays",
			"Next allowed: 2026-03-04T10:00:00+01:00 (Europe/Berlin)"))

		clock.SetTime(time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC))
		Expect(patch(as("alice"), web, toTwo, client.DryRunAll)).To(Succeed())
	})

	It("is exact to the second at both transitions", func() {
		ns := newNamespace()
		web := deployment(ns, "web")
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		freezing(ns, "inventory", "Scale")
		try := func() error { return patch(as("alice"), web, toTwo, client.DryRunAll) }
		eventuallyRefused(try)
		for _, transition := range []struct {
			at     time.Time
			frozen bool
		}{
			{noon.Add(-time.Millisecond), false}, {noon, true},
			{noon.Add(24*time.Hour - time.Millisecond), true}, {noon.Add(24 * time.Hour), false},
		} {
			clock.SetTime(transition.at)
			if transition.frozen {
				Expect(try()).To(BeRefused())
				continue
			}
			Expect(try()).To(Succeed())
		}
	})

	It("takes effect with the policy's creation, and ends with its deletion", func() {
		ns := newNamespace()
		web := deployment(ns, "web")
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		try := func() error { return patch(as("alice"), web, toTwo, client.DryRunAll) }
		freezing(ns, "first", "Scale") // the webhook configuration is there from now on
		eventuallyRefused(try)
		other := newNamespace()
		api := deployment(other, "api")
		Expect(env.Client.Create(ctx, api)).To(Succeed())
		freezing(other, "second", "Scale")
		Eventually(func() error { return patch(as("alice"), api, toTwo, client.DryRunAll) }).Should(BeRefused())
		thaw()
		Eventually(try).Should(Succeed())
	})
})
