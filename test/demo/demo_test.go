package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/test/demo/simclock"
	"flyball.dev/flyball/test/local"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

func deployment(t *testing.T, name, replicas string) *unstructured.Unstructured {
	t.Helper()
	return object(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: `+name+`, resourceVersion: "1"}, spec: {replicas: `+replicas+
		`}}`)
}

func monday(t *testing.T) time.Time {
	t.Helper()
	begin, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if begin.Weekday() != time.Monday || begin.AddDate(0, 0, holiday).Format(time.DateOnly) != "2037-05-14" {
		t.Fatalf("the demo begins on %s and its holiday is day %d, want a Monday and Ascension Day 2037", begin, holiday)
	}
	return begin
}

func TestTransitionsOfAWeek(t *testing.T) {
	tests := map[string]struct {
		week *week
		want []int
	}{
		"office hours, a holiday and a weekend": {&officeHours, []int{0, 8, 20, 32, 44, 56, 68, 104, 116, 176}},
		"every day but Sunday":                  {&shopOpen, []int{0, 6, 22, 30, 46, 54, 70, 78, 94, 102, 118, 126, 142, 174}},
		"never":                                 {never, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.week.transitions()); diff != "" {
				t.Errorf("transitions (-want +got):\n%s", diff)
			}
		})
	}
}

// tracked is a Deployment of three replicas with changes at hours from the start.
func tracked(t *testing.T, w *week, seen ...[2]float64) *track {
	t.Helper()
	begin := monday(t)
	clock := simclock.New(begin)
	r := newRecorder(clock, []target{{"Deployment", "web", deployments, w, replicas, replicaPods}})
	r.see(deployments, deployment(t, "web", "3"))
	r.begin()
	for _, s := range seen {
		clock.Set(begin.Add(time.Duration(s[0] * float64(time.Hour))))
		r.see(deployments, deployment(t, "web", string(rune('0'+int(s[1])))))
	}
	return &r.snapshot()[0]
}

func TestRecorderHasEachStateChange(t *testing.T) {
	tr := tracked(t, &officeHours, [2]float64{1, 0}, [2]float64{2, 0}, [2]float64{3, 2}, [2]float64{4, 3})
	var got []string
	for _, c := range tr.history {
		got = append(got, c.at.Format("15:04 ")+c.state.String()+" "+arrow(c))
	}
	want := []string{"01:00 asleep replicas 3 → 0", "03:00 reduced replicas 0 → 2", "04:00 awake replicas 2 → 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for hour, want := range map[int]state{0: awake, 2: asleep, 3: reduced, 5: awake} {
		if got := tr.at(monday(t).Add(time.Duration(hour)*time.Hour + time.Minute)); got != want {
			t.Errorf("state at hour %d is %s, want %s", hour, got, want)
		}
	}
}

func TestKeptPromisesNeedStatesOnTime(t *testing.T) {
	const rate = 3600 // an hour a second
	good := [][2]float64{{0, 0}, {8.1, 3}, {20.1, 0}, {32, 3}, {44, 0}, {56, 3}, {68, 0}, {104, 3}, {116, 0}, {176, 3}}
	changed := func(i int, to [2]float64) [][2]float64 {
		out := append([][2]float64{}, good...)
		out[i] = to
		return out
	}
	tests := map[string]struct {
		seen [][2]float64
		want string
	}{
		"as it should be": {good, ""},
		"one missing":     {good[:9], "changed 9 times, not 10 times"},
		"one late":        {changed(1, [2]float64{14, 3}), "was awake at Mon 11 May 14:00, should have been at Mon 11 May 08:00"},
		"one early":       {changed(1, [2]float64{7.5, 3}), "was awake at Mon 11 May 07:30, should have been at Mon 11 May 08:00"},
		"not all back":    {changed(9, [2]float64{176, 2}), "is reduced at Mon 18 May 08:00, should be awake"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			late, wrong := kept(tracked(t, &officeHours, tt.seen...), monday(t), rate)
			if text := strings.Join(wrong, "\n"); !strings.Contains(text, tt.want) || (text == "") != (tt.want == "") {
				t.Errorf("wrong is %q, want %q", text, tt.want)
			}
			if tt.want == "" && median(late) != 0 && median(late) > 100*time.Millisecond {
				t.Errorf("the median lag is %s, want at most 0.1 s of an hour that takes a second", median(late))
			}
		})
	}
	if _, wrong := kept(tracked(t, never, [2]float64{3, 0}), monday(t), rate); len(wrong) != 1 {
		t.Errorf("a change of what must not be touched gives %q", wrong)
	}
}

func TestRestoredObjectEqualsTheOriginal(t *testing.T) {
	const before = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, resourceVersion: "1", generation: 1,
		annotations: {deprecated.daemonset.template.generation: "1"}}, spec: {template: {spec: {nodeSelector: {os: linux}}}}, status: {numberReady: 3}}`
	tests := map[string]struct {
		after string
		same  bool
	}{
		"counters and status differ": {strings.NewReplacer(`"1"`, `"9"`, "generation: 1", "generation: 9", "numberReady: 3",
			"numberReady: 0").Replace(before), true},
		"a field is left":       {strings.Replace(before, "{os: linux}", `{os: linux, flyball.dev/asleep: "true"}`, 1), false},
		"an annotation is left": {strings.Replace(before, "annotations: {", "annotations: {flyball.dev/ledger: '{}', ", 1), false},
		"a label is lost":       {strings.Replace(before, "name: a,", "name: a, labels: {a: b},", 1), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			diff := restored(&track{original: object(t, before), latest: object(t, tt.after)})
			if (diff == "") != tt.same {
				t.Errorf("difference is %q, want one: %v", diff, !tt.same)
			}
		})
	}
}

func TestChartDrawsStates(t *testing.T) {
	s := newScreen(os.Stdout, true)
	tr := tracked(t, &officeHours, [2]float64{0, 0}, [2]float64{7.1, 3}, [2]float64{21.1, 1}, [2]float64{32, 3})
	tests := map[string]struct {
		perColumn int
		want      string
	}{
		"an hour a column": {1,
			"·······██████████████▒▒▒│▒▒▒▒▒▒▒▒████████████████│"},
		"two hours a column": {2, "···▐██████▌▒│▒▒▒▒████████│"},
		"four":               {4, "··███▌│▒▒████│"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := chartRow(s, tr, monday(t), tt.perColumn)
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("row is\n%s, want it to begin with\n%s", got, tt.want)
			}
			for _, line := range chart(s, []track{*tr}, monday(t), chartWidth(tt.perColumn)) {
				if n := len([]rune(line)); n > chartWidth(tt.perColumn) {
					t.Errorf("a line of %d characters in a width of %d:\n%s", n, chartWidth(tt.perColumn), line)
				}
			}
		})
	}
	if got := share(tr, monday(t)); got != " 10%" {
		t.Errorf("share of the week is %q, want 17 of 168 hours", got)
	}
}

func TestLiveTableFits(t *testing.T) {
	begin := monday(t)
	clock := simclock.New(begin.Add(80 * time.Hour))
	v := &view{screen: newScreen(os.Stdout, true), rec: newRecorder(clock, targets()), begin: begin}
	for _, width := range []int{narrow, withStrip} {
		lines := v.lines(width)
		if len(lines) >= 24 {
			t.Errorf("the table has %d lines, and a terminal 24", len(lines))
		}
		for _, line := range lines {
			if n := len([]rune(line)); n > width {
				t.Errorf("a line of %d characters in a width of %d:\n%s", n, width, line)
			}
		}
	}
	if text := strings.Join(v.lines(narrow), "\n"); !strings.Contains(text, "Ascension Day") || !strings.Contains(text, "Thu 14 May 08:00") {
		t.Errorf("the head does not say which day it is:\n%s", text)
	}
}

func TestFitPadsAndCutsText(t *testing.T) {
	for text, want := range map[string]string{"ab": "ab  ", "abcd": "abcd", "äöüßx": "äöü…"} {
		if got := fit(text, 4); got != want {
			t.Errorf("fit(%q) is %q, want %q", text, got, want)
		}
	}
}

func TestCountRequests(t *testing.T) {
	since := time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)
	log := func(agent, verb, group, resource string, code int, at time.Time) local.Request {
		raw := local.Request{Verb: verb, Stage: "ResponseComplete", UserAgent: agent, Received: at}
		raw.Response.Code = code
		raw.Object = &struct {
			APIGroup    string `json:"apiGroup"`
			Resource    string `json:"resource"`
			Subresource string `json:"subresource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
		}{APIGroup: group, Resource: resource, Name: "a"}
		return raw
	}
	const manager = "flyball-manager"
	got := countRequests([]local.Request{
		log(manager, "patch", "apps", "deployments", 200, since.Add(-time.Second)),
		log(manager, "patch", "apps", "deployments", 200, since),
		log(manager, "patch", "apps", "deployments", 409, since),
		log("kubectl", "patch", "apps", "deployments", 200, since),
		log(manager, "patch", "flyball.dev", "schedules", 200, since),
		log(manager, "create", "admissionregistration.k8s.io", "validatingwebhookconfigurations", 201, since),
		log(manager, "create", "events.k8s.io", "events", 201, since),
		log(manager, "create", "authorization.k8s.io", "selfsubjectaccessreviews", 201, since),
		log(manager, "get", "apps", "deployments", 200, since),
		log(manager, "watch", "apps", "deployments", 200, since),
	}, since)
	want := requests{targets: 1, own: 1, events: 1, reviews: 1, reads: 1, webhook: 1, of: map[string]int{"deployments/a": 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(requests{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestWeekHasItsNextSleep(t *testing.T) {
	begin := monday(t)
	for want, w := range map[string]*week{"2037-05-18T20:00:00+02:00": &officeHours, "2037-05-18T21:00:00+02:00": &rendering,
		"2037-05-18T22:00:00+02:00": &shopOpen} {
		if got := w.sleeps(begin).Format(time.RFC3339); got != want {
			t.Errorf("sleeps next at %s, want %s", got, want)
		}
	}
	if got := never.sleeps(begin); !got.IsZero() {
		t.Errorf("what nothing may touch sleeps at %s", got)
	}
}
