package freeze

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A freeze exception", func() {
	var (
		ns    string
		web   client.Object
		alice client.Client
	)
	exception := func(more string) client.Object {
		return object(`
apiVersion: flyball.dev/v1alpha1
kind: FreezeException
metadata: {name: fix, namespace: %s}
spec:
  activeFrom: 2026-03-02T12:00:00Z
  activeTo: 2026-03-02T14:00:00Z
  allow: [RollOut]
  reason: CVE fix
%s`, ns, more)
	}
	try := func(c client.Client, body string) func() error {
		return func() error { return patch(c, web, body, client.DryRunAll) }
	}
	BeforeEach(func() {
		ns, alice = newNamespace(), as("alice", "developers")
		web = deployment(ns, "web")
		web.SetLabels(map[string]string{"tier": "front"})
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		freezing(ns, "inventory", everything)
		freezing(ns, "audit", "RollOut")
		Eventually(try(alice, restart)).Should(BeRefused("inventory denies RollOut", "audit denies RollOut"))
	})

	It("needs the verb except, and records its author", func() {
		Expect(alice.Create(ctx,
			exception(""))).To(MatchError(ContainSubstring(
			`user "alice" needs the verb "except" on it, or on every policy that spec.policies names`)))
		grant("except", "release", ns, "freezeexceptions", "except")
		dave := as("dave", "release")
		made := exception("  ticketURL: https://tickets.example.com/1")
		const why = "CVE fix (https://tickets.example.com/1)"
		Eventually(func() error { return dave.Create(ctx, made) }).Should(Succeed())
		Eventually(try(alice, restart)).Should(Succeed())
		var e v1alpha1.FreezeException
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "fix"}, &e)).To(Succeed())
			g.Expect(e.Status.CreatedBy).To(Equal("dave"))
			g.Expect(e.Status.CreatedAt.UTC()).To(Equal(noon))
			g.Expect(e.Status.State).To(Equal("Active"))
			g.Expect(e.Status.NextTransitionTime.UTC()).To(Equal(noon.Add(2 * time.Hour)))
		}).Should(Succeed())
		Eventually(eventsOn(ns, "fix")).Should(ContainElement("ExceptionMade: created by dave"))
		Expect(patch(alice, made, `{"spec":{"allow":["RollOut","Delete"]}}`)).To(MatchError(ContainSubstring(`needs the verb "except"`)))

		used := "RollOut of Deployment.apps/" + ns + "/web by alice"
		Expect(eventsOn(ns, "fix")(Default)).NotTo(ContainElement(HavePrefix("Used")), "dry runs are no uses")
		Expect(patch(alice, web, restart)).To(Succeed())
		Eventually(eventsOn(ns, "fix")).Should(ContainElements(
			"Used: "+used+", which ChangeFreeze/"+ns+"/inventory denies: "+why, "Used: "+used+", which ChangeFreeze/"+ns+"/audit denies: "+why))
		for _, name := range []string{"inventory", "audit"} {
			Eventually(eventsOn(ns, name)).Should(ContainElement("Lifted: " + used + ", let through by FreezeException/" + ns + "/fix: " + why))
		}

		clock.SetTime(noon.Add(2 * time.Hour))
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "fix"}, &e)).To(Succeed())
			g.Expect(e.Status.State).To(Equal("Expired"))
		}).Should(Succeed())
	})

	It("names its author, and no other writer of the status can change that", func() {
		grant("except", "release", ns, "freezeexceptions, freezeexceptions/status", "except, create, update, patch, delete")
		dave := as("dave", "release")
		made := exception("")
		made.SetFinalizers([]string{"example.com/keep"})
		DeferCleanup(func() { Expect(patch(env.Client, made, `{"metadata":{"finalizers":null}}`)).To(Succeed()) })
		Eventually(func() error { return dave.Create(ctx, made) }).Should(Succeed())
		report := func(body string) error {
			return dave.Status().Patch(ctx, made.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(body)))
		}
		forged := MatchError(ContainSubstring("status.createdBy and status.createdAt can be written only by Flyball"))
		forge := func() {
			GinkgoHelper()
			Expect(report(`{"status":{"createdBy":"ceo","createdAt":"2026-01-01T00:00:00Z"}}`)).To(forged)
			Expect(report(`{"status":{"createdAt":"2026-01-01T00:00:00Z"}}`)).To(forged)
			Expect(dave.Status().Patch(ctx, made.DeepCopyObject().(client.Object),
				client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/status","value":{"createdBy":"ceo"}}]`)))).To(forged)
			applied := object(
				`{apiVersion: flyball.dev/v1alpha1, kind: FreezeException, metadata: {name: fix, namespace: %s}, status: {createdBy: ceo}}`, ns)
			Expect(dave.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("restore"),
				client.ForceOwnership)).To(forged)
		}
		forge()
		named := func(g Gomega) {
			var e v1alpha1.FreezeException
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "fix"}, &e)).To(Succeed())
			g.Expect(e.Status.CreatedBy).To(Equal("dave"))
			g.Expect(e.Status.CreatedAt.UTC()).To(Equal(noon))
		}
		Eventually(named).Should(Succeed())
		forge()
		Expect(report(`{"status":{"createdBy":null}}`)).To(forged)
		Expect(dave.Status().Patch(ctx, made.DeepCopyObject().(client.Object),
			client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"/status"}]`)))).To(forged)
		Expect(report(`{"status":{"state":"Expired"}}`)).To(Succeed(), "the rest is told to nobody")
		Expect(dave.Delete(ctx, made.DeepCopyObject().(client.Object))).To(Succeed())
		forge()
		named(Default)
	})

	It("names its author, in spite of earlier exceptions of the same name", func() {
		grant("except", "release", ns, "freezeexceptions, freezeexceptions/status", "except, create, update, patch, delete")
		dave, carol := as("dave", "release"), as("carol", "release")
		by := func(obj client.Object) func(Gomega) string {
			return func(g Gomega) string {
				var e v1alpha1.FreezeException
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), &e)).To(Succeed())
				return e.Status.CreatedBy
			}
		}
		generated := exception("")
		generated.SetName("")
		generated.SetGenerateName("fix-")
		Eventually(func() error { return dave.Create(ctx, generated) }).Should(Succeed())
		Eventually(by(generated)).Should(Equal("dave"))
		for range 10 {
			again := exception("")
			Expect(dave.Create(ctx, again)).To(Succeed())
			// this may happen in between, or not
			_ = dave.Status().Patch(ctx, again.DeepCopyObject().(client.Object),
				client.RawPatch(types.MergePatchType, []byte(`{"status":{"state":"odd"}}`)))
			Expect(dave.Delete(ctx, again)).To(Succeed())
		}
		last := exception("")
		Expect(carol.Create(ctx, last)).To(Succeed())
		Eventually(by(last)).Should(Equal("carol"))
		suite.Still(by(last)).Should(Equal("carol"))
	})

	It("needs the verb on every policy that it names", func() {
		named := exception("  policies: [ChangeFreeze/inventory]")
		role := "except-inventory"
		apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: %[1]s, namespace: %[2]s}
rules: [{apiGroups: [flyball.dev], resources: [changefreezes], resourceNames: [inventory], verbs: [except]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: frank}]
`, role, ns)
		frank := as("frank")
		Eventually(func() error { return frank.Create(ctx, named.DeepCopyObject().(client.Object), client.DryRunAll) }).Should(Succeed())
		Expect(frank.Create(ctx, exception("  policies: [ChangeFreeze/inventory, ChangeFreeze/audit]"), client.DryRunAll)).To(
			MatchError(ContainSubstring("and does not hold it on ChangeFreeze/" + ns + "/audit")))
		Expect(frank.Create(ctx, exception("  policies: [inventory]"), client.DryRunAll)).To(
			MatchError(ContainSubstring("and does not hold it on MaintenanceWindow/"+ns+"/inventory")), "a bare name is either kind")
		Expect(frank.Create(ctx, exception("  policies: [ChangeFreeze/later]"), client.DryRunAll)).NotTo(Succeed(), "what may be made later")
		Expect(frank.Create(ctx, exception(""), client.DryRunAll)).NotTo(Succeed())

		Expect(frank.Create(ctx, named)).To(Succeed())
		Eventually(try(alice, toTwo)).Should(BeRefused("ChangeFreeze/" + ns + "/inventory denies Scale"))
		Eventually(try(alice, restart)).Should(And(BeRefused("audit denies RollOut"), Not(MatchError(ContainSubstring("/inventory denies")))))
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: inventory, namespace: %s}
spec: {windows: [{from: "08:00", to: "10:00"}], deny: [RollOut]}
`, ns)
		Eventually(try(alice, restart)).Should(BeRefused("MaintenanceWindow/" + ns + "/inventory denies RollOut"))
		Expect(patch(frank, named, `{"spec":{"policies":["ChangeFreeze/inventory","MaintenanceWindow/inventory"]}}`)).To(
			MatchError(ContainSubstring("and does not hold it on MaintenanceWindow/" + ns + "/inventory")))
		Expect(patch(env.Client, named, `{"spec":{"policies":["ChangeFreeze/inventory","MaintenanceWindow/inventory"]}}`)).To(Succeed())
		Eventually(try(alice, restart)).Should(And(BeRefused("audit denies RollOut"), Not(MatchError(ContainSubstring("/inventory denies")))))
	})

	It("with entries that name nothing is refused, or prints a warning if they may name something later", func() {
		Expect(env.Client.Create(ctx, exception("  policies: [ClusterChangeFreeze/everywhere]"), client.DryRunAll)).To(
			MatchError(ContainSubstring("spec.policies[0]: Invalid value: \"ClusterChangeFreeze/everywhere\": an exception of a namespace " +
				"never lifts a cluster policy")))
		out, err := kubectl("admin", ns, `
apiVersion: flyball.dev/v1alpha1
kind: FreezeException
metadata: {name: typo, namespace: `+ns+`}
spec: {activeFrom: 2026-03-02T12:00:00Z, activeTo: 2026-03-02T14:00:00Z, allow: [RollOut], reason: a test, policies: [inventroy]}
`, "create", "--as-group", "system:masters", "--dry-run=server", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("Warning: spec.policies: there is no policy inventroy"))
	})

	It("is named in a warning when a policy is created that it can lift", func() {
		Expect(env.Client.Create(ctx, exception(""))).To(Succeed())
		Eventually(func() string {
			out, _ := kubectl("alice", ns, `
apiVersion: flyball.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: nights, namespace: `+ns+`}
spec: {windows: [{from: "08:00", to: "10:00"}], deny: [RollOut]}
`, "create", "--dry-run=server", "-f", "-")
			return out
		}).Should(ContainSubstring("Warning: FreezeException/" + ns + "/fix can let changes through that this policy denies"))
	})

	It("lifts only the policies that it names", func() {
		Expect(env.Client.Create(ctx, exception("  policies: [inventory]"))).To(Succeed())
		Eventually(try(alice, restart)).Should(And(BeRefused("audit denies RollOut"), Not(MatchError(ContainSubstring("/inventory denies")))))
		Expect(try(alice, toTwo)()).To(BeRefused("inventory denies Scale"))
	})

	It("holds only if target, time and every constraint hold", func() {
		Expect(env.Client.Create(ctx, exception(strings.Join([]string{
			"  target: {names: [web]}",
			"  constraints: {requireLabels: {tier: front}, allowedUsers: [alice, bob], allowedGroups: [developers, oncall]}",
		}, "\n")))).To(Succeed())
		Eventually(try(alice, restart)).Should(Succeed())
		Expect(try(as("bob", "oncall"), restart)()).To(Succeed())
		Expect(try(as("bob", "sales"), restart)()).To(BeRefused(), "another group")
		Expect(try(as("carol", "developers"), restart)()).To(BeRefused(), "another user")
		Expect(try(alice, `{"metadata":{"labels":{"tier":null}},"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`)()).To(BeRefused(),
			"the label goes in the same edit")
		other := deployment(ns, "other")
		other.SetLabels(map[string]string{"tier": "front"})
		Expect(alice.Create(ctx, other, client.DryRunAll)).To(BeRefused(), "another action")

		clock.SetTime(noon.Add(2*time.Hour - time.Millisecond))
		Expect(try(alice, restart)()).To(Succeed())
		clock.SetTime(noon.Add(2 * time.Hour))
		Expect(try(alice, restart)()).To(BeRefused(), "expired")
		clock.SetTime(noon.Add(-time.Millisecond))
	})

	It("of a namespace never lifts a cluster freeze", func() {
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: everywhere}
spec: {target: {namespaces: [%s]}, startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-03T12:00:00Z, deny: [RollOut]}
`, ns)
		Expect(env.Client.Create(ctx, exception(""))).To(Succeed())
		Eventually(try(alice, restart)).Should(And(BeRefused("ClusterChangeFreeze/everywhere"),
			Not(MatchError(ContainSubstring("/inventory denies")))))
		suite.Still(try(alice, restart)).Should(BeRefused("ClusterChangeFreeze/everywhere"))
	})

	It("for a user does not help accounts that may not act as that user", func() {
		Expect(env.Client.Create(ctx, exception("  constraints: {allowedUsers: [bob]}"))).To(Succeed())
		Eventually(try(as("bob"), restart)).Should(Succeed())
		config := env.Cluster.ConfigFor("alice")
		config.Impersonate.UserName = "bob"
		thief, err := client.New(config, client.Options{Scheme: env.Client.Scheme(), Mapper: env.Client.RESTMapper()})
		Expect(err).NotTo(HaveOccurred())
		got := patch(thief, web, restart, client.DryRunAll)
		Expect(apierrors.IsForbidden(got)).To(BeTrue())
		Expect(got).To(MatchError(ContainSubstring("cannot impersonate")))
	})
})
