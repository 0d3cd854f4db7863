package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

var (
	application   = workload.Ref{GroupKind: schema.GroupKind{Group: "argoproj.io", Kind: "Application"}, Namespace: "argocd", Name: "shop"}
	kustomization = workload.Ref{
		GroupKind: schema.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}, Namespace: "shop", Name: "flux"}
)

// applicationOf is an Application with automated sync that applies Deployments of namespace shop. The text metadata is
// as in worldtest.Deployment, and spec is added to the spec.
func applicationOf(metadata, spec string, names ...string) string {
	var records []string
	for _, name := range names {
		records = append(records,
			fmt.Sprintf(`{"group":"apps","version":"v1","kind":"Deployment","namespace":"shop","name":%q,"status":"Synced"}`, name))
	}
	return fmt.Sprintf(
		`{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"shop","namespace":"argocd","uid":"uid-app",`+
			`"resourceVersion":"7"%s},"spec":{"project":"default","destination":{"server":"https://kubernetes.default.svc","namespace":"shop"}%s},`+
			`"status":{"resources":[%s]}}`, metadata, spec, strings.Join(records, ","))
}

const automated = `,"syncPolicy":{"automated":{"selfHeal":true}}`

// kustomizationOf is a Kustomization that applies Deployments of namespace shop.
func kustomizationOf(suspended bool, names ...string) string {
	var records []string
	for _, name := range names {
		records = append(records, fmt.Sprintf(`{"id":"shop_%s_apps_Deployment","v":"v1"}`, name))
	}
	return fmt.Sprintf(`{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization","metadata":{"name":"flux","namespace":"shop",`+
		`"uid":"uid-flux","resourceVersion":"7"},"spec":{"suspend":%t},"status":{"inventory":{"entries":[%s]}}}`,
		suspended, strings.Join(records, ","))
}

// holding is a ClusterSchedule for the named Deployments of namespace shop that holds owners, asleep between two times of
// day.
func holding(name, from, to string, deployments ...string) *v1alpha1.ClusterSchedule {
	s := &v1alpha1.ClusterSchedule{TypeMeta: metav1.TypeMeta{Kind: schedule.ClusterKind}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	s.Spec.Target.Names = deployments
	s.Spec.Target.Namespaces = []string{"shop"}
	s.Spec.Asleep = []v1alpha1.Window{{From: from, To: to}}
	s.Spec.HoldOwner = true
	return s
}

// written returns the writes of a night and a morning as text: time, kind, name and change.
func written(t *testing.T, w decide.Sandbox) (lines []string) {
	t.Helper()
	writes, err := decide.Simulate(w, noon, noon.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range writes {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", write.At.Format("15:04"), write.Target.Kind, write.Target.Name, write.Message))
	}
	return lines
}

// An owner is held before its first target sleeps, and restored after its last target is awake. A write without changes only names
// other policies in the ledger.
func TestOwnerIsHeldWhileATargetSleeps(t *testing.T) {
	sleep := func(at, name string) string { return at + " Deployment " + name + ": replicas 3 -> 0" }
	wake := func(at, name string) string { return at + " Deployment " + name + ": replicas 0 -> 3" }
	held := " Application shop: automated {\"selfHeal\":true} -> absent"
	back := " Application shop: automated absent -> {\"selfHeal\":true}"
	one, two := worldtest.Deployment("one", 3, ""), worldtest.Deployment("two", 3, "")
	nights, late := holding("nights", "20:00", "06:00", "one"), holding("late", "22:00", "08:00", "two")
	unheld := holding("nights", "20:00", "06:00", "one")
	unheld.Spec.HoldOwner = false
	batches := holding("nights", "20:00", "06:00", "one", "two")
	batches.Spec.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "30m"}
	batches.Spec.UpscaleRateLimit = batches.Spec.DownscaleRateLimit
	three := worldtest.Deployment("three", 3, "")
	first, slowly := holding("early", "20:00", "06:00", "one"), holding("slow", "20:00", "06:00", "two", "three")
	slowly.Spec.UpscaleRateLimit = batches.Spec.UpscaleRateLimit
	own := holding("own", "23:00", "05:00", "shop")
	own.Spec.HoldOwner = false
	own.Spec.Target.Namespaces, own.Spec.Target.Kinds = []string{"argocd"},
		[]v1alpha1.KindRef{{Group: application.Group, Kind: application.Kind}}
	inOrder := holding("nights", "20:00", "06:00", "one", "two")
	inOrder.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{{Names: []string{"one"}}}}
	annotated := holding("nights", "20:00", "06:00", "one")
	annotated.Spec.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{"example.com/asleep": "true"}}
	for _, tc := range []struct {
		reason   string
		policies []policy.Object
		objects  []string
		want     []string
	}{
		{"one target", []policy.Object{nights}, []string{one, applicationOf("", automated, "one")},
			[]string{"20:00" + held, sleep("20:00", "one"), wake("06:00", "one"), "06:00" + back}},
		{"a target that is annotated", []policy.Object{annotated}, []string{one, applicationOf("", automated, "one")},
			[]string{"20:00" + held, `20:00 Deployment one: example.com/asleep absent -> "true"`,
				`06:00 Deployment one: example.com/asleep "true" -> absent`, "06:00" + back}},
		{"two targets of different schedules", []policy.Object{nights, late}, []string{one, two, applicationOf("", automated, "one", "two")},
			[]string{"20:00" + held, sleep("20:00", "one"), "22:00 Application shop: ", sleep("22:00", "two"), wake("06:00", "one"),
				"06:00 Application shop: ", wake("08:00", "two"), "08:00" + back}},
		{"two targets in batches", []policy.Object{batches}, []string{one, two, applicationOf("", automated, "one", "two")},
			[]string{"20:00" + held, sleep("20:00", "one"), sleep("20:30", "two"), wake("06:00", "one"), wake("06:30", "two"), "06:30" + back}},
		{"two targets of different schedules with the same times, one of them in batches", []policy.Object{first, slowly},
			[]string{one, two, three, applicationOf("", automated, "one", "two", "three")},
			[]string{"20:00" + held, sleep("20:00", "one"), sleep("20:00", "three"), sleep("20:00", "two"), wake("06:00", "one"),
				wake("06:00", "three"), wake("06:30", "two"), "06:30" + back}},
		{"an owner whose own schedule says awake", []policy.Object{nights, own}, []string{one, applicationOf("", automated, "one")},
			[]string{"20:00" + held, sleep("20:00", "one"), "23:00 Application shop: ", "05:00 Application shop: ", wake("06:00", "one"),
				"06:00" + back}},
		{"two targets in waves", []policy.Object{inOrder}, []string{one, two, applicationOf("", automated, "one", "two")},
			[]string{"20:00" + held, sleep("20:00", "two"), sleep("20:00", "one"), wake("06:00", "one"), wake("06:00", "two"), "06:00" + back}},
		{"a schedule without holdOwner", []policy.Object{unheld}, []string{one, applicationOf("", automated, "one")},
			[]string{sleep("20:00", "one"), wake("06:00", "one")}},
		{"an owner that is suspended by its own owner", []policy.Object{nights}, []string{one, applicationOf("", "", "one")},
			[]string{sleep("20:00", "one"), wake("06:00", "one")}},
		{"a target that no record lists, whatever its label says", []policy.Object{nights},
			[]string{worldtest.Deployment("one", 3, `,"labels":{"app.kubernetes.io/instance":"shop"},`+
				`"annotations":{"argocd.argoproj.io/tracking-id":"shop:apps/Deployment:shop/one"}`), applicationOf("", automated, "two")},
			[]string{sleep("20:00", "one"), wake("06:00", "one")}},
		{"an Application with a slash at the end of its server", []policy.Object{nights},
			[]string{one, strings.Replace(applicationOf("", automated, "one"), "default.svc", "default.svc/", 1)},
			[]string{"20:00" + held, sleep("20:00", "one"), wake("06:00", "one"), "06:00" + back}},
		{"an Application for another cluster", []policy.Object{nights},
			[]string{one, strings.Replace(applicationOf("", automated, "one"), "https://kubernetes.default.svc", "https://remote.example.com", 1)},
			[]string{sleep("20:00", "one"), wake("06:00", "one")}},
		{"a target that an Override keeps awake", []policy.Object{nights, order("demo", v1alpha1.OverrideAwake, -100, 300)},
			[]string{one, applicationOf("", automated, "one")}, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, written(t, memory(t, tc.policies, tc.objects...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An owner that the schedule itself selects may wait for its place in a batch, and its targets wait for it.
func TestOwnersInBatchesAndWaves(t *testing.T) {
	batches := holding("nights", "20:00", "22:00")
	batches.Spec.Target.Kinds = append(batches.Spec.Target.Kinds, v1alpha1.KindRef{Group: kustomization.Group, Kind: kustomization.Kind})
	batches.Spec.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "10m"}
	waves := batches.DeepCopy()
	waves.Spec.DownscaleRateLimit = nil
	waves.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{
		{Kinds: []v1alpha1.KindRef{{Group: kustomization.Group, Kind: kustomization.Kind}}}}}
	other := strings.NewReplacer(`"name":"flux"`, `"name":"other"`, "uid-flux", "uid-other").Replace(kustomizationOf(false, "two"))
	for _, s := range []*v1alpha1.ClusterSchedule{batches, waves} {
		w := memory(t, []policy.Object{s}, worldtest.Deployment("one", 3, ""), worldtest.Deployment("two", 3, ""), kustomizationOf(false, "one"),
			other)
		asleep := map[string]bool{}
		for _, line := range written(t, w) {
			at, what, _ := strings.Cut(line, " ")
			if s.Spec.Order != nil && at == "20:10" {
				t.Errorf("%s: an owner and its target have waited for each other", line)
			}
			switch what {
			case "Kustomization flux: suspend false -> true", "Kustomization other: suspend false -> true":
				asleep[what] = true
			case "Deployment one: replicas 3 -> 0", "Deployment two: replicas 3 -> 0":
				asleep[what] = true
				owner := map[string]string{"one": "flux", "two": "other"}[what[len("Deployment "):len("Deployment ")+3]]
				if !asleep["Kustomization "+owner+": suspend false -> true"] {
					t.Errorf("%s before its owner", line)
				}
			}
		}
		if len(asleep) != 4 {
			t.Errorf("with order %v these went to sleep: %v", s.Spec.Order, asleep)
		}
	}
}

// A Schedule holds a Kustomization of its own namespace, and no Application of another namespace.
func TestScheduleHoldsOwnersOfItsOwnNamespace(t *testing.T) {
	s := nightly(0)
	s.Spec.HoldOwner = true
	s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	w := memory(t, []policy.Object{s}, worldtest.Deployment("web", 3, ""), applicationOf("", automated, "web"), kustomizationOf(false, "web"))
	want := []string{"20:00 Kustomization flux: suspend false -> true", "20:00 Deployment web: replicas 3 -> 0",
		"08:00 Deployment web: replicas 0 -> 3", "08:00 Kustomization flux: suspend true -> false"}
	if diff := cmp.Diff(want, written(t, w)); diff != "" {
		t.Error(diff)
	}
	owners := w.OwnersOf(w.Find(nights))
	if len(owners) != 2 || owners[0].Ref != application || !owners[0].OutOfReach || owners[1].Ref != kustomization || owners[1].OutOfReach {
		t.Errorf("the owners are %+v", owners)
	}
}

// heldByNights is the metadata of an Application that a policy holds.
const heldByNights = `,"annotations":{"flyball.dev/ledger":"{\"/spec/syncPolicy/automated\":{\"was\":{\"selfHeal\":true},` +
	`\"by\":\"ClusterSchedule/nights\",\"since\":\"2026-03-02T20:00:00Z\"},\"of\":\"Application/shop\",\"namespace\":\"argocd\",\"uid\":\"uid-app\"}"}`

// An owner stays held while it is unknown whether its targets sleep, and until the last target is restored.
func TestHeldOwnerWaitsForItsTargets(t *testing.T) {
	ledger := func(name, by string) string {
		return fmt.Sprintf(`,"annotations":{"flyball.dev/ledger":%q}`, fmt.Sprintf(`{"/spec/replicas":{"was":3,"set":0,"by":%q,`+
			`"since":"2026-03-02T20:00:00Z"},"of":"Deployment/%s"}`, by, name))
	}
	asleep := worldtest.Deployment("one", 0, ledger("one", "ClusterSchedule/nights"))
	suspended, broken, without := holding("nights", "20:00", "06:00"), holding("nights", "20:00", "06:00"), holding("nights", "20:00", "06:00")
	suspended.Spec.Suspend, broken.Spec.TimeZone, without.Spec.HoldOwner = true, "Nowhere/City", false
	deleted := holding("nights", "20:00", "06:00")
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	app := func(names ...string) string { return applicationOf(heldByNights, `,"syncPolicy":{}`, names...) }
	day := noon.Add(24 * time.Hour)
	for _, tc := range []struct {
		reason  string
		policy  policy.Object
		objects []string
		held    bool
	}{
		{"a target that is not restored yet", holding("nights", "20:00", "06:00"), []string{asleep, app("one")}, true},
		{"a target of a deleted policy that is not restored yet", deleted, []string{asleep, app("one")}, true},
		{"a suspended policy", suspended, []string{asleep, app("one")}, true},
		{"an unreadable policy", broken, []string{asleep, app("one")}, true},
		{"a policy that holds no owners any more", without, []string{asleep, app("one")}, false},
		{"an awake target", holding("nights", "20:00", "06:00"), []string{worldtest.Deployment("one", 3, ""), app("one")}, false},
		{"a target that another policy keeps asleep", holding("nights", "20:00", "06:00"),
			[]string{worldtest.Deployment("one", 0, ledger("one", "Schedule/shop/other")), app("one")}, false},
		{"a target that is gone", holding("nights", "20:00", "06:00"), []string{app("one")}, false},
		{"a target that it does not apply any more", holding("nights", "20:00", "06:00"), []string{asleep, app("two")}, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			v := decide.Target(memory(t, []policy.Object{tc.policy}, tc.objects...), application, day, nil)
			if held := v.Err == nil && v.Result.Patch == nil; held != tc.held {
				t.Errorf("held is %t: %s, %v", held, body(v), v.Err)
			}
		})
	}
}

// A target does not sleep before its owner is held, and names the reason.
func TestTargetWaitsForItsOwner(t *testing.T) {
	nights := holding("nights", "20:00", "06:00")
	one := workload.Ref{GroupKind: web.GroupKind, Namespace: "shop", Name: "one"}
	for _, tc := range []struct {
		reason, owner string
		gate          decide.GateKind
		text          string
	}{
		{"to be written", applicationOf("", automated, "one"), decide.GateOther, "waits for Application.argoproj.io/argocd/shop to be held"},
		{"with an unreadable ledger", applicationOf(`,"annotations":{"flyball.dev/ledger":"{"}`, automated, "one"), decide.GateBlocked,
			"to be held: render Application"},
		{"held", applicationOf(heldByNights, `,"syncPolicy":{}`, "one"), decide.GateOpen, ""},
		{"held and put back by its owner", applicationOf(heldByNights, automated, "one"), decide.GateOpen, ""},
		{"held while it applies its objects", strings.Replace(applicationOf(heldByNights, `,"syncPolicy":{}`, "one"), `"status":{`,
			`"status":{"operationState":{"phase":"Running"},`, 1), decide.GateUnreported, `phase is "Running"`},
		{"being deleted", applicationOf(`,"deletionTimestamp":"2026-03-02T12:00:00Z"`, automated, "one"), decide.GateOpen, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			v := decide.Target(memory(t, []policy.Object{nights}, worldtest.Deployment("one", 3, ""), tc.owner), one, evening.Add(time.Hour), nil)
			if v.Gate.Kind != tc.gate || !strings.Contains(v.Gate.Reason, tc.text) || v.Result.Patch == nil {
				t.Errorf("the gate is %d: %q", v.Gate.Kind, v.Gate.Reason)
			}
		})
	}
	blocked := blocked{memory(t, []policy.Object{nights}, worldtest.Deployment("one", 3, ""), applicationOf("", automated, "one")),
		application.GroupKind}
	if v := decide.Target(blocked, one, evening, nil); v.Gate.Kind != decide.GateBlocked {
		t.Errorf("the owner's kind is blocked, and the gate is %d: %q", v.Gate.Kind, v.Gate.Reason)
	}
}

// A reconciliation under way applies its objects in spite of the hold, and ends in any condition.
func TestOwnersAreSeenOnceTheyApplyNothingMore(t *testing.T) {
	const flux, helm = "kustomizations.kustomize.toolkit.fluxcd.io", "helmreleases.helm.toolkit.fluxcd.io"
	condition := func(kind, status, reason string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"reason":%q}`, kind, status, reason)
	}
	for _, tc := range []struct {
		adapter, reason string
		status          string
		waits           bool
	}{
		{flux, "never looked at", "", false},
		{flux, "under way", condition("Ready", "Unknown", "Progressing"), true},
		{flux, "failed", condition("Reconciling", "True", "ProgressingWithRetry") + "," + condition("Ready", "False", "Any"), false},
		{flux, "done", condition("Ready", "True", "ReconciliationSucceeded"), false},
		{helm, "never looked at", "", false},
		{helm, "correcting drift", condition("Reconciling", "True", "Progressing") + "," + condition("Ready", "True", "Any"), true},
		{helm, "upgrading", condition("Reconciling", "True", "Progressing") + "," + condition("Ready", "Unknown", "Any"), true},
		{helm, "waiting for a release that it depends on",
			condition("Reconciling", "True", "Progressing") + "," + condition("Ready", "False", "DependencyNotReady"), false},
		{helm, "done", condition("Ready", "True", "UpgradeSucceeded"), false},
	} {
		k := worldtest.Kind(t, tc.adapter)
		owner := worldtest.Project(t, k, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"shop","namespace":"shop","uid":"uid"},`+
			`"spec":{"suspend":true},"status":{"conditions":[%s]}}`, k.Group+"/v1", k.Kind, tc.status))
		if why := k.Adapter.NotSeen(owner); (why != "") != tc.waits {
			t.Errorf("%s, %s: the reason is %q", tc.adapter, tc.reason, why)
		}
	}
}

// unread is a world in which the records of owners are not read yet.
type unread struct{ decide.World }

func (unread) Owners(workload.Ref) ([]workload.Ref, bool) { return nil, false }

func TestTargetWaitsUntilRecordsAreRead(t *testing.T) {
	one := workload.Ref{GroupKind: web.GroupKind, Namespace: "shop", Name: "one"}
	w := unread{memory(t, []policy.Object{holding("nights", "20:00", "06:00")}, worldtest.Deployment("one", 3, ""))}
	if v := decide.Target(w, one, evening, nil); v.Gate.Kind != decide.GateUnread {
		t.Errorf("the gate is %d: %q", v.Gate.Kind, v.Gate.Reason)
	}
}

// Two owners that apply each other, and an owner that applies itself, are both held.
func TestOwnersThatApplyEachOther(t *testing.T) {
	record := `{"id":"argocd_shop_argoproj.io_Application","v":"v1alpha1"},{"id":"shop_flux_kustomize.toolkit.fluxcd.io_Kustomization","v":"v1"}`
	flux := strings.Replace(kustomizationOf(false), `"entries":[`, `"entries":[`+record, 1)
	app := strings.Replace(applicationOf("", automated), `"resources":[`,
		`"resources":[{"group":"kustomize.toolkit.fluxcd.io","kind":"Kustomization","namespace":"shop","name":"flux"}`, 1)
	all := holding("nights", "20:00", "06:00")
	all.Spec.Target.Namespaces = []string{"shop", "argocd"}
	all.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: application.Group, Kind: application.Kind},
		{Group: kustomization.Group, Kind: kustomization.Kind}}
	got := written(t, memory(t, []policy.Object{all}, flux, app))
	slices.Sort(got)
	if len(got) != 4 || !strings.HasPrefix(got[2], "20:00 Application") || !strings.HasPrefix(got[3], "20:00 Kustomization") {
		t.Errorf("the writes are %q", got)
	}
}
