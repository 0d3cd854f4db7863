package migrate_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// night is an instant at which the Schedule nights is asleep.
var night = time.Date(2037, 5, 13, 22, 0, 0, 0, time.UTC)

const web = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","resourceVersion":"7",` +
	`"annotations":{"tool":"3"%s}},"spec":{"replicas":0}}`

// lists returns a world with the library's adapters, one Schedule and an object.
func lists(t *testing.T, object string, change func(*v1alpha1.Schedule)) world.Lists {
	t.Helper()
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	l := world.Lists{Scope: world.Scope("", nil), Objects: [][]byte{[]byte(object)}, Namespaces: []*workload.Object{{Name: "shop"}}}
	for i := range library {
		l.Adapters = append(l.Adapters, &library[i])
	}
	s := &v1alpha1.Schedule{}
	s.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Schedule"))
	s.Namespace, s.Name = "shop", "nights"
	s.Spec.Upscale, s.Spec.Downscale = "0 8 * * *", "0 20 * * *"
	if change != nil {
		change(s)
	}
	l.Policies = []policy.Object{s}
	return l
}

func sleeperOf(object string) migrate.Sleeper {
	return migrate.Sleeper{Object: migrate.NewObject([]byte(object), ""), Marks: []string{"/metadata/annotations/tool"},
		Originals: []migrate.Original{{Pointer: "/spec/replicas", Was: "3", Set: "0"}}}
}

func TestTakeOver(t *testing.T) {
	plain := strings.Replace(web, "%s", "", 1)
	for _, tc := range []struct {
		reason string
		object string
		world  func(*v1alpha1.Schedule)
		lists  func(*world.Lists)
		edit   func(*migrate.Sleeper)
		// want is the ledger entry of the field. It is empty if the object is left as it is. The reason for this then begins
		// with left.
		want, left, note string
	}{
		{reason: "asleep", object: plain, want: `{"was":3,"set":0,"by":"Schedule/shop/nights","since":"2037-05-13T20:00:00Z"}`},
		{reason: "awake by now", object: plain, world: func(s *v1alpha1.Schedule) {
			s.Spec.Upscale, s.Spec.Downscale = "0 20 * * *",
				"0 8 * * *"
		},
			want: `{"was":3,"set":0,"by":"Schedule/shop/nights","since":"2037-05-13T08:00:00Z"}`, note: "has it awake since 2037-05-13T20:00:00Z"},
		{reason: "a policy that leaves another count", object: plain,
			world: func(s *v1alpha1.Schedule) { s.Spec.AsleepAs = &v1alpha1.AsleepAs{Replicas: new(int64(1))} },
			want:  `{"was":3,"set":1,"by":"Schedule/shop/nights","since":"2037-05-13T20:00:00Z"}`, note: "/spec/replicas changes from 0 to 1"},
		{reason: "it was absent", object: plain, edit: func(s *migrate.Sleeper) { s.Originals[0].Was = "" },
			want: `{"set":0,"by":"Schedule/shop/nights","since":"2037-05-13T20:00:00Z"}`},
		{reason: "two tools on one field", object: plain, edit: func(s *migrate.Sleeper) { s.Originals = append(s.Originals, s.Originals[0]) },
			want: `{"was":3,"set":0,"by":"Schedule/shop/nights","since":"2037-05-13T20:00:00Z"}`},
		{reason: "no policy selects it", object: plain, world: func(s *v1alpha1.Schedule) { s.Namespace = "other" },
			left: "no policy puts it to sleep by /spec/replicas: none selects it"},
		{reason: "a suspended policy", object: plain, world: func(s *v1alpha1.Schedule) { s.Spec.Suspend = true },
			left: "no policy puts it to sleep by /spec/replicas: Schedule/shop/nights selects it and is Suspended"},
		{reason: "kept out of every policy", object: strings.Replace(plain, `"resourceVersion"`,
			`"labels":{"flyball.dev/exclude":"true"},"resourceVersion"`, 1),
			left: "no policy puts it to sleep by /spec/replicas: its label flyball.dev/exclude=true keeps it out of them"},
		{reason: "a ledger that cannot be read", object: strings.Replace(web, "%s", `,"flyball.dev/ledger":"{"`, 1),
			left: "read the ledger annotation"},
		{reason: "an adapter that is not fit", object: plain,
			lists: func(l *world.Lists) { l.Blocked = map[string]string{"deployments.apps": "the adapter is not ready"} },
			left:  "the adapter is not ready"},
		{reason: "no adapter", object: plain, lists: func(l *world.Lists) { l.Adapters = nil }, left: "there is no adapter of its kind"},
		{reason: "the object is deleted", object: strings.Replace(plain, `"resourceVersion"`,
			`"deletionTimestamp":"2037-05-13T21:00:00Z","resourceVersion"`, 1), left: "no policy puts it to sleep"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			l := lists(t, tc.object, tc.world)
			if tc.lists != nil {
				tc.lists(&l)
			}
			s := sleeperOf(tc.object)
			if tc.edit != nil {
				tc.edit(&s)
			}
			all, err := migrate.TakeOver(l, []migrate.Sleeper{s}, night)
			if err != nil || len(all) != 1 {
				t.Fatalf("%d, %v", len(all), err)
			}
			h := all[0]
			if tc.left != "" {
				if !strings.HasPrefix(h.Left, tc.left) || h.Patch != nil || len(h.Marks) > 0 {
					t.Errorf("left: %q, patch: %s, marks: %v", h.Left, h.Patch, h.Marks)
				}
				return
			}
			annotations := rawjson.GetBytes(h.Patch, "metadata.annotations").Map()
			got := rawjson.Get(annotations[v1alpha1.AnnotationLedger].Str, "/spec/replicas").Raw
			if got != tc.want || annotations["tool"].Type != rawjson.Null || rawjson.GetBytes(h.Patch, "metadata.resourceVersion").Str != "7" {
				t.Errorf("want %s, got %s", tc.want, h.Patch)
			}
			if !strings.Contains(strings.Join(h.Notes, "\n"), tc.note) {
				t.Errorf("notes: %q", h.Notes)
			}
		})
	}
}

// TestTakeOverLeavesOtherFields checks that other managers lose the ownership of the fields in the ledger, and of no
// other field.
func TestTakeOverLeavesOtherFields(t *testing.T) {
	object := strings.Replace(strings.Replace(web, "%s", "", 1), `"resourceVersion"`, `"managedFields":[`+
		`{"manager":"tool","fieldsV1":{"f:spec":{"f:replicas":{},"f:paused":{}}}},{"manager":"whole","fieldsV1":{"f:spec":{}}},`+
		`{"manager":"only","fieldsV1":{"f:spec":{"f:replicas":{}}}},{"manager":"flyball","fieldsV1":{"f:spec":{"f:replicas":{}}}}],`+
		`"resourceVersion"`, 1)
	all, err := migrate.TakeOver(lists(t, object, nil), []migrate.Sleeper{sleeperOf(object)}, night)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"fieldsV1":{"f:spec":{"f:paused":{}}},"manager":"tool"},{"fieldsV1":{"f:spec":{}},"manager":"whole"},` +
		`{"fieldsV1":{"f:spec":{"f:replicas":{}}},"manager":"flyball"}]`
	if got := rawjson.GetBytes(all[0].Patch, "metadata.managedFields").Raw; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

// TestTakeOverTwice checks that a second take-over has nothing to do.
func TestTakeOverTwice(t *testing.T) {
	object := strings.Replace(web, "%s",
		`,"flyball.dev/ledger":"{\"/spec/replicas\":{\"was\":3,\"set\":0,\"by\":\"Schedule/shop/nights\"},\"of\":\"Deployment/web\"}"`, 1)
	object = strings.Replace(object, `"tool":"3",`, "", 1)
	all, err := migrate.TakeOver(lists(t, object, nil), []migrate.Sleeper{sleeperOf(object)}, night)
	if err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestStateChanges checks that only the objects are listed that go to sleep or wake because of a migration.
func TestStateChanges(t *testing.T) {
	plain := strings.Replace(web, "%s", "", 1)
	other := strings.NewReplacer(`"name":"web"`, `"name":"other"`, `"tool":"3"`, `"a":"b"`, `"replicas":0`, `"replicas":2`).Replace(plain)
	nights := []workload.Policy{{Kind: "Schedule", Namespace: "shop", Name: "nights"}}
	for _, tc := range []struct {
		reason string
		world  func(*v1alpha1.Schedule)
		beside string
		of     []workload.Policy
		want   []migrate.StateChange
	}{
		{reason: "asleep and taken over", of: nights},
		{reason: "what the tool left alone", beside: other, of: nights,
			want: []migrate.StateChange{{Target: "Deployment.apps/shop/other", Change: "replicas 2 -> 0", By: "Schedule/shop/nights"}}},
		{reason: "... and is kept out", beside: strings.Replace(other, `"resourceVersion"`,
			`"labels":{"flyball.dev/exclude":"true"},"resourceVersion"`, 1), of: nights},
		{reason: "... by another policy", beside: other},
		{reason: "awake by now", world: func(s *v1alpha1.Schedule) { s.Spec.Upscale, s.Spec.Downscale = "0 20 * * *", "0 8 * * *" }, of: nights,
			want: []migrate.StateChange{{Target: "Deployment.apps/shop/web", Change: "replicas 0 -> 3", By: "Schedule/shop/nights"}}},
		{reason: "another count", world: func(s *v1alpha1.Schedule) { s.Spec.AsleepAs = &v1alpha1.AsleepAs{Replicas: new(int64(1))} }, of: nights,
			want: []migrate.StateChange{{Target: "Deployment.apps/shop/web", Change: "/spec/replicas 0 -> 1", By: "Schedule/shop/nights"}}},
		{reason: "no policy takes it over", world: func(s *v1alpha1.Schedule) { s.Namespace = "other" }, of: nights},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			l := lists(t, plain, tc.world)
			if tc.beside != "" {
				l.Objects = append(l.Objects, []byte(tc.beside))
			}
			items, err := migrate.TakeOver(l, []migrate.Sleeper{sleeperOf(plain)}, night)
			if err != nil {
				t.Fatal(err)
			}
			got, err := migrate.StateChanges(l, items, tc.of, night)
			if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// TestBriefPatch checks that a patch with managed fields is printed without them for people, and with them as data.
func TestBriefPatch(t *testing.T) {
	object := strings.Replace(strings.Replace(web, "%s", "", 1), `"resourceVersion"`,
		`"managedFields":[{"manager":"tool","fieldsV1":{"f:spec":{"f:replicas":{},"f:paused":{}}}}],"resourceVersion"`, 1)
	all, err := migrate.TakeOver(lists(t, object, nil), []migrate.Sleeper{sleeperOf(object)}, night)
	if err != nil {
		t.Fatal(err)
	}
	var wide, data bytes.Buffer
	if err := printer.Print(&wide, &migrate.Handovers{Items: all}, printer.Wide, false); err != nil ||
		strings.Contains(wide.String(), "managedFields") || !strings.Contains(wide.String(), "patch: {") {
		t.Errorf("%v\n%s", err, wide.String())
	}
	if err := printer.Print(&data, &migrate.Handovers{Items: all}, printer.JSON, false); err != nil ||
		!strings.Contains(data.String(), "managedFields") {
		t.Errorf("%v\n%s", err, data.String())
	}
}
