package adapter

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// poweredYAML is a kind with an optional part that several facets write to.
const poweredYAML = `
target: {group: example.com, kind: Any, versions: [v1]}
suspend: [{set: [{path: .spec.power.on, value: false}]}]
scale: [{name: main, replicas: .spec.replicas, default: 1}]
hold: [{set: [{path: .spec.power.fan.lock, value: true}]}]
bounds: {min: {path: .spec.power.level}}
`

// partYAML is a kind with an optional part that several facets write to, and that contains the count.
const partYAML = `
target: {group: example.com, kind: Any, versions: [v1]}
scale: [{name: worker, replicas: .spec.worker.replicas, default: 1}]
hold: [{set: [{path: .spec.worker.paused, value: true}]}]
bounds: {min: {path: .spec.worker.min}}
`

// managed is an entry of .metadata.managedFields.
type managed struct {
	Manager    string          `json:"manager"`
	APIVersion string          `json:"apiVersion"`
	FieldsV1   json.RawMessage `json:"fieldsV1"`
}

const (
	ownLedger  = `"f:metadata":{"f:annotations":{".":{},"f:flyball.dev/ledger":{}}}`
	flyballs   = `{` + ownLedger + `,"f:spec":{"f:replicas":{}}}`
	flyballsIn = `{` + ownLedger + `,"f:spec":{"f:power":{".":{},"f:on":{},"f:level":{},"f:fan":{".":{},"f:speed":{}}}}}`
)

// written is an object with a ledger of its own and managed fields.
func written(t *testing.T, spec, uid string, e workload.Entry, managers ...managed) []byte {
	t.Helper()
	text, err := workload.Ledger{e}.Encode(workload.Origin{Of: "Any/web", Namespace: "shop", UID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	metadata := map[string]any{"uid": uid, "managedFields": managers}
	patch := must(json.Marshal(map[string]any{"metadata": metadata}))
	return must(jsonpatch.MergePatch(object(spec, v1alpha1.AnnotationLedger, text), patch))
}

// TestAuthorsOfFieldsAreFound returns the author, by managed fields, of a count that Flyball has set to 0, or of a
// container that it
// has made.
func TestAuthorsOfFieldsAreFound(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Any, versions: [v1]}
scale: [{name: main, replicas: .spec.replicas}, {each: ".spec.pools[*]", nameFrom: .name, replicas: .count}]
suspend: [{when: [{path: .spec.power, op: Exists}], set: [{path: .spec.power.on, value: false}]}]
`, Keys{})
	count := entry("/spec/replicas", "3", "0")
	element := entry("/spec/pools/1/count", "3", "0")
	element.Element = "b"
	power := madeEntry("/spec/power/on", "false", 2)
	const v1 = "example.com/v1"
	ours, oursIn := managed{"flyball", v1, json.RawMessage(flyballs)}, managed{"flyball", v1, json.RawMessage(flyballsIn)}
	other := func(fields string) managed { return managed{"kubectl", v1, json.RawMessage(fields)} }
	named := func(name, fields string) managed { return managed{name, v1, json.RawMessage(fields)} }
	const leaf, pools, powers = `{"replicas":0}`, `{"pools":[{"name":"a","count":2},{"name":"b","count":0}]}`,
		`{"power":{"on":false,"level":3,"fan":{"speed":2}}}`
	for _, c := range []struct {
		name  string
		spec  string
		uid   string
		entry workload.Entry
		by    []managed
		want  workload.Author
	}{
		{"no managed fields", leaf, "1", count, nil, workload.Author{}},
		{"Flyball's", leaf, "1", count, []managed{ours}, workload.Author{Known: true}},
		{"somebody else's", leaf, "1", count, []managed{ours, other(`{"f:spec":{"f:replicas":{}}}`)}, workload.Author{Known: true, Other: true}},
		{"of another object, restored", leaf, "2", count, []managed{ours, other(`{"f:spec":{"f:replicas":{}}}`)}, workload.Author{}},
		{"Flyball has not written the ledger", leaf, "1", count, []managed{other(`{"f:spec":{"f:replicas":{}}}`)}, workload.Author{}},
		{"they apply the ledger, too", leaf, "1", count, []managed{ours, other(flyballs)}, workload.Author{Known: true}},
		{"gathered by the API server", leaf, "1", count,
			[]managed{named("flyball", `{`+ownLedger+`}`), named("ancient-changes", `{"f:spec":{"f:replicas":{}}}`)}, workload.Author{}},
		{"known before the first apply", leaf, "1", count,
			[]managed{named("flyball", `{`+ownLedger+`}`), named("before-first-apply", `{"f:spec":{"f:replicas":{}}}`)}, workload.Author{}},
		{"repeated by Argo CD", leaf, "1", count, []managed{ours, named("argocd-controller", `{"f:spec":{"f:replicas":{}}}`)},
			workload.Author{Known: true}},
		{"in another version", leaf, "1", count,
			[]managed{named("flyball", `{`+ownLedger+`}`), {"kubectl", "example.com/v2", json.RawMessage(`{"f:spec":{"f:replicas":{}}}`)}},
			workload.Author{}},
		{"of Flyball's template", leaf, "1", count, []managed{ours, named("flyball-template", `{"f:spec":{"f:replicas":{}}}`)},
			workload.Author{Known: true}},
		{"beside it", leaf, "1", count, []managed{ours, other(`{"f:spec":{"f:paused":{}}}`)}, workload.Author{Known: true}},
		{"around it", leaf, "1", count, []managed{named("flyball", `{`+ownLedger+`}`), other(`{"f:spec":{}}`)}, workload.Author{}},
		{"an element, by its key", pools, "1", element, []managed{ours, other(`{"f:spec":{"f:pools":{"k:{\"name\":\"b\"}":{"f:count":{}}}}}`)},
			workload.Author{Known: true, Other: true}},
		{"another element", pools, "1", element, []managed{ours, other(`{"f:spec":{"f:pools":{"k:{\"name\":\"a\"}":{"f:count":{}}}}}`)},
			workload.Author{}},
		{"a list that is written as a whole", pools, "1", element, []managed{ours, other(`{"f:spec":{"f:pools":{}}}`)}, workload.Author{}},
		{"a container with defaults", powers, "1", power, []managed{oursIn}, workload.Author{Known: true, Alone: 2}},
		{"a container, and somebody who has written nothing", powers, "1", power, []managed{oursIn, other(`{}`)},
			workload.Author{Known: true, Alone: 2}},
		{"a container that others put something into", powers, "1", power, []managed{oursIn, other(`{"f:spec":{"f:power":{"f:level":{}}}}`)},
			workload.Author{Known: true}},
		{"a container that others may have put something into", powers, "1", power,
			[]managed{oursIn, named("ancient-changes", `{"f:spec":{"f:power":{"f:level":{}}}}`)}, workload.Author{Known: true}},
		{"a container inside what others write as a whole", powers, "1", power, []managed{oursIn, other(`{"f:spec":{}}`)},
			workload.Author{Known: true}},
		{"a container of a restored object", powers, "2", power, []managed{oursIn}, workload.Author{}},
	} {
		obj := projected(t, a, written(t, c.spec, c.uid, c.entry, c.by...))
		got := workload.Author{}
		if authors := obj.Notes().Authors; len(authors) > 0 {
			got = authors[0]
		}
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
	// Whatever stands there does no harm.
	for _, junk := range []string{`7`, `{}`, `[7,null,{}]`, `[{"manager":7,"fieldsV1":[]}]`,
		`[{"manager":"flyball","apiVersion":"v","fieldsV1":{"f:metadata":7}}]`} {
		doc := must(jsonpatch.MergePatch(written(t, leaf, "1", count), []byte(`{"metadata":{"managedFields":`+junk+`}}`)))
		if obj := projected(t, a, doc); len(obj.Ledger) != 1 || len(obj.Notes().Authors) > 0 {
			t.Errorf("%s: authors %+v", junk, obj.Notes().Authors)
		}
	}
}

// TestMadeContainersGo restores a field in a container that Flyball made and that has got defaults since. The
// container
// goes with the field.
func TestMadeContainersGo(t *testing.T) {
	a := mustCompile(t, poweredYAML, Keys{})
	const full = `{"kept":1,"power":{"on":false,"level":3,"fan":{"speed":2}}}`
	ours := managed{"flyball", "v1", json.RawMessage(flyballsIn)}
	doc := written(t, full, "1", madeEntry("/spec/power/on", "false", 2), ours)
	if o := a.Observe(projected(t, a, doc)); o.Bounds.Min != nil || o.Suspended {
		t.Errorf("defaults are taken for the owner's: %+v", o)
	}
	if back := newServer(doc); true {
		if back.settle(t, a, workload.Plan{}); !path.Equal(back.spec(), `{"kept":1}`) || back.writes != 1 {
			t.Errorf("given back in %d writes: %s", back.writes, back.spec())
		}
	}
	// A remaining value of Flyball keeps the container.
	held := newServer(doc)
	held.settle(t, a, workload.Plan{Size: sleep().Size, Hold: holding().Hold, Min: number(5)})
	if spec := held.spec(); !path.Equal(spec, `{"kept":1,"power":{"on":false,"level":5,"fan":{"speed":2,"lock":true}}}`) {
		t.Fatalf("held: %s", spec)
	}
	held.settle(t, a, workload.Plan{Min: number(5)})
	if spec := held.spec(); !path.Equal(spec, `{"kept":1,"power":{"level":5,"fan":{"speed":2}}}`) {
		t.Errorf("bounded still: %s", spec)
	}
	held.settle(t, a, workload.Plan{})
	if spec := held.spec(); !path.Equal(spec, `{"kept":1}`) {
		t.Errorf("given back in the end: %s", spec)
	}
}

// TestInnerCreatedParentIsRemovedWhileTheOuterStays checks that the inner one of two containers that Flyball made is
// removed, with
// its defaults, while the outer one stays.
func TestInnerCreatedParentIsRemovedWhileTheOuterStays(t *testing.T) {
	a := mustCompile(t, poweredYAML, Keys{})
	s := newTrackingServer(object(`{}`), map[string]string{"/spec/power/fan": `{"speed":2}`})
	s.settle(t, a, workload.Plan{Hold: holding().Hold, Min: number(5)})
	if want := `{"power":{"level":5,"fan":{"lock":true,"speed":2}}}`; !path.Equal(want, s.spec()) {
		t.Fatalf("held: %s", s.spec())
	}
	if s.settle(t, a, workload.Plan{Min: number(5)}); !path.Equal(`{"power":{"level":5}}`, s.spec()) {
		t.Errorf("bounded still: %s", s.spec())
	}
	if s.settle(t, a, workload.Plan{}); !path.Equal(`{}`, s.spec()) {
		t.Errorf("given back: %s", s.spec())
	}
}

// TestAContainerThatIsTheOwnersNow checks that a container with an orphaned value is the owner's: no remaining entry
// counts it as made by Flyball.
func TestAContainerThatIsTheOwnersNow(t *testing.T) {
	a := mustCompile(t, poweredYAML, Keys{})
	bounded := workload.Plan{Min: &workload.Claim[int64]{Value: 9, By: nights, Since: monday}}
	held := workload.Plan{Hold: holding().Hold}
	for _, c := range []struct {
		name   string
		stays  workload.Plan
		orphan workload.Policy
		made   uint8
	}{
		{"beside the value", bounded, peaks, 0},
		{"around a container with the value", held, nights, 3},
	} {
		s := newTrackingServer(object(`{}`), nil)
		s.settle(t, a, workload.Plan{Hold: held.Hold, Min: bounded.Min})
		c.stays.Orphan = map[workload.Policy]bool{c.orphan: true}
		s.settle(t, a, c.stays)
		if left := s.ledger(t, a); len(left) != 1 || left[0].Made != c.made {
			t.Errorf("%s: left in the ledger: %+v, want %d as made", c.name, left, c.made)
		}
	}
}

// TestADefaultThatIsClaimedStays checks that a default stays if a policy claims its present value when the container
// around it is to go.
func TestADefaultThatIsClaimedStays(t *testing.T) {
	a := mustCompile(t, poweredYAML, Keys{})
	s := newTrackingServer(object(`{}`), worlds["Powered"].defaults)
	s.settle(t, a, holding())
	before := s.writes
	s.settle(t, a, workload.Plan{Min: number(3)})
	if want := `{"power":{"level":3,"fan":{"speed":2}}}`; !path.Equal(want, s.spec()) || s.writes != before+1 {
		t.Errorf("claimed in %d writes: %s", s.writes-before, s.spec())
	}
	if s.settle(t, a, workload.Plan{}); !path.Equal(`{}`, s.spec()) || len(s.ledger(t, a)) > 0 {
		t.Errorf("given back: %s", s.spec())
	}
}

// TestAnOwnersValueStaysInAContainerThatWasMade restores an owner's value in a container that Flyball made. Then
// managed
// fields say that Flyball wrote the value, but it must stay.
func TestAnOwnersValueStaysInAContainerThatWasMade(t *testing.T) {
	a := mustCompile(t, allocatedYAML, Keys{Amounts: true})
	asking := func(keys ...workload.Amount) workload.Plan {
		plan := workload.Plan{Amounts: map[workload.Amount]workload.Claim[int64]{}}
		for _, key := range keys {
			plan.Amounts[key] = workload.Claim[int64]{Value: 1, By: nights, Since: monday}
		}
		return plan
	}
	s := newTrackingServer(object(`{}`), nil)
	s.settle(t, a, asking(dbMemory))
	s.set("/spec/resources/requests/cpu", `"250m"`)
	for _, plan := range []workload.Plan{asking(dbCPU, dbMemory), asking(dbCPU), asking(dbMemory, dbCPU), asking(dbMemory)} {
		s.settle(t, a, plan)
		if got := a.Observe(projected(t, a, s.doc)).Allocations; len(got) != 1 || got[0].Requests.MilliCPU != 250 {
			t.Errorf("with %v the owner is taken to want %+v", plan.Amounts, got)
		}
	}
	s.settle(t, a, workload.Plan{})
	if want := `{"resources":{"requests":{"cpu":"250m"}}}`; !path.Equal(s.spec(), want) || len(s.ledger(t, a)) > 0 {
		t.Errorf("given back: %s, want %s", s.spec(), want)
	}
}

// TestAnOwnersValueKeepsTheContainerItIsIn lets Flyball set and restore an owner's value in a container that Flyball
// made. Then Flyball has written the value last, but the value is still the owner's.
func TestAnOwnersValueKeepsTheContainerItIsIn(t *testing.T) {
	a := mustCompile(t, poweredYAML, Keys{})
	held, both := holding(), workload.Plan{Hold: holding().Hold, Min: number(9)}
	orphaned := workload.Plan{Hold: holding().Hold, Orphan: map[workload.Policy]bool{peaks: true}}
	for _, c := range []struct {
		name string
		// level is the owner's value in the container after the first plan; empty: none.
		level string
		plans []workload.Plan
		want  string
	}{
		{"given back beside another entry", "8", []workload.Plan{held, both, held}, `{"power":{"level":8}}`},
		{"given back as another entry comes", "8", []workload.Plan{held, {Min: number(9)}, sleep()}, `{"power":{"level":8}}`},
		{"orphaned beside another entry", "", []workload.Plan{held, both, orphaned}, `{"power":{"level":9}}`},
		{"nothing is left", "", []workload.Plan{held, both, held}, `{}`},
	} {
		s := newTrackingServer(object(`{}`), map[string]string{})
		for i, plan := range c.plans {
			s.settle(t, a, plan)
			if i == 0 && c.level != "" {
				s.set("/spec/power/level", c.level)
			}
		}
		s.settle(t, a, workload.Plan{})
		if got := s.value("/spec"); !path.Equal(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTheLedgerGoesOnSayingWhereItWasBegun checks that a changed ledger keeps the UID of the object that it was begun
// on. Otherwise an object restored from a backup would count as written by Flyball.
func TestTheLedgerGoesOnSayingWhereItWasBegun(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	for _, c := range []struct{ begun, uid, want string }{{"", "2", ""}, {"1", "2", "1"}, {"2", "2", "2"}} {
		text := must(workload.Ledger{entry("/spec/replicas", "3", "0")}.Encode(workload.Origin{Of: "Deployment/web", Namespace: "shop",
			UID: c.begun}))
		s := newServer(must(jsonpatch.MergePatch(object(`{"replicas":0}`, v1alpha1.AnnotationLedger, text),
			[]byte(`{"metadata":{"uid":"`+c.uid+`"}}`))))
		s.settle(t, a, size(workload.SizeAtMost, 1))
		if obj := projected(t, a, s.doc); obj.Notes().UID != c.want || len(obj.Ledger) != 1 || obj.Ledger[0].Set != "1" {
			t.Errorf("begun on %q: says %q, %+v", c.begun, obj.Notes().UID, obj.Ledger)
		}
	}
}

// TestACountInAPartThatFlyballMade checks that a count in a part that Flyball made is no count of the owner, who has
// no
// such part. Otherwise Flyball would set and restore the count in turns, without end.
func TestACountInAPartThatFlyballMade(t *testing.T) {
	a := mustCompile(t, partYAML, Keys{})
	listed := mustCompile(t, `
target: {group: example.com, kind: Any, versions: [v1]}
scale: [{each: '.spec.pools[*]', nameFrom: .name, replicas: .size.now, default: 1}]
bounds: {each: '.spec.pools[*]', nameFrom: .name, min: {path: .size.min}}
`, Keys{})
	both := workload.Plan{Size: sleep().Size, Hold: holding().Hold, Min: number(2)}
	defaults := map[string]string{"/spec/worker": `{"replicas":1}`}
	for _, c := range []struct {
		name string
		a    *Adapter
		s    *server
		edit func(*server)
		held string
	}{
		{"an absent part", a, newServer(object(`{"x":1}`)), nil, `{"x":1,"worker":{"paused":true,"min":2}}`},
		{"an absent part, and managed fields", a, newTrackingServer(object(`{"x":1}`), nil), nil, `{"x":1,"worker":{"paused":true,"min":2}}`},
		{"a part that has a count by default", a, newTrackingServer(object(`{"x":1}`), defaults), nil,
			`{"x":1,"worker":{"paused":true,"min":2,"replicas":1}}`},
		{"a part that is the owner's since", a, newTrackingServer(object(`{"x":1}`), nil),
			func(s *server) { s.set("/spec/worker/image", `"v1"`) },
			`{"x":1,"worker":{"paused":true,"min":2,"image":"v1","replicas":0}}`},
		{"elements of a list", listed, newServer(object(`{"pools":[{"name":"a","size":{"now":3}},{"name":"b"}]}`)), nil,
			`{"pools":[{"name":"a","size":{"now":0,"min":2}},{"name":"b","size":{"min":2}}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := c.s.spec()
			c.s.settle(t, c.a, both)
			if c.edit != nil {
				c.edit(c.s)
				c.s.settle(t, c.a, both)
			}
			if !path.Equal(c.held, c.s.spec()) {
				t.Errorf("asleep: %s", c.s.spec())
			}
			c.s.settle(t, c.a, workload.Plan{})
			if c.edit != nil {
				before = `{"x":1,"worker":{"image":"v1"}}`
			}
			if !path.Equal(before, c.s.spec()) {
				t.Errorf("given back: %s", c.s.spec())
			}
		})
	}
}

// TestValueLeftToTheOwnerKeepsItsParent checks that a value that a policy leaves to the owner keeps its container.
// Two policies end at once, and only one of them restores.
func TestValueLeftToTheOwnerKeepsItsParent(t *testing.T) {
	a := mustCompile(t, partYAML, Keys{})
	for _, c := range []struct {
		plan workload.Plan
		want string
	}{
		{workload.Plan{}, `{"x":1}`},
		{workload.Plan{Orphan: map[workload.Policy]bool{peaks: true}}, `{"x":1,"worker":{"min":2}}`},
	} {
		s := newTrackingServer(object(`{"x":1}`), nil)
		held := workload.Claim[bool]{Value: true, By: nights, Since: monday}
		s.settle(t, a, workload.Plan{Hold: &held, Min: number(2)})
		if s.settle(t, a, c.plan); !path.Equal(c.want, s.spec()) {
			t.Errorf("%v: %s, want %s", c.plan.Orphan, s.spec(), c.want)
		}
	}
}
