package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/demo/simclock"
	"flyball.dev/flyball/test/harness"
)

// ofKind decodes the only object of a kind in one of the demo's files.
func ofKind(t *testing.T, file, kind string, into any) {
	t.Helper()
	raw, err := os.ReadFile("manifests/" + file)
	if err != nil {
		t.Fatal(err)
	}
	objs, err := harness.Objects(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, obj := range objs {
		if obj.GetKind() == kind {
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, into, true); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s has no %s", file, kind)
}

// TestActAgreesWithItsFiles checks that the act in Go repeats what the files define in YAML.
func TestActAgreesWithItsFiles(t *testing.T) {
	begin := monday(t)
	at := func(hour int) time.Time { return begin.Add(time.Duration(hour) * time.Hour) }
	var f v1alpha1.ChangeFreeze
	ofKind(t, "freeze.yaml", "ChangeFreeze", &f)
	if f.Name != freezeName || !f.Spec.StartTime.Time.Equal(at(freezeFrom)) || !f.Spec.EndTime.Time.Equal(at(freezeTo)) ||
		f.Spec.TimeZone != zone {
		t.Errorf("the freeze is %s from %s to %s in %s", f.Name, f.Spec.StartTime, f.Spec.EndTime, f.Spec.TimeZone)
	}
	told := strings.Join(refusal, "\n")
	for _, part := range []string{f.Spec.Message.Reason, "contact " + f.Spec.Message.Contact, "Next allowed: " +
		f.Spec.EndTime.In(begin.Location()).Format(time.RFC3339)} {
		if !strings.Contains(told, part) {
			t.Errorf("a refusal is not asked to say %q", part)
		}
	}
	var e v1alpha1.FreezeException
	ofKind(t, "exception.yaml", "FreezeException", &e)
	if e.Name != exceptionName || !e.Spec.ActiveFrom.Time.Equal(at(exceptionFrom)) || !e.Spec.ActiveTo.Time.Equal(at(exceptionTo)) {
		t.Errorf("the exception is %s from %s to %s", e.Name, e.Spec.ActiveFrom, e.Spec.ActiveTo)
	}
	if !slices.Equal(e.Spec.Target.Names, []string{frozenApp}) || !slices.Equal(e.Spec.Policies, []string{freezeName}) ||
		!slices.Equal(e.Spec.Constraints.AllowedUsers, []string{"alice"}) {
		t.Errorf("the exception is for %v of %v by %v", e.Spec.Target.Names, e.Spec.Policies, e.Spec.Constraints.AllowedUsers)
	}

	refused, last := 0, freezeFrom
	for _, b := range act() {
		if b.hour < last || b.hour >= freezeTo {
			t.Errorf("%q is at hour %d, which is before the one before or not in the freeze", b.command, b.hour)
		}
		last = b.hour
		if lets := b.hour >= exceptionFrom && b.hour < exceptionTo; b.image != "" && !b.refused && !lets {
			t.Errorf("%q is to pass at hour %d, when there is no exception", b.command, b.hour)
		}
		if b.refused {
			refused++
		}
		if !slices.Contains(strings.Fields(b.command), namespace) {
			t.Errorf("%q names no namespace", b.command)
		}
	}
	if refused != 2 {
		t.Errorf("%d commands are to be refused, want one before the exception and one after", refused)
	}
}

// answer is kubectl's output for a refusal.
const answer = `error: failed to patch image update to pod template: admission webhook "named-1.freeze.flyball.dev" denied the request: change of
Deployment.apps/flyball-demo/web refused: ChangeFreeze/flyball-demo/holiday denies RollOut: no changes around the holiday (contact #release; see
https://wiki.example.com/freeze). Next allowed: 2037-05-15T12:00:00+02:00 (Europe/Berlin)`

func TestExpectedRefusalsAreJudged(t *testing.T) {
	tests := map[string]struct {
		refused bool
		printed string
		well    bool
		want    string
	}{
		"refused, as it should be": {true, answer, false, ""},
		"passed, as it should":     {false, "deployment.apps/web image updated", true, ""},
		"passed in the freeze":     {true, "deployment.apps/web image updated", true, "should have been refused"},
		"refused in the exception": {false, answer, false, "should have passed"},
		"refused by somebody else": {true, `deployments.apps "web" is forbidden: User "alice" cannot patch`, false,
			"the refusal does not say"},
		"the webhook does not answer": {true, `failed calling webhook "freeze.flyball.dev": connection refused`, false,
			"the refusal does not say"},
		"another instant": {true, strings.Replace(answer, "15T12", "18T00", 1), false, `does not say "Next allowed: 2037-05-15T12`},
		"nobody to ask":   {true, strings.Replace(answer, "contact #release; ", "", 1), false, `does not say "contact #release"`},
		"no reason":       {true, strings.Replace(answer, "around the holiday", "", 1), false, `does not say "no changes around`},
		"another policy": {true, strings.Replace(answer, "holiday denies", "other denies", 1), false,
			`does not say "ChangeFreeze/flyball-demo/holiday`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := judged(beat{command: "set image", refused: tt.refused}, tt.printed, tt.well)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPermittedChangeIsRecognised(t *testing.T) {
	app := func(image, replicas, revision string) string {
		return fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {deployment.kubernetes.io/revision: "%s"}},
			spec: {replicas: %s, template: {spec: {containers: [{name: main, image: "%s"}]}}}}`, revision, replicas, image)
	}
	r := newRecorder(simclock.New(monday(t)), []target{{"Deployment", "web", deployments, &officeHours, replicas, replicaPods}})
	r.see(deployments, object(t, app(imageOld, "3", "1")))
	r.begin()
	before := r.snapshot()[0].original
	if err := r.permit(deployments, "web", withImage(imageFixed)); err != nil {
		t.Fatal(err)
	}
	if err := r.permit(deployments, "other", withImage(imageFixed)); err == nil {
		t.Error("a change of what is no target is permitted")
	}
	if diff := restored(&track{original: before, latest: object(t, app(imageOld, "3", "1"))}); diff != "" {
		t.Errorf("the object from before was changed itself:\n%s", diff)
	}
	for name, tt := range map[string]struct {
		now  string
		same bool
	}{
		"that image":           {app(imageFixed, "3", "2"), true},
		"the old image":        {app(imageOld, "3", "1"), false},
		"another image":        {app(imageLate, "3", "2"), false},
		"another roll-out too": {app(imageFixed, "3", "3"), false},
		"other replicas too":   {app(imageFixed, "0", "2"), false},
	} {
		r.see(deployments, object(t, tt.now))
		if diff := restored(&r.snapshot()[0]); (diff == "") != tt.same {
			t.Errorf("%s: difference is %q, want one: %v", name, diff, !tt.same)
		}
	}
	for name, broken := range map[string]string{
		"no container": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, annotations: {deployment.kubernetes.io/revision: "1"}}}`,
		"no revision":  strings.Replace(app(imageOld, "3", "1"), "revision: \"1\"", "revision: \"\"", 1),
	} {
		if err := withImage(imageFixed)(object(t, broken)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// freezeSeen is the freeze's track after its status changed at hours from the start.
func freezeSeen(t *testing.T, denied int, user string, seen ...any) (*recorder, *track) {
	t.Helper()
	begin := monday(t)
	clock := simclock.New(begin)
	r := newRecorder(clock, targets())
	r.freeze = newFreeze()
	for i := 0; i < len(seen); i += 2 {
		clock.Set(begin.Add(time.Duration(seen[i].(float64) * float64(time.Hour))))
		r.see(freezes, object(t, fmt.Sprintf(`{apiVersion: flyball.dev/v1alpha1, kind: ChangeFreeze, metadata: {name: holiday},
			spec: {startTime: "2037-05-13T10:00:00Z", endTime: "2037-05-15T10:00:00Z"},
			status: {state: %s, denied: {rollOut: %d}, lastDenial: {user: %s}}}`, seen[i+1], denied, user)))
	}
	return r, r.freezeTrack()
}

func TestFreezeAsSeen(t *testing.T) {
	tests := map[string]struct {
		seen []any
		want string
	}{
		"as it should be": {[]any{0.0, "Scheduled", 60.1, "Frozen", 62.0, "Frozen", 108.1, "Ended"}, ""},
		"never frozen":    {[]any{0.0, "Scheduled", 108.1, "Ended"}, "changed 0 times, not 2 times"},
		"never over":      {[]any{60.0, "Frozen"}, "changed 1 times, not 2 times"},
		"frozen too early": {[]any{59.0, "Frozen", 108.0, "Ended"},
			"was frozen at Wed 13 May 11:00, should have been frozen at Wed 13 May 12:00"},
		"over too early": {[]any{60.0, "Frozen", 107.0, "Ended"}, "was open at Fri 15 May 11:00, should have been open at Fri 15 May 12:00"},
		"over far too late": {[]any{60.0, "Frozen", 120.0, "Ended"},
			"was open at Sat 16 May 00:00, should have been open at Fri 15 May 12:00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, f := freezeSeen(t, 2, "alice", tt.seen...)
			wrong := strings.Join(frozenAsDue(f, monday(t)), "\n")
			if !strings.Contains(wrong, tt.want) || (wrong == "") != (tt.want == "") {
				t.Errorf("wrong is %q, want %q", wrong, tt.want)
			}
		})
	}
	var levels []string
	_, f := freezeSeen(t, 2, "alice", 0.0, "Scheduled", 60.1, "Frozen", 108.1, "Ended")
	for _, c := range f.history {
		levels = append(levels, arrow(c))
	}
	if diff := cmp.Diff([]string{"from Wed 12:00 → to Fri 12:00", "to Fri 12:00 → over"}, levels); diff != "" {
		t.Errorf("what is said of the freeze (-want +got):\n%s", diff)
	}
	if wrong := deniedAsSeen(f, 2); wrong != nil {
		t.Errorf("its count is taken for wrong: %v", wrong)
	}
	if deniedAsSeen(f, 1) == nil || deniedAsSeen(newFreeze(), 0) == nil {
		t.Error("a count that differs is not found")
	}
	if _, f := freezeSeen(t, 2, "admin", 60.0, "Frozen"); deniedAsSeen(f, 2) == nil {
		t.Error("another user is not found")
	}
}

func TestFreezeIsDrawn(t *testing.T) {
	r, f := freezeSeen(t, 2, "alice", 0.0, "Scheduled", 60.1, "Frozen", 108.1, "Ended")
	s := newScreen(os.Stdout, true)
	if got, want := chartRow(s, f, monday(t), 4),
		"      │      │   ▓▓▓│▓▓▓▓▓▓│▓▓▓   │"; !strings.HasPrefix(got, want) {
		t.Errorf("its row is\n%s, want it to begin with\n%s", got, want)
	}
	for _, perColumn := range []int{1, 2, 4} {
		lines := chart(s, []track{*f}, monday(t), chartWidth(perColumn))
		for _, line := range lines {
			if n := len([]rune(line)); n > chartWidth(perColumn) {
				t.Errorf("a line of %d characters in a width of %d:\n%s", n, chartWidth(perColumn), line)
			}
		}
		if !strings.Contains(lines[len(lines)-1], "▓ frozen") {
			t.Errorf("the legend does not name it: %s", lines[len(lines)-1])
		}
	}
	r.clock.Set(monday(t).Add(80 * time.Hour))
	r.see(freezes, f.latest)
	v := &view{screen: s, rec: r, begin: monday(t)}
	lines := v.lines(narrow)
	if len(lines) >= 24 {
		t.Errorf("the table with the freeze has %d lines, and a terminal 24", len(lines))
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "ChangeFreeze/holiday") {
		t.Errorf("the table does not show the freeze:\n%s", text)
	}
}

func TestTransitionsIn(t *testing.T) {
	full := *tracked(t, &officeHours, [2]float64{0, 0}, [2]float64{8, 3}, [2]float64{20, 0}, [2]float64{32, 3}, [2]float64{44, 0},
		[2]float64{56, 3},
		[2]float64{68, 0}, [2]float64{104, 3}, [2]float64{116, 0}, [2]float64{176, 3})
	if due, seen := transitionsIn([]track{full}); due != 2 || seen != 2 {
		t.Errorf("%d of %d transitions, want Wednesday's evening and Friday's morning", seen, due)
	}
	part := *tracked(t, &officeHours, [2]float64{0, 0})
	if due, seen := transitionsIn([]track{part}); due != 2 || seen != 0 {
		t.Errorf("%d of %d transitions, want none of 2", seen, due)
	}
	all := make([]track, 0)
	for _, target := range targets() {
		all = append(all, track{target: target})
	}
	if due, _ := transitionsIn(all); due != 12 {
		t.Errorf("%d transitions of Deployments are due in the freeze, want 12", due)
	}
}

func TestOutputOfKubectlIsQuoted(t *testing.T) {
	for name, tt := range map[string]struct {
		printed string
		well    bool
		want    []string
	}{
		"a table is cut":      {"NAME   AGE\nholiday   1d", true, []string{"NAME   AGE", "holiday  …"}},
		"an error is wrapped": {"error: no such thing", false, []string{"error: no", "such thing"}},
	} {
		if diff := cmp.Diff(tt.want, output(tt.printed, tt.well, 10)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestWrapBreaksLongLines(t *testing.T) {
	got := wrap("NAME   AGE\na line that is too long\naWordThatIsTooLong b\n", 10)
	if diff := cmp.Diff([]string{"NAME   AGE", "a line", "that is", "too long", "aWordThatIsTooLong", "b"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
