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
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

var morning = evening.Add(12 * time.Hour)

// inOrder is a Schedule with an order: first the databases (label tier: db), then the caches, then all other targets.
func inOrder(change func(*v1alpha1.Schedule)) *v1alpha1.Schedule {
	s := nightly(0)
	tier := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": name}}
	}
	s.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{{Name: "databases", Selector: tier("db")},
		{Selector: tier("cache"), WaitFor: v1alpha1.WaitForWritten}}}
	if change != nil {
		change(s)
	}
	return s
}

// tiered returns the manifest of a Deployment of a tier. The Deployment has settled if ready equals replicas.
func tiered(name, tier string, replicas, ready int, ledger string) string {
	text := worldtest.Deployment(name, replicas, fmt.Sprintf(`,"labels":{"tier":%q}%s`, tier, ledger))
	return text[:len(text)-1] + fmt.Sprintf(`,"status":{"observedGeneration":1,"replicas":%d,"updatedReplicas":%d,"availableReplicas":%d}}`,
		replicas, ready, ready)
}

// sleeping is a Deployment that the schedule has put to sleep, from one replica.
func sleeping(name, tier string) string {
	return tiered(name, tier, 0, 0,
		fmt.Sprintf(
			`,"annotations":{"flyball.dev/ledger":"{\"/spec/replicas\":{\"was\":1,\"set\":0,`+
				`\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-01T20:00:00Z\"},`+
				`\"of\":\"Deployment/%[1]s\",\"namespace\":\"shop\",\"uid\":\"uid-%[1]s\"}"}`, name))
}

func deploymentRef(name string) workload.Ref {
	return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: name}
}

func TestTargetsAreDecidedInTheOrderOfWaves(t *testing.T) {
	db, late, broken := tiered("db", "db", 1, 1, ""), tiered("db", "db", 1, 0, ""),
		strings.Replace(sleeping("db", "db"), `\"was\":1`, `\"was\":`, 1)
	held := strings.Replace(tiered("web", "", 3, 1, `,"annotations":{"flyball.dev/ledger":"{\"/spec/paused\":{\"set\":true,`+
		`\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-02T20:00:00Z\"},\"of\":\"Deployment/web\",\"namespace\":\"shop\",`+
		`\"uid\":\"uid-web\"}"}`), `"spec":{`, `"spec":{"paused":true,`, 1)
	status := func(place int32, since time.Time) func(*v1alpha1.Schedule) {
		return func(s *v1alpha1.Schedule) {
			s.Status.Order = &v1alpha1.OrderStatus{Direction: "Wake",
				OpenWave: v1alpha1.OpenWave{Place: place, Since: metav1.NewMicroTime(since)}}
		}
	}
	for _, tc := range []struct {
		reason  string
		change  func(*v1alpha1.Schedule)
		objects []string
		of      string
		now     time.Time
		// waits is the reason for waiting and the reason why the object is not finished. Empty means that the write goes
		// through.
		waits string
		until time.Time
		// override keeps web awake.
		override bool
	}{
		{reason: "the first wave wakes at once", objects: []string{sleeping("db", "db"), sleeping("web", "")}, of: "db", now: morning},
		{reason: "the rest waits until it is written", objects: []string{sleeping("db", "db"), sleeping("web", "")}, of: "web", now: morning,
			waits: "waits for wave databases (1 of 3) of Schedule/shop/nights; Deployment.apps/shop/db is not written yet",
			until: morning.Add(10 * time.Minute)},
		{reason: "and until it is ready", objects: []string{late, sleeping("web", "")}, of: "web", now: morning,
			waits: "waits for wave databases (1 of 3) of Schedule/shop/nights; Deployment.apps/shop/db has not settled: " +
				".status.updatedReplicas Ge .spec.replicas does not hold: .status.updatedReplicas is 0", until: morning.Add(10 * time.Minute)},
		{reason: "then it wakes", objects: []string{db, sleeping("web", "")}, of: "web", now: morning},
		{reason: "a wave in between waits too", objects: []string{late, sleeping("redis", "cache")}, of: "redis", now: morning,
			waits: "waits for wave databases (1 of 3) of Schedule/shop/nights; Deployment.apps/shop/db has not settled: " +
				".status.updatedReplicas Ge .spec.replicas does not hold: .status.updatedReplicas is 0", until: morning.Add(10 * time.Minute)},
		{reason: "Written asks for no more", objects: []string{db, tiered("redis", "cache", 1, 0, ""), sleeping("web", "")}, of: "web",
			now: morning},
		{reason: "what has become unready later puts nothing to sleep", objects: []string{late, tiered("web", "", 3, 3, "")}, of: "web",
			now: morning},
		{reason: "an object kept awake at night waits for none that goes on sleeping", of: "web", now: morning.Add(-time.Hour),
			objects: []string{sleeping("db", "db"), sleeping("web", "")}, override: true},
		{reason: "the values of a deleted policy are given back at once", of: "web", now: morning,
			objects: []string{late, strings.ReplaceAll(sleeping("web", ""), "Schedule/shop/nights", "Trigger/shop/peak")}},
		{reason: "an object that its owner has at zero is ready", objects: []string{tiered("db", "db", 0, 0, ""), sleeping("web", "")}, of: "web",
			now: morning},
		{reason: "an object that is being deleted holds up nobody", of: "web", now: morning,
			objects: []string{strings.Replace(late, `"uid":`, `"deletionTimestamp":"2026-03-03T07:00:00Z","uid":`, 1), sleeping("web", "")}},
		{reason: "an object that cannot be written is waited for", objects: []string{broken, sleeping("web", "")}, of: "web", now: morning,
			waits: "waits for wave databases (1 of 3) of Schedule/shop/nights; Deployment.apps/shop/db cannot be written: ",
			until: morning.Add(10 * time.Minute)},

		{reason: "the timeout counts from the standing in the status", change: status(1, morning.Add(time.Minute)),
			objects: []string{late, sleeping("web", "")}, of: "web",
			now:   morning.Add(5 * time.Minute),
			waits: "waits for wave databases (1 of 3) of Schedule/shop/nights; Deployment.apps/shop/db has not settled: ",
			until: morning.Add(11 * time.Minute)},
		{reason: "then the next goes on", change: status(1, morning.Add(time.Minute)), objects: []string{late, sleeping("web", "")}, of: "web",
			now: morning.Add(11 * time.Minute)},
		{reason: "a standing of another transition does not count", change: status(1, morning.Add(-24*time.Hour)),
			objects: []string{late, sleeping("web", "")}, of: "web",
			now:   morning.Add(11 * time.Minute),
			waits: "waits for wave databases (1 of 3) of Schedule/shop/nights; Deployment.apps/shop/db has not settled: ",
			until: morning.Add(21 * time.Minute)},
		{reason: "waves before the standing are over", change: status(2, morning.Add(time.Minute)),
			objects: []string{late, tiered("redis", "cache", 1, 0, ""), sleeping("web", "")}, of: "web",
			now: morning.Add(5 * time.Minute)},
		{reason: "a standing that no wave has is none", change: status(0, morning.Add(time.Minute)), objects: []string{late, sleeping("web", "")},
			of: "web", now: morning.Add(time.Hour),
			waits: "waits for wave databases (1 of 3) of Schedule/shop/nights; Deployment.apps/shop/db has not settled: ",
			until: morning.Add(70 * time.Minute)},
		{reason: "a world without the wave takes what the status says", change: func(s *v1alpha1.Schedule) {
			status(1, morning.Add(time.Minute))(s)
			s.Status.Order.WaitsFor = "StatefulSet.apps/data/db is not written yet"
		}, objects: []string{sleeping("web", "")}, of: "web", now: morning.Add(5 * time.Minute),
			waits: "waits for wave databases (1 of 3) of Schedule/shop/nights; StatefulSet.apps/data/db is not written yet",
			until: morning.Add(11 * time.Minute)},
		{reason: "Stop waits on", objects: []string{late, sleeping("web", "")}, of: "web", now: morning.Add(11 * time.Minute),
			change: func(s *v1alpha1.Schedule) {
				status(1, morning.Add(time.Minute))(s)
				s.Spec.Order.Waves[0].OnTimeout = v1alpha1.OnTimeoutStop
			},
			waits: "wave databases (1 of 3) of Schedule/shop/nights is not finished after 10m0s, and its onTimeout is Stop; " +
				"Deployment.apps/shop/db has not settled: "},

		{reason: "the rest sleeps at once", objects: []string{db, tiered("web", "", 3, 3, "")}, of: "web", now: evening},
		{reason: "the first wave sleeps last", objects: []string{db, sleeping("redis", "cache"), tiered("web", "", 3, 3, "")}, of: "db",
			now:   evening,
			waits: "waits for wave the rest (3 of 3) of Schedule/shop/nights; Deployment.apps/shop/web is not written yet",
			until: evening.Add(10 * time.Minute)},
		{reason: "until the pods are gone", objects: []string{db,
			strings.Replace(sleeping("web", ""), `"replicas":0,"updated`, `"replicas":2,"updated`, 1)}, of: "db", now: evening,
			waits: "waits for wave the rest (3 of 3) of Schedule/shop/nights; Deployment.apps/shop/web has not settled: " +
				".status.replicas Eq .spec.replicas does not hold: .status.replicas is 2", until: evening.Add(10 * time.Minute)},
		{reason: "then it sleeps", objects: []string{db, sleeping("redis", "cache"), sleeping("web", "")}, of: "db", now: evening},
		{reason: "what is only held is done when it is written, because its controller no longer looks at it", of: "db", now: evening,
			change:  func(s *v1alpha1.Schedule) { s.Spec.AsleepAs = &v1alpha1.AsleepAs{Hold: new(true)} },
			objects: []string{db, held}},
		{reason: "one kept awake does not keep the first awake", of: "db", now: evening,
			objects: []string{db, tiered("web", "", 3, 1, "")}, override: true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			policies := []policy.Object{inOrder(tc.change)}
			if tc.override {
				o := order("demo", v1alpha1.OverrideAwake, -1, 100)
				o.Spec.Target.Names = []string{"web"}
				policies = append(policies, o)
			}
			m := memory(t, policies, tc.objects...)
			v := decide.Target(m, deploymentRef(tc.of), tc.now, nil)
			got := v.Gate.Reason
			if v.Gate.Order != nil {
				got += "; " + v.Gate.Order.Why
			}
			if (tc.waits == "") != (got == "") || !strings.HasPrefix(got, tc.waits) || !v.Gate.Until.Equal(tc.until) {
				t.Errorf("waits: %q until %s, want %q until %s", got, v.Gate.Until, tc.waits, tc.until)
			}
		})
	}
}

// An autoscaler wakes with its target, even if its own labels match another wave.
func TestAutoscalersAreInTheWaveOfTheirTargets(t *testing.T) {
	scaler := `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"db",` +
		`"namespace":"shop","uid":"u","resourceVersion":"7"},` +
		`"spec":{"scaleTargetRef":{"name":"db"}}}`
	m := memory(t, []policy.Object{inOrder(nil)}, tiered("db", "db", 1, 1, ""), scaler, tiered("web", "", 3, 3, ""))
	ref := workload.Ref{GroupKind: schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, Namespace: "shop", Name: "db"}
	v := decide.Target(m, ref, evening, nil)
	if v.Gate.Kind != decide.GateOrder || v.Gate.Order.Last != deploymentRef("web") {
		t.Errorf("the autoscaler of a database goes to sleep before the rest: %+v", v.Gate)
	}
}

// While a target waits, its autoscaler is not held, because a held autoscaler would not scale during the wait. The
// policy does not select the autoscaler.
func TestAutoscalersAreHeldOnceTheirTargetsMaySleep(t *testing.T) {
	scaler := `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"db",` +
		`"namespace":"shop","uid":"u","resourceVersion":"7"},` +
		`"spec":{"scaleTargetRef":{"name":"db"}}}`
	deployments := inOrder(func(s *v1alpha1.Schedule) {
		s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	})
	ref := workload.Ref{GroupKind: schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, Namespace: "shop", Name: "db"}
	for web, want := range map[string]decide.GateKind{tiered("web", "", 3, 3, ""): decide.GateOrder, sleeping("web", ""): decide.GateOpen} {
		m := memory(t, []policy.Object{deployments}, tiered("db", "db", 1, 1, ""), scaler, web)
		if v := decide.Target(m, ref, evening, nil); v.Result.Patch == nil || v.Gate.Kind != want {
			t.Errorf("the autoscaler of a database has gate %+v, want %v, beside %s", v.Gate, want, web)
		}
	}
}

// A standing in the status can be impossible, as after a change of the order or of the clock. It must not delay a
// timeout for ever.
func TestStandingsThatCannotBe(t *testing.T) {
	for _, at := range []decide.Standing{{Place: 7, Since: morning}, {Place: -1, Since: morning}, {Since: morning.Add(24 * time.Hour)}} {
		c := &crew{Memory: memory(t, []policy.Object{inOrder(nil)}, tiered("db", "db", 1, 0, ""), sleeping("web", "")), Waits: &decide.Waits{}}
		c.Resume(decide.Line{Policy: nights, Direction: workload.DirectionUp}, at)
		web := deploymentRef("web")
		v := decide.Target(c, web, morning, nil)
		for slices.Contains(c.Decided(web, &v, morning), web) { // a target that comes due is decided again
			v = decide.Target(c, web, morning, nil)
		}
		if v.Gate.Kind != decide.GateOrder || v.Gate.Order.Entering {
			t.Errorf("%v: the rest does not wait for the database: %+v", at, v.Gate)
		}
		if v = decide.Target(c, web, morning.Add(10*time.Minute), nil); v.Gate.Kind != decide.GateOpen {
			t.Errorf("%v: the rest waits after the timeout: %+v", at, v.Gate)
		}
	}
}

// A simulation writes the waves in their order, and limits batches inside a wave.
func TestSimulateInOrder(t *testing.T) {
	objects := []string{tiered("a-web", "", 3, 3, ""), tiered("b-db", "db", 1, 1, ""), tiered("c-redis", "cache", 1, 1, ""),
		tiered("d-db", "db", 1, 1, "")}
	for _, tc := range []struct {
		reason string
		batch  int32
		want   []string
	}{
		{"all at once", 0, []string{"2 20:00 down web", "2 20:00 down redis", "2 20:00 down db", "2 20:00 down db",
			"3 08:00 up db", "3 08:00 up db", "3 08:00 up redis", "3 08:00 up web"}},
		{"one at a time", 1, []string{"2 20:00 down web", "2 20:10 down redis", "2 20:20 down db", "2 20:30 down db",
			"3 08:00 up db", "3 09:00 up db", "3 10:00 up redis", "3 11:00 up web"}},
	} {
		s := inOrder(func(s *v1alpha1.Schedule) {
			limits := nightly(tc.batch).Spec
			s.Spec.DownscaleRateLimit, s.Spec.UpscaleRateLimit = limits.DownscaleRateLimit, limits.UpscaleRateLimit
			for i := range s.Spec.Order.Waves {
				s.Spec.Order.Waves[i].Timeout = "5h"
			}
		})
		m := memory(t, []policy.Object{s}, objects...)
		got := simulated(t, m, noon, morning.Add(6*time.Hour))
		for i := range got { // the two databases may come in any order
			got[i] = strings.NewReplacer("a-", "", "b-", "", "c-", "", "d-", "").Replace(got[i])
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
		}
	}
}

// crew is a manager with a queue and workers, and with controllers that make Deployments ready one by one.
type crew struct {
	*world.Memory
	*decide.Waits
	t     *rapid.T
	now   time.Time
	queue []workload.Ref
	// decided are the verdicts on which workers have not acted yet.
	decided []decide.Verdict
	woken   []string
	// stuck has the names of targets whose writes fail, and wakes the instants at which targets are decided again.
	stuck map[string]bool
	wakes map[workload.Ref]time.Time
}

// work decides one target of the queue, or acts on one verdict.
func (c *crew) work() {
	if len(c.decided) == 0 || len(c.queue) > 0 && rapid.Bool().Draw(c.t, "decide") {
		i := rapid.IntRange(0, len(c.queue)-1).Draw(c.t, "next")
		ref := c.queue[i]
		c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
		c.decided = append(c.decided, decide.Target(c, ref, c.now, nil))
		return
	}
	i := rapid.IntRange(0, len(c.decided)-1).Draw(c.t, "act")
	v := c.decided[i]
	c.decided = append(c.decided[:i:i], c.decided[i+1:]...)
	ref := v.Kind.Ref(v.Object)
	c.queue = append(c.queue, c.Decided(ref, &v, c.now)...)
	if len(c.queue) > 1000 {
		c.t.Fatal("targets have each other decided for ever")
	}
	if c.wakes != nil {
		c.wakes[ref] = timeline.Earliest(v.Wake, v.Gate.Until)
	}
	if v.Result.Patch == nil || v.Gate.Kind != decide.GateOpen || c.Object(ref).ResourceVersion != v.Object.ResourceVersion ||
		c.stuck[ref.Name] {
		return
	}
	if _, err := c.Apply(ref, v.Result.Patch); err != nil {
		c.t.Fatal(err)
	}
	c.queue = append(c.queue, ref)
	if v.Result.Direction == workload.DirectionUp {
		c.woken = append(c.woken, ref.Name)
	}
}

// Standing returns the standing of the crew's Waits instead of the standing in the status.
func (c *crew) Standing(line decide.Line, ref workload.Ref) decide.Standing {
	return c.Waits.Standing(line, ref)
}

func (c *crew) busy() bool { return len(c.queue)+len(c.decided) > 0 }

// settle makes a Deployment ready.
func (c *crew) settle(ref workload.Ref) {
	replicas := rawjson.GetBytes(c.Raw(ref), "spec.replicas").Int()
	body := fmt.Sprintf(`{"status":{"observedGeneration":9,"replicas":%[1]d,"updatedReplicas":%[1]d,"availableReplicas":%[1]d}}`, replicas)
	if _, err := c.Apply(ref, &workload.Patch{Body: []byte(body)}); err != nil {
		c.t.Fatal(err)
	}
	c.queue = append(c.queue, ref)
}

// Targets are queued, decided and made ready in any order, and the manager restarts at random. No target wakes before
// earlier waves are ready, and no target stays asleep.
func TestEveryTargetWakesInItsOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tiers := rapid.SliceOfN(rapid.SampledFrom([]string{"db", "cache", "app"}), 1, 8).Draw(rt, "tiers")
		var manifests []string
		for i, tier := range tiers {
			manifests = append(manifests, sleeping(fmt.Sprintf("%s-%d", tier, i), tier))
		}
		s := inOrder(func(s *v1alpha1.Schedule) { s.Spec.Order.Waves[1].WaitFor = v1alpha1.WaitForReady })
		c := &crew{Memory: memory(t, []policy.Object{s}, manifests...), Waits: &decide.Waits{}, t: rt, now: morning}
		all := func() (refs []workload.Ref) {
			c.EachObject(func(ref workload.Ref) { refs = append(refs, ref) })
			return refs
		}
		c.queue = all()
		unready := map[string]bool{}
		for steps := 0; len(c.woken) < len(tiers) || c.busy(); steps++ {
			before := len(c.woken)
			switch action := rapid.IntRange(0, 5).Draw(rt, "action"); {
			case action == 0 && steps < 200: // a restart
				c.Waits, c.queue, c.decided = &decide.Waits{}, all(), nil
			case action <= 1 && len(unready) > 0 || !c.busy():
				if len(unready) == 0 {
					rt.Fatalf("nothing is queued, and only %v woke", c.woken)
				}
				var names []string
				for _, ref := range all() {
					if unready[ref.Name] {
						names = append(names, ref.Name)
					}
				}
				name := names[rapid.IntRange(0, len(names)-1).Draw(rt, "ready")]
				delete(unready, name)
				c.settle(deploymentRef(name))
			default:
				c.work()
			}
			for _, name := range c.woken[before:] {
				unready[name] = true
				checkWaves(rt, tiers, c.woken, unready, name)
			}
		}
	})
}

// counted is a crew that counts how often it looks at all targets of a policy.
type counted struct {
	*crew
	looks int
}

func (c *counted) EachOf(p *decide.Policy, namespace string, yield func(*decide.Kind, *workload.Object)) {
	c.looks++
	c.crew.EachOf(p, namespace, yield)
}

// A wave is not searched again after each change in it, nor for each target of later waves. Otherwise plans of
// thousands of targets would take minutes.
func TestWavesAreNotLookedThroughAnew(t *testing.T) {
	const each = 40
	var manifests []string
	for i := range each {
		manifests = append(manifests, sleeping(fmt.Sprintf("db-%02d", i), "db"), sleeping(fmt.Sprintf("web-%02d", i), ""))
	}
	c := &counted{crew: &crew{Memory: memory(t, []policy.Object{inOrder(nil)}, manifests...), Waits: &decide.Waits{}, now: morning}}
	c.EachObject(func(ref workload.Ref) { c.queue = append(c.queue, ref) })
	run := func() {
		for len(c.queue) > 0 {
			ref := c.queue[0]
			c.queue = c.queue[1:]
			v := decide.Target(c, ref, c.now, nil)
			c.queue = append(c.queue, c.Decided(ref, &v, c.now)...)
			if v.Result.Patch == nil || v.Gate.Kind != decide.GateOpen {
				continue
			}
			if _, err := c.Apply(ref, v.Result.Patch); err != nil {
				t.Fatal(err)
			}
			c.woken, c.queue = append(c.woken, ref.Name), append(c.queue, ref)
		}
	}
	run()
	for _, name := range slices.Clone(c.woken) {
		c.settle(deploymentRef(name))
		run()
	}
	if len(c.woken) != 2*each || c.looks > each/4 {
		t.Errorf("%d of %d targets woke, with %d looks at all of them, want at most %d", len(c.woken), 2*each, c.looks, each/4)
	}
}

// checkWaves fails if a target has woken before earlier waves were ready.
func checkWaves(t *rapid.T, tiers, woken []string, unready map[string]bool, name string) {
	rank := map[string]int{"db": 0, "cache": 1, "app": 2}
	mine := rank[strings.Split(name, "-")[0]]
	for i, tier := range tiers {
		other := fmt.Sprintf("%s-%d", tier, i)
		if rank[tier] < mine && (unready[other] || !strings.Contains(" "+strings.Join(woken, " ")+" ", " "+other+" ")) {
			t.Fatalf("%s woke before %s was ready", name, other)
		}
	}
}

// Two orders that contradict each other wait for each other until the timeout. They do not queue each other's targets
// for ever.
func TestContradictingOrders(t *testing.T) {
	other := inOrder(func(s *v1alpha1.Schedule) {
		s.Name = "others"
		s.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{{Names: []string{"web"}}}}
	})
	c := &crew{Memory: memory(t, []policy.Object{inOrder(nil), other}, sleeping("db", "db"), sleeping("web", "")), Waits: &decide.Waits{},
		now: morning}
	rapid.Check(t, func(rt *rapid.T) {
		c.t, c.queue = rt, []workload.Ref{deploymentRef("db"), deploymentRef("web")}
		for i := 0; c.busy(); i++ {
			if c.work(); i > 200 {
				rt.Fatal("they have each other decided for ever")
			}
		}
		if len(c.woken) > 0 {
			rt.Fatalf("%v woke before the timeout", c.woken)
		}
	})
	holds, waiting := c.Open(nights)
	if waiting != 1 || holds[0].Title != "databases (1 of 3)" {
		t.Errorf("%d targets wait for %+v", waiting, holds)
	}
	for _, name := range []string{"db", "web"} {
		if v := decide.Target(c, deploymentRef(name), morning.Add(10*time.Minute), nil); v.Gate.Kind != decide.GateOpen {
			t.Errorf("%s still waits after the timeout: %s", name, v.Gate.Reason)
		}
	}
}
