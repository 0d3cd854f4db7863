package adapter

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/workload"
)

const nodeSetsDoc = `{"metadata":{"name":"es","namespace":"shop","uid":"u-1","resourceVersion":"42","generation":3,
  "creationTimestamp":"2026-03-02T20:00:00Z","deletionTimestamp":"2026-03-02T21:00:00Z",
  "labels":{"tier":"front","app":"es"},
  "annotations":{"team":"search","z\u002f1":"\u00e9","example.com/a":"b","other":"x"},
  "ownerReferences":[{"apiVersion":"v1","kind":"A","name":"a"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","controller":true}]},
 "spec":{"nodeSets":[{"name":"hot","count":3},{"name":"cold"}]}}`

func TestProjectionKeepsOnlyUsedFields(t *testing.T) {
	a := mustCompile(t, elasticYAML, Keys{Match: []string{"team", "z/1", "absent", "example.com/a"}})
	got := projected(t, a, []byte(nodeSetsDoc))
	want := &workload.Object{
		Name: "es", Namespace: "shop", UID: "u-1", ResourceVersion: "42", Generation: 3, Created: 1772481600, Deleting: true,
		Labels: workload.Pairs{{Key: "app", Value: "es"}, {Key: "tier", Value: "front"}},
		Annotations: workload.Pairs{
			{Key: "example.com/a", Value: "b"}, {Key: "team", Value: "search"}, {Key: "z/1", Value: "é"},
		},
		OwnerReference: &workload.OwnerReference{GroupKind: schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, Name: "rs"},
		// .metadata.annotations, and the pause annotation inside it
		Fields: []workload.Field{{Raw: "1", Depth: 2}, {Depth: 2}},
		Elements: []workload.Element{
			{Index: 0, Name: "hot", Pointer: "/spec/nodeSets/0/count", NamePointer: "/spec/nodeSets/0/name",
				Field: workload.Field{Raw: "3", Depth: 4}},
			{Index: 1, Name: "cold", Pointer: "/spec/nodeSets/1/count", NamePointer: "/spec/nodeSets/1/name", Field: workload.Field{Depth: 3}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProjectFields(t *testing.T) {
	a := mustCompile(t, nestedYAML, Keys{})
	byPath := func(doc string) map[string]workload.Field {
		fields := map[string]workload.Field{}
		obj := projected(t, a, object(doc))
		for _, s := range a.Projection.Slots {
			name := s.Path.String()
			if f := obj.Fields[s.Index]; f != (workload.Field{Depth: 1}) {
				fields[name] = f
			}
		}
		return fields
	}
	tests := []struct {
		name, spec string
		want       map[string]workload.Field
	}{
		{"values, how deep", `{"mode":"switch","power":{"main":{"on":true}},"pool":{"size":{"count":3},"min":1}}`, map[string]workload.Field{
			".spec.mode":              {Raw: `"switch"`, Depth: 2},
			".spec.power.main.on":     {Raw: "true", Depth: 4},
			".spec.power.main.reason": {Depth: 3},
			".spec.power.lock":        {Depth: 2},
			".spec.pool.size.count":   {Raw: "3", Depth: 4},
			".spec.pool.min":          {Raw: "1", Depth: 3},
			".spec.pool.max":          {Depth: 2},
		}},
		{"blocked by a scalar, open by null", `{"power":"x","pool":null,"mode":null}`, map[string]workload.Field{
			".spec.mode":              {Depth: 1, IsNull: true},
			".spec.power.main.on":     {Depth: projection.Blocked},
			".spec.power.main.reason": {Depth: projection.Blocked},
			".spec.power.lock":        {Depth: projection.Blocked},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, byPath(test.spec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProjectErrors(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	for doc, want := range map[string]string{
		``:                                  "project a Deployment: ",
		`{"metadata":{"name":"x"`:           "project a Deployment: ",
		`{"metadata":{}}`:                   "project a Deployment: it has no metadata.name",
		`{"kind":"Status"}`:                 "project a Deployment: it has no metadata.name",
		`{"metadata":{"name":"x","uid":5}}`: "project Deployment /x: read .metadata.uid: want a string, got 5",
		`{"metadata":{"name":"x","creationTimestamp":"now"}}`: "project Deployment /x: read .metadata.creationTimestamp: parsing time",
	} {
		if _, err := a.Project([]byte(doc)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", doc, want, err)
		}
	}
}

// TestProjectForeignLedger ignores a ledger that a controller has copied from another object.
func TestProjectForeignLedger(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	for of, want := range map[string]int{"": 1, "Deployment/web": 1, "Deployment/other": 0, "ReplicaSet/web": 0} {
		text, err := workload.Ledger{entry("/spec/replicas", "3", "0")}.Encode(workload.Origin{Of: of})
		if err != nil {
			t.Fatal(err)
		}
		doc := object(`{"replicas":0}`, v1alpha1.AnnotationLedger, text)
		if got := len(projected(t, a, doc).Ledger); got != want {
			t.Errorf("ledger of %q: want %d entries, got %d", of, want, got)
		}
		if r := rendered(t, a, doc, workload.Plan{}); want == 0 && r.Patch != nil {
			t.Errorf("ledger of %q: patch %s", of, r.Patch.Body)
		}
	}
}

// TestProjectAliasesNothing overwrites the document after it was projected, as the watch does.
func TestProjectAliasesNothing(t *testing.T) {
	for _, text := range []string{deploymentYAML, elasticYAML, nestedYAML} {
		a := mustCompile(t, text, Keys{Match: []string{"team", "z/1"}})
		ledger := withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0"))
		for _, doc := range [][]byte{[]byte(nodeSetsDoc), ledger, deploymentDoc(7)} {
			want := projected(t, a, bytes.Clone(doc))
			used := bytes.Clone(doc)
			got := projected(t, a, used)
			for i := range used {
				used[i] = 'X'
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the object changed with the buffer (-want +got):\n%s", diff)
			}
		}
	}
}

func TestProjectConcurrently(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				obj, err := a.Project(deploymentDoc(w*200 + i))
				if err != nil || obj.Name != fmt.Sprintf("web-%d", w*200+i) {
					t.Errorf("got %v, %v", obj, err)
					return
				}
				if _, err := a.Render(obj, sleep()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestMembersAreCountedWhereGivingBackAsks checks that only members of containers that Flyball made are counted: a
// restore needs these numbers.
func TestMembersAreCountedWhereGivingBackAsks(t *testing.T) {
	a := mustCompile(t, nestedYAML, Keys{})
	const spec = `{"mode":"x","power":{"lock":{"by":"flyball"},"main":{}}}`
	found, made := entry("/spec/mode", `"y"`, `"x"`), madeEntry("/spec/power/lock", `{"by":"flyball"}`, 2)
	for _, c := range []struct {
		entries []workload.Entry
		want    map[string]int
	}{
		{[]workload.Entry{found}, nil},
		{[]workload.Entry{found, made}, map[string]int{"/spec/power": 2}},
	} {
		if diff := cmp.Diff(c.want, projected(t, a, withLedger(t, spec, c.entries...)).Notes().Members); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
