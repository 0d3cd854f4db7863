package adapter

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/workload"
)

const pausableYAML = `
target: {group: example.com, kind: Farm, versions: [v1]}
scale: [{each: ".spec.sets[*]", nameFrom: .name, replicas: .count}]
suspend: [{when: [{path: .spec.off, op: Exists}], set: [{path: .spec.off, value: true}]}]
bounds: {min: {path: .spec.min, default: 1}, max: {path: .spec.max}}
hold: [{set: [{path: .spec.paused, value: true}]}]
unable:
- when: [{path: .spec.paused, op: Eq, value: true}]
  because: its owner has paused it
`

// TestUnableObjectsKeepTheirSizeAndBounds tries each way to a size on an object of unable, list elements included.
func TestUnableObjectsKeepTheirSizeAndBounds(t *testing.T) {
	a := mustCompile(t, pausableYAML, Keys{})
	bounds := workload.Plan{Max: number(2)}
	for name, tc := range map[string]struct {
		spec string
		plan workload.Plan
		want workload.State
	}{
		"counts in a list":        {`{"paused":true,"sets":[{"name":"a","count":3}]}`, sleep(), workload.StateUnable},
		"less":                    {`{"paused":true,"sets":[{"name":"a","count":3}]}`, size(workload.SizeAtMost, 1), workload.StateUnable},
		"a switch":                {`{"paused":true,"off":false,"sets":[{"name":"a","count":3}]}`, sleep(), workload.StateUnable},
		"bounds":                  {`{"paused":true,"max":5}`, bounds, workload.StateUnable},
		"at zero by its owner":    {`{"paused":true,"sets":[{"name":"a","count":0}]}`, sleep(), workload.StateAlreadyAsleep},
		"suspended by its owner":  {`{"paused":true,"off":true,"sets":[{"name":"a","count":3}]}`, sleep(), workload.StateAlreadyAsleep},
		"not paused":              {`{"paused":false,"sets":[{"name":"a","count":3}]}`, sleep(), workload.StateAsleep},
		"the bounds of no paused": {`{"max":5}`, bounds, workload.StateSet},
	} {
		got := rendered(t, a, object(tc.spec), tc.plan)
		if got.State != tc.want {
			t.Errorf("%s: the state is %s, want %s (%s)", name, got.State, tc.want, got.Message)
		}
		if unable := tc.want == workload.StateUnable; unable != (got.Message == "its owner has paused it") || unable && got.Patch != nil {
			t.Errorf("%s: the message is %q, and the patch %v", name, got.Message, got.Patch)
		}
	}
}

// TestPauseAtNightLeavesASleepingObjectAsleep checks that unable does not wake an object, whose status is then that of a sleeping one, and
// that Flyball's own hold does not count as a pause.
func TestPauseAtNightLeavesASleepingObjectAsleep(t *testing.T) {
	a := mustCompile(t, pausableYAML, Keys{})
	s := newServer(object(`{"sets":[{"name":"a","count":3}]}`))
	both := sleep()
	both.Hold = holding().Hold
	if got := s.settle(t, a, both); got.State != workload.StateAsleep {
		t.Fatalf("held by Flyball the state is %s: %s", got.State, got.Message)
	}
	if got := s.settle(t, a, sleep()); got.State != workload.StateAsleep {
		t.Fatalf("asleep the state is %s: %s", got.State, got.Message)
	}
	s.set("/spec/paused", "true")
	if got := s.settle(t, a, sleep()); got.State != workload.StateAsleep {
		t.Fatalf("paused the state is %s: %s", got.State, got.Message)
	}
	s.settle(t, a, workload.Plan{})
	if got, want := s.spec(), `{"paused":true,"sets":[{"count":3,"name":"a"}]}`; got != want {
		t.Errorf("the paused object is %s, want %s", got, want)
	}
}

// TestAnObjectThatCannotSleepCanBeSmaller checks that claims of an item limit it to them.
func TestAnObjectThatCannotSleepCanBeSmaller(t *testing.T) {
	a := mustCompile(t, strings.Replace(pausableYAML, "- when:", "- claims: [Sleep]\n  when:", 1), Keys{})
	obj := object(`{"paused":true,"sets":[{"name":"a","count":3}]}`)
	if got := rendered(t, a, obj, sleep()); got.State != workload.StateUnable || got.Patch != nil {
		t.Errorf("asleep the state is %s (%s)", got.State, got.Message)
	}
	if got := rendered(t, a, obj, size(workload.SizeAtMost, 1)); got.State != workload.StateAsleep || got.Patch == nil {
		t.Errorf("with one replica the state is %s (%s)", got.State, got.Message)
	}
}

// TestAChangedObjectIsJudgedForEachOtherClaim changes an object by one claim and pauses it: the change stays while it is claimed, and every
// other claim is as impossible as for an object without changes, so the original comes back.
func TestAChangedObjectIsJudgedForEachOtherClaim(t *testing.T) {
	less, bounds := size(workload.SizeAtMost, 2), workload.Plan{Max: number(2)}
	slept := sleep()
	slept.Max = number(2)
	const counts, both = `"sets":[{"count":3,"name":"a"}]`, `"max":5,"paused":true,"sets":[{"count":3,"name":"a"}]`
	still := func(count string) string { return strings.Replace(`{`+both+`}`, "3", count, 1) }
	for name, tc := range map[string]struct {
		claims      string
		first, then workload.Plan
		state       workload.State
		spec        string
	}{
		"asleep, and so again":      {"[]", sleep(), sleep(), workload.StateAsleep, still("0")},
		"less, and so again":        {"[]", less, less, workload.StateAsleep, still("2")},
		"less, and still less":      {"[]", less, size(workload.SizeAtMost, 1), workload.StateAsleep, still("1")},
		"bounds, and so again":      {"[]", bounds, bounds, workload.StateSet, `{"max":2,"paused":true,` + counts + `}`},
		"less, then asleep":         {"[Sleep]", less, sleep(), workload.StateUnable, `{` + both + `}`},
		"asleep, then less":         {"[Size]", sleep(), less, workload.StateUnable, `{` + both + `}`},
		"asleep, then with bounds":  {"[Bounds]", sleep(), slept, workload.StateAsleep, still("0")},
		"bounds, then asleep":       {"[Sleep]", bounds, slept, workload.StateUnable, `{"max":2,"paused":true,` + counts + `}`},
		"bounds, then asleep alone": {"[]", bounds, sleep(), workload.StateUnable, `{` + both + `}`},
	} {
		a := mustCompile(t, strings.Replace(pausableYAML, "- when:", "- claims: "+tc.claims+"\n  when:", 1), Keys{})
		s := newServer(object(`{"max":5,` + counts + `}`))
		s.settle(t, a, tc.first)
		s.set("/spec/paused", "true")
		if got := s.settle(t, a, tc.then); got.State != tc.state || s.spec() != tc.spec {
			t.Errorf("%s: the state is %s (%s) with %s, want %s with %s", name, got.State, got.Message, s.spec(), tc.state, tc.spec)
		}
		if s.settle(t, a, workload.Plan{}); s.spec() != `{`+both+`}` {
			t.Errorf("%s: without a claim it is %s", name, s.spec())
		}
	}
}

// A sleeping component has its minimum, which can be the count of less as well: either claim stays.
func TestASleepingObjectAtItsMinimumStaysSo(t *testing.T) {
	a := mustCompile(t, strings.Replace(pausableYAML, "replicas: .count", "replicas: .count, minimum: 1", 1), Keys{})
	for name, plan := range map[string]workload.Plan{"asleep": sleep(), "less": size(workload.SizeAtMost, 1)} {
		s := newServer(object(`{"sets":[{"name":"a","count":3}]}`))
		s.settle(t, a, plan)
		s.set("/spec/paused", "true")
		got, want := s.settle(t, a, plan), `{"paused":true,"sets":[{"count":1,"name":"a"}]}`
		if got.State != workload.StateAsleep || s.spec() != want {
			t.Errorf("%s: the state is %s (%s) with %s", name, got.State, got.Message, s.spec())
		}
	}
}

// TestAPauseOfTheOwnerIsReported: a hold of Flyball is no pause of the owner, and an object can be unable without a pause.
func TestAPauseOfTheOwnerIsReported(t *testing.T) {
	const because = "because: its owner has paused it"
	a := mustCompile(t, strings.Replace(pausableYAML, because, because+"\n  paused: true", 1)+`
- when: [{path: .spec.frozen, op: Exists}]
  because: it is frozen
`, Keys{})
	held := newServer(object(`{}`))
	if held.settle(t, a, holding()); held.spec() != `{"paused":true}` {
		t.Fatalf("held, it is %s", held.spec())
	}
	for name, tc := range map[string]struct {
		object []byte
		want   string
	}{
		"awake":                {object(`{}`), ""},
		"paused by its owner":  {object(`{"paused":true}`), "its owner has paused it"},
		"unable for a reason":  {object(`{"frozen":true}`), ""},
		"held by Flyball":      {held.doc, ""},
		"paused and unable":    {object(`{"paused":true,"frozen":true}`), "its owner has paused it"},
		"paused set to no":     {object(`{"paused":false}`), ""},
		"a pause of some text": {object(`{"paused":"true "}`), ""},
	} {
		if got := a.Paused(projected(t, a, tc.object)); got != tc.want {
			t.Errorf("%s: the reason is %q, want %q", name, got, tc.want)
		}
	}
}

// TestAnObjectAtRestIsAlreadyAsleep checks that an item with alreadyAsleep is no fault of a claim for sleep, and no success of another
// size.
func TestAnObjectAtRestIsAlreadyAsleep(t *testing.T) {
	a := mustCompile(t, pausableYAML+`
- when: [{path: .status.phase, op: Eq, value: Ended}]
  because: it has ended
  alreadyAsleep: true
`, Keys{})
	at := func(spec string) []byte {
		return []byte(strings.Replace(string(object(spec)), `"spec":`, `"status":{"phase":"Ended"},"spec":`, 1))
	}
	for name, tc := range map[string]struct {
		object []byte
		plan   workload.Plan
		want   workload.State
	}{
		"asleep":            {at(`{"sets":[{"name":"a","count":3}]}`), sleep(), workload.StateAlreadyAsleep},
		"less":              {at(`{"sets":[{"name":"a","count":3}]}`), size(workload.SizeAtMost, 1), workload.StateAlreadyAsleep},
		"paused and ended":  {at(`{"paused":true,"sets":[{"name":"a","count":3}]}`), sleep(), workload.StateAlreadyAsleep},
		"another size":      {at(`{"sets":[{"name":"a","count":3}]}`), size(workload.SizeExactly, 5), workload.StateUnable},
		"not ended":         {object(`{"sets":[{"name":"a","count":3}]}`), sleep(), workload.StateAsleep},
		"paused, not ended": {object(`{"paused":true,"sets":[{"name":"a","count":3}]}`), sleep(), workload.StateUnable},
	} {
		got := rendered(t, a, tc.object, tc.plan)
		if got.State != tc.want || (got.Patch == nil) != (tc.want != workload.StateAsleep) {
			t.Errorf("%s: the state is %s, want %s (%s, patch %v)", name, got.State, tc.want, got.Message, got.Patch)
		}
	}
}
