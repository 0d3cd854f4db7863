package doctor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/status"
	"flyball.dev/flyball/crds/v1alpha1"
)

// TestAdaptersLeftBehind checks that an adapter that is being deleted is a problem with a command, and any other
// adapter is not.
func TestAdaptersLeftBehind(t *testing.T) {
	const adapter = `{apiVersion: flyball.dev/v1alpha1, kind: Adapter,
  metadata: {name: presses.example.com, %s},
   spec: {target: {group: example.com, kind: Press, versions: [v1]}, scale: [{name: main, replicas: .spec.n}]},
  status: {conditions: [{type: Ready, status: "True", reason: Ready, message: in use, lastTransitionTime: "2037-01-01T00:00:00Z"}]}}`
	for meta, command := range map[string]string{
		"labels: {a: b}": "",
		`deletionTimestamp: "2037-01-01T00:00:00Z", finalizers: [flyball.dev/restore]`: "kubectl patch adapters.flyball.dev presses.example.com ",
	} {
		t.Run(meta, func(t *testing.T) {
			w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(strings.Replace(adapter, "%s", meta, 1)), Namespace: "shop",
				FlyballNamespace: source.DefaultNamespace}.Load()
			if err != nil {
				t.Fatal(err)
			}
			c := &Checkup{}
			c.adapters(w, Input{Live: true})
			said := strings.Join(c.Checks[0].Details, "\n")
			if command == "" && strings.Contains(said, "presses.example.com") || !strings.Contains(said, command) {
				t.Errorf("got %q, want the command %q", said, command)
			}
		})
	}
}

// TestLedgerOfAnotherNamespace checks that a ledger that names a policy of another namespace is a problem without the
// name of this policy, even if the policy exists.
func TestLedgerOfAnotherNamespace(t *testing.T) {
	const files = `{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: nights, namespace: bank},
  spec: {target: {names: [web]}, upscale: "0 8 * * *", downscale: "0 20 * * *"}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, annotations: {
  flyball.dev/ledger: '{"/spec/replicas":{"was":3,"set":0,"by":"Schedule/bank/nights"}}'}}, spec: {replicas: 0}}`
	w, memory := worldOf(t, files)
	c := &Checkup{}
	c.ledgers(memory, w.Unseen)
	const want = "the ledger of Deployment.apps/shop/web names no policy that may write there, so the manager restores it: is the " +
		"manager running?"
	if said := strings.Join(c.Checks[0].Details, "\n"); said != want {
		t.Errorf("got %q, want %q", said, want)
	}
}

// TestLedgersCopiedToReplicaSetsAreLeftOut checks that a ledger which a controller has copied from its Deployment is not taken for the
// ReplicaSet's own, though its policy has gone.
func TestLedgersCopiedToReplicaSetsAreLeftOut(t *testing.T) {
	const files = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-5b6dd96c49, namespace: shop, uid: b, annotations: {
  flyball.dev/ledger: '{"/spec/replicas":{"was":3,"set":0,"by":"Schedule/shop/gone"},"of":"Deployment/web","uid":"a"}'},
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: a, controller: true}]}, spec: {replicas: 0}}`
	w, memory := worldOf(t, files)
	c := &Checkup{}
	c.ledgers(memory, w.Unseen)
	if got := c.Checks[0]; got.Outcome != OK || !slices.Equal(got.Details, []string{"no objects with a ledger, all readable"}) {
		t.Errorf("got %+v", got)
	}
}

// TestAdapterBlockedInDeletion checks that an adapter that is being deleted keeps the reason that blocks its deletion, and has no
// command that gives up the restoring by a manager.
func TestAdapterBlockedInDeletion(t *testing.T) {
	const adapter = `{apiVersion: flyball.dev/v1alpha1, kind: Adapter,
  metadata: {name: presses.example.com, deletionTimestamp: "2037-01-01T00:00:00Z", finalizers: [flyball.dev/restore]},
  spec: {target: {group: example.com, kind: Press, versions: [v1]}, scale: [{name: main, replicas: .spec.n}]},
  status: {conditions: [{type: %s, status: "False", reason: %s, message: %q, lastTransitionTime: "2037-01-01T00:00:00Z"}]}}`
	for _, c := range [][3]string{
		{"Authorized", "Forbidden", "add to a ClusterRole the rules [presses]"},
		{"Ready", "Restoring", "3 objects are not restored yet"},
	} {
		t.Run(c[0], func(t *testing.T) {
			w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(fmt.Sprintf(adapter, c[0], c[1], c[2])), Namespace: "shop",
				FlyballNamespace: source.DefaultNamespace}.Load()
			if err != nil {
				t.Fatal(err)
			}
			if c[0] != v1alpha1.ConditionReady { // as for an adapter read from a cluster
				w.Blocked = map[string]string{"presses.example.com": "the adapter presses.example.com is not ready (Authorized): " + c[2]}
			}
			checkup := &Checkup{}
			checkup.adapters(w, Input{Live: true})
			said := strings.Join(checkup.Checks[0].Details, "\n")
			if !strings.Contains(said, c[2]) || !strings.Contains(said, "being deleted") || strings.Contains(said, "kubectl patch") {
				t.Errorf("got %q, want the reason %q without a command", said, c[2])
			}
		})
	}
}

// TestNewObjectsAreNoProblem checks that policies and adapters without a status are a problem only once a manager has had time
// to look at them, in doctor and in status, and that an unreadable policy is no problem of adapters.
func TestNewObjectsAreNoProblem(t *testing.T) {
	const files = `{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: nights, creationTimestamp: "2037-01-01T12:00:00Z"},
  spec: {target: {names: [web]}, upscale: "0 8 * * *", downscale: "0 20 * * *"}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Adapter, metadata: {name: presses.example.com, creationTimestamp: "2037-01-01T12:00:00Z"},
  spec: {target: {group: example.com, kind: Press, versions: [v1]}, scale: [{name: main, replicas: .spec.n}]}}`
	for after, alarms := range map[time.Duration]bool{time.Second: false, time.Minute: true} {
		w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(files), Namespace: "shop",
			FlyballNamespace: source.DefaultNamespace}.Load()
		if err != nil {
			t.Fatal(err)
		}
		memory, err := w.Memory()
		if err != nil {
			t.Fatal(err)
		}
		w.Note("Schedule/shop/odd cannot be read")
		c, o := &Checkup{}, Input{Live: true, Now: time.Date(2037, 1, 1, 12, 0, 0, 0, time.UTC).Add(after)}
		c.adapters(w, o)
		c.policies(w, memory, o)
		for i, want := range []string{"the adapter presses.example.com: is it running?", "Schedule/shop/nights: is it running?"} {
			said := strings.Join(c.Checks[i].Details, "\n")
			if strings.Contains(said, want) != alarms || strings.Contains(said, "Schedule/shop/odd") {
				t.Errorf("after %s: %s", after, said)
			}
		}
		listed := status.Of(memory, status.Input{At: o.Now, Zone: time.UTC, Live: true}).Policies[0]
		if (listed.Problem != "") != alarms {
			t.Errorf("after %s status has the problem %q", after, listed.Problem)
		}
	}
}

// TestNewEditsAreNoProblem checks that an edit without an answer of the manager is a problem only once the manager has had time
// to look at it.
func TestNewEditsAreNoProblem(t *testing.T) {
	const file = `{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: nights, generation: 2,
  creationTimestamp: "2037-01-01T00:00:00Z", managedFields: [{manager: kubectl, operation: Update, apiVersion: flyball.dev/v1alpha1,
  time: "2037-01-01T12:00:00Z"}, {manager: flyball, operation: Update, subresource: status, time: "2037-01-01T13:00:00Z"}]},
  spec: {target: {names: [web]}, upscale: "0 8 * * *", downscale: "0 20 * * *"}, status: {observedGeneration: 1,
  conditions: [{type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2037-01-01T00:00:00Z"}]}}`
	memory := memoryOf(t, file)
	for after, alarms := range map[time.Duration]bool{time.Second: false, time.Minute: true} {
		at := time.Date(2037, 1, 1, 12, 0, 0, 0, time.UTC).Add(after)
		listed := status.Of(memory, status.Input{At: at, Zone: time.UTC, Live: true}).Policies[0]
		if (listed.Problem != "") != alarms {
			t.Errorf("after %s status has the problem %q", after, listed.Problem)
		}
	}
}

// TestAMissingCalendarOfAFreezeIsAProblem: without its only Calendar a freeze denies nothing, and nobody else would say so.
// A user without the right to list Calendars does not know whether one is missing.
func TestAMissingCalendarOfAFreezeIsAProblem(t *testing.T) {
	const files = `{apiVersion: flyball.dev/v1alpha1, kind: ClusterChangeFreeze, metadata: {name: holidays},
  spec: {target: {namespaceSelector: {}}, calendars: [{name: german, effect: Frozen}]}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Calendar, metadata: {name: germany}, spec: {dates: [{date: "2037-12-24"}]}}`
	const want = "ClusterChangeFreeze/holidays: calendars: there is no Calendar german; did you mean germany?; " +
		"its days do not count until there is one"
	for _, hidden := range []bool{false, true} {
		w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(files), Namespace: "shop",
			FlyballNamespace: source.DefaultNamespace}.Load()
		if err != nil {
			t.Fatal(err)
		}
		w.Notes = nil
		if hidden {
			w.Unseen.Add(source.Right{Verb: "list", Resource: schema.GroupResource{Group: "flyball.dev", Resource: "calendars"}})
		}
		memory, err := w.Memory()
		if err != nil {
			t.Fatal(err)
		}
		c := &Checkup{}
		c.policies(w, memory, Input{})
		if said := strings.Join(c.Checks[0].Details, "\n"); hidden == strings.Contains(said, want) || hidden != c.Healthy() {
			t.Errorf("hidden is %v: %q", hidden, said)
		}
		if noted := strings.Join(w.Notes, "\n"); hidden == strings.Contains(noted, want) {
			t.Errorf("hidden is %v, notes: %q", hidden, noted)
		}
	}
}

// TestOneNamespaceIsNamed checks that a checkup of one namespace says so, because "no policies" may be untrue of the others.
func TestOneNamespaceIsNamed(t *testing.T) {
	w, _ := worldOf(t, "")
	found, err := Of(w, Input{Live: true, Namespace: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	if got := found.Checks[0]; got.Outcome != OK || !slices.Equal(got.Details, []string{"only shop is looked at; -A looks at all"}) {
		t.Errorf("got %+v", got)
	}
}
