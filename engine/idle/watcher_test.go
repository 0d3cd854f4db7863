package idle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	flyballprometheus "flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

var noon = time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)

// series are the labels of a series and its value.
type series struct {
	labels string
	value  float64
}

func (s series) metric() model.Metric {
	m := model.Metric{}
	for part := range strings.FieldsSeq(s.labels) {
		name, value, _ := strings.Cut(part, "=")
		m[model.LabelName(name)] = model.LabelValue(value)
	}
	return m
}

var fresh = series{demand.SelectorLabel + "=0", 1}

// server answers with given series, the same now and at all times of a history.
type server struct {
	clock    *clocktesting.FakeClock
	now      []series
	warnings []string
	err      error
	// lost is the error of histories alone.
	lost  error
	ahead time.Duration
	// asked are the ranges of histories, as offsets from noon.
	asked []string
}

func (s *server) Now(context.Context, string, time.Time) (found model.Vector, warnings []string, err error) {
	for _, one := range s.now {
		found = append(found, &model.Sample{Metric: one.metric(), Value: model.SampleValue(one.value),
			Timestamp: model.TimeFromUnixNano(s.clock.Now().Add(s.ahead).UnixNano())})
	}
	return found, s.warnings, s.err
}

func (s *server) Range(_ context.Context, _ string, r promapi.Range) (found model.Matrix, warnings, remarks []string, err error) {
	s.asked = append(s.asked, fmt.Sprintf("%s to %s by %s", r.Start.Sub(noon), r.End.Sub(noon), r.Step))
	for _, one := range s.now {
		stream := &model.SampleStream{Metric: one.metric()}
		for at := r.Start; !at.After(r.End); at = at.Add(r.Step) {
			stream.Values = append(stream.Values,
				model.SamplePair{Timestamp: model.TimeFromUnixNano(at.UnixNano()), Value: model.SampleValue(one.value)})
		}
		found = append(found, stream)
	}
	return found, nil, nil, cmp.Or(s.err, s.lost)
}

func (s *server) Failed(name, _ string, err error) error {
	return fmt.Errorf("ask for %s: %w", name, err)
}

// stand has a watcher of a policy for the Deployments web and db of the namespace shop.
type stand struct {
	*watcher
	server  *server
	queued  []string
	objects *worldtest.Store
}

var web, db = workload.Ref{Namespace: "shop", Name: "web"}, workload.Ref{Namespace: "shop", Name: "db"}

func newStand(t testing.TB, tenant bool, change ...func(*v1alpha1.IdleRule)) *stand {
	t.Helper()
	k := worldtest.Kind(t, worldtest.Deployments)
	web.GroupKind, db.GroupKind = k.GroupKind, k.GroupKind
	s := &stand{server: &server{clock: clocktesting.NewFakeClock(noon)}, objects: &worldtest.Store{}}
	live := world.NewLive(k.Adapter)
	live.Objects = s.objects
	namespaces := &worldtest.Store{}
	namespaces.Put(&workload.Object{Name: "shop"})
	for _, ref := range []workload.Ref{web, db} {
		s.objects.Put(worldtest.Project(t, k, worldtest.Deployment(ref.Name, 3, "")))
	}
	w := world.New(selector.Scope{})
	rule := &v1alpha1.IdleRule{Demand: "rate(requests[2m])", AsleepAfter: "2h"}
	for _, c := range change {
		c(rule)
	}
	meta := metav1.ObjectMeta{Name: "idle", Finalizers: []string{v1alpha1.FinalizerRestore}}
	w.Update(func(tx *world.Tx) {
		tx.SetNamespaces(namespaces)
		tx.UseKind(&world.LiveKind{Kind: k, Live: live})
		if tenant {
			kind, _ := kinds.Find("Schedule")
			meta.Namespace = "shop"
			spec := v1alpha1.ScheduleSpec{ScheduleRules: v1alpha1.ScheduleRules{Idle: rule}}
			tx.SetPolicy(kind, &v1alpha1.Schedule{ObjectMeta: meta, Spec: spec})
			return
		}
		kind, _ := kinds.Find("ClusterSchedule")
		spec := v1alpha1.ClusterScheduleSpec{ScheduleRules: v1alpha1.ScheduleRules{Idle: rule}}
		spec.Target.Namespaces = []string{"shop"}
		tx.SetPolicy(kind, &v1alpha1.ClusterSchedule{ObjectMeta: meta, Spec: spec})
	})
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	l := New(Options{World: w, Metrics: metrics, Servers: &Servers{s.server, s.server}, Clock: s.server.clock, Log: logr.Discard(),
		Dirty: func(workload.Policy) {},
		Fault: func() { t.Error("there was a panic") },
		Requeue: func(refs ...workload.Ref) {
			for _, ref := range refs {
				s.queued = append(s.queued, ref.Name)
			}
		}})
	for p := range w.Snapshot().Policies {
		query, err := p.Idle.Query("")
		if err != nil {
			t.Fatal(err)
		}
		s.watcher = &watcher{Monitor: l, id: p.ID, rule: p.Idle, query: query, server: s.server}
	}
	if s.watcher == nil {
		t.Fatal("there is no policy")
	}
	return s
}

// at makes a round at a time after noon, and returns what is known of a target: the offsets of Last, Quiet and Seen, and the doubt.
func (s *stand) at(t *testing.T, after time.Duration, ref workload.Ref) string {
	t.Helper()
	s.server.clock.SetTime(noon.Add(after))
	s.queued, s.server.asked = nil, nil
	s.round(t.Context())
	u := s.opts.World.Snapshot().Use(s.id, ref)
	if u == nil {
		return "nothing"
	}
	text := ""
	for _, instant := range []time.Time{u.Last, u.Quiet, u.Seen} {
		if instant.IsZero() {
			text += "- "
		} else {
			text += instant.Sub(noon).String() + " "
		}
	}
	return text + u.Doubt
}

func (s *stand) fault() string {
	return strings.TrimSuffix(s.faultOf(s.id).reason+": "+s.faultOf(s.id).message, ": ")
}

// TestHistoryGivesTheKnowledgeBack: at the start the history of the whole time is read in parts, and again after a lost answer. Targets
// whose time without use cannot be longer need no further part.
func TestHistoryGivesTheKnowledgeBack(t *testing.T) {
	s := newStand(t, false)
	s.server.now = []series{{"namespace=shop name=web", 0}, {"namespace=shop name=db", 1}, fresh}
	if got, want := s.at(t, 0, web), "- -59m0s 0s "; got != want || fmt.Sprint(s.server.asked) != "[-59m0s to 0s by 1m0s]" {
		t.Errorf("got %q, want %q, with %v", got, want, s.server.asked)
	}
	if got, want := s.at(t, 15*time.Second, web), "- -1h59m0s 15s "; got != want ||
		fmt.Sprint(s.server.asked) != "[-1h59m0s to -1h0m0s by 1m0s]" {
		t.Errorf("got %q, want %q, with %v", got, want, s.server.asked)
	}
	if got, want := s.at(t, 30*time.Second, web), "- -2h1m0s 30s "; got != want ||
		fmt.Sprint(s.server.asked) != "[-2h1m0s to -2h0m0s by 1m0s]" {
		t.Errorf("got %q, want %q, with %v", got, want, s.server.asked)
	}
	if got, want := s.at(t, 45*time.Second, db), "45s 45s 45s "; got != want || len(s.server.asked) > 0 {
		t.Errorf("got %q, want %q, with %v", got, want, s.server.asked)
	}
	s.server.err = errors.New("away")
	if got, want := s.at(t, time.Minute, web), "- -2h1m0s 45s "; got != want || s.fault() != "DemandFailed: ask for demand: away" {
		t.Errorf("got %q, want %q, with %s", got, want, s.fault())
	}
	s.server.err = nil
	if got, want := s.at(t, 10*time.Minute, web), "- -49m0s 10m0s "; got != want || s.fault() != "" {
		t.Errorf("got %q, want %q, with %s", got, want, s.fault())
	}
}

// TestNoHistoryIsReadForLongerThanSleepNeeds: while the history is away, the answers themselves prove the whole time without use. Then no
// history is needed.
func TestNoHistoryIsReadForLongerThanSleepNeeds(t *testing.T) {
	s := newStand(t, false, func(r *v1alpha1.IdleRule) { r.AsleepAfter = "5m" })
	s.server.now = []series{{"namespace=shop name=web", 0}, {"namespace=shop name=db", 0}, fresh}
	s.server.lost = errors.New("no blocks")
	var after time.Duration
	for ; after < 5*time.Minute; after += 15 * time.Second {
		if s.at(t, after, web); len(s.server.asked) != 1 || s.fault() != "DemandFailed: ask for the history of the demand: no blocks" {
			t.Fatalf("at %s it asks for %v, and its fault is %q", after, s.server.asked, s.fault())
		}
	}
	s.server.lost = nil
	if got, want := s.at(t, after, web), "- 0s 5m0s "; got != want || len(s.server.asked) > 0 || s.fault() != "" {
		t.Errorf("got %q, want %q, with %v, and the fault %q", got, want, s.server.asked, s.fault())
	}
}

// TestDecisionsFollowTheFirstUse: a target is decided again with its first use, and not with each answer.
func TestDecisionsFollowTheFirstUse(t *testing.T) {
	s := newStand(t, false)
	s.server.now = []series{{"namespace=shop name=web", 0}, {"namespace=shop name=db", 0}, fresh}
	for i := range 4 {
		s.at(t, time.Duration(i)*15*time.Second, web)
	}
	if s.at(t, time.Minute, web); len(s.queued) > 0 {
		t.Errorf("without news it queues %v", s.queued)
	}
	s.server.now[0].value = 0.1
	if s.at(t, 75*time.Second, web); fmt.Sprint(s.queued) != "[web]" {
		t.Errorf("with the first use it queues %v", s.queued)
	}
	if s.at(t, 90*time.Second, web); len(s.queued) > 0 {
		t.Errorf("with further use it queues %v", s.queued)
	}
}

// TestAnswersThatProveNothing: the targets keep their knowledge, and the policy says the reason.
func TestAnswersThatProveNothing(t *testing.T) {
	absentIdle := func(r *v1alpha1.IdleRule) { r.Absent = v1alpha1.AbsentIdle }
	quiet := []series{{"namespace=shop name=web", 0}, fresh}
	for name, c := range map[string]struct {
		rule   func(*v1alpha1.IdleRule)
		change func(*server)
		tenant bool
		want   string
		fault  string
	}{
		"all is well": {want: "- -2h1m0s 30s "},
		"warnings": {change: func(s *server) { s.warnings = []string{"a store is away"} },
			want:  "- -1h59m0s 15s ",
			fault: "DemandFailed: ask for demand: the answer may be incomplete: a store is away"},
		"a clock ahead": {change: func(s *server) { s.ahead = 16 * time.Second },
			want:  "- -1h59m0s 15s ",
			fault: "DemandFailed: ask for demand: its clock differs by 16s from Flyball's, which is more than spec.idle.interval"},
		"a clock behind": {change: func(s *server) { s.ahead = -16 * time.Second },
			want:  "- -1h59m0s 15s ",
			fault: "DemandFailed: ask for demand: its clock differs by 16s from Flyball's, which is more than spec.idle.interval"},
		"a clock a little ahead":  {change: func(s *server) { s.ahead = 5 * time.Second }, want: "- -2h1m0s 35s "},
		"a clock a little behind": {change: func(s *server) { s.ahead = -5 * time.Second }, want: "- -2h1m0s 25s "},
		"no fresh sample": {change: func(s *server) { s.now = nil },
			want: "- - 15s the demand has no series for it",
			fault: "DemandUnanswered: no series of requests has a sample of the last 30s: " +
				"is spec.idle.interval shorter than the scrape interval?"},
		"zeros in the place of stale series": {change: func(s *server) { s.now = []series{{"namespace=shop name=web", 0}} },
			want: "- - 15s the demand has no series for it",
			fault: "DemandUnanswered: no series of requests has a sample of the last 30s: " +
				"is spec.idle.interval shorter than the scrape interval?"},
		"no series": {change: func(s *server) { s.now = []series{{"namespace=shop name=db", 0}, fresh} },
			want: "- - 15s the demand has no series for it"},
		"other labels": {change: func(s *server) { s.now = []series{{"ns=shop service=web", 0}, fresh} },
			want: "- - 15s the demand has no series for it",
			fault: "DemandNamesNoTarget: no series names a target by the labels namespace and name, " +
				"for example {ns=\"shop\", service=\"web\"}"},
		"a part vanished": {change: func(s *server) { s.now = append(s.now, series{"namespace=shop name=web x=y", inf()}) },
			want: "- - 15s a part of its demand has vanished or come, or is no number"},
		"another namespace": {change: func(s *server) { s.now[0].labels = "namespace=bakery name=web" }, tenant: true,
			want: "- - 15s the demand has no series for it",
			fault: "DemandNamesNoTarget: no series names a target by the labels namespace and name, " +
				"for example {name=\"web\", namespace=\"bakery\"}"},
		"no namespace":        {change: func(s *server) { s.now[0].labels = "name=web" }, tenant: true, want: "- -2h1m0s 30s "},
		"the whole namespace": {change: func(s *server) { s.now[0] = series{"namespace=shop", 2} }, want: "30s 30s 30s "},
		"absent, and other labels": {rule: absentIdle, change: func(s *server) {
			s.now = []series{{"namespace=ingress name=front exported_namespace=shop exported_name=web", 5}, fresh}
		},
			want: "- - 15s the demand has no series for it",
			fault: "DemandNamesNoTarget: no series names a target by the labels namespace and name, for example " +
				"{exported_name=\"web\", exported_namespace=\"shop\", name=\"front\", namespace=\"ingress\"}"},
		"a series that lost its name": {change: func(s *server) {
			s.now = []series{{"namespace=shop", 0}, {"namespace=shop name=db", 1}, fresh}
		},
			want: "- - 15s the demand has no series for it"},
		"absent and idle": {rule: absentIdle, change: func(s *server) { s.now = []series{{"namespace=shop name=db", 1}, fresh} },
			want: "- -2h1m0s 30s "},
		"absent, and no sample": {rule: absentIdle, change: func(s *server) { s.now = nil },
			want: "- - 15s the demand has no series for it",
			fault: "DemandUnanswered: no series of requests has a sample of the last 30s: " +
				"is spec.idle.interval shorter than the scrape interval?"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.rule == nil {
				c.rule = func(*v1alpha1.IdleRule) {}
			}
			s := newStand(t, c.tenant, c.rule)
			s.server.now = slices.Clone(quiet)
			s.at(t, 0, web)
			if got, want := s.at(t, 15*time.Second, web), "- -1h59m0s 15s "; got != want {
				t.Fatalf("at first it knows %q, want %q", got, want)
			}
			if c.change != nil {
				c.change(s.server)
			}
			if got := s.at(t, 30*time.Second, web); got != c.want {
				t.Errorf("it knows %q, want %q", got, c.want)
			}
			var shown dto.Metric
			if err := s.opts.Metrics.answered.WithLabelValues(s.id.Kind, s.id.Label()).Write(&shown); err != nil {
				t.Fatal(err)
			}
			answered := shown.Gauge.GetValue() == 1
			if got := s.fault(); got != c.fault || answered != (c.fault == "") {
				t.Errorf("its fault is %q, want %q, and its metric says answered: %t", got, c.fault, answered)
			}
		})
	}
}

func inf() float64 {
	zero := 0.0
	return 1 / zero
}

// TestKnowledgeByAnotherRuleCountsForNothing: answers to the demand before a change say nothing about the demand after it, also those that
// come after the change.
func TestKnowledgeByAnotherRuleCountsForNothing(t *testing.T) {
	s := newStand(t, false)
	s.server.now = []series{{"namespace=shop name=web", 0}, fresh}
	if got := s.at(t, 0, web); got == "nothing" {
		t.Fatal("nothing is known")
	}
	kind, _ := kinds.Find("ClusterSchedule")
	meta := metav1.ObjectMeta{Name: "idle", Generation: 2, Finalizers: []string{v1alpha1.FinalizerRestore}}
	changed := &v1alpha1.ClusterSchedule{ObjectMeta: meta}
	changed.Spec.Target.Namespaces = []string{"shop"}
	changed.Spec.Idle = &v1alpha1.IdleRule{Demand: "rate(others[2m])", AsleepAfter: "30s"}
	s.opts.World.Update(func(tx *world.Tx) { tx.SetPolicy(kind, changed) })
	if u := s.opts.World.Snapshot().Use(s.id, web); u != nil {
		t.Errorf("%+v is known by the new rule", u)
	}
	if got := s.at(t, 15*time.Second, web); got != "nothing" { // the answer to a query of the old rule that was under way
		t.Errorf("%q is known by the new rule", got)
	}
}

// TestLongAnswersAreRefused: an answer to a query of a tenant may have 4 MiB, and to other queries 16 MiB. The condition says so.
func TestLongAnswersAreRefused(t *testing.T) {
	size := 0
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		const answer = `{"status":"success","data":{"resultType":"vector","result":[]}}`
		_, _ = w.Write([]byte(answer + strings.Repeat(" ", size-len(answer))))
	}))
	defer at.Close()
	for _, tc := range []struct {
		tenant   bool
		mebibyte int
		most     string
	}{{true, 4, ""}, {true, 5, "4 MiB"}, {false, 5, ""}, {false, 17, "16 MiB"}} {
		s := newStand(t, tc.tenant)
		servers, err := Connect(flyballprometheus.Options{Address: at.URL})
		if err != nil {
			t.Fatal(err)
		}
		s.watcher.server, s.answered, size = servers.Of(s.rule), noon, tc.mebibyte<<20
		s.round(t.Context())
		refusal := "the answer is too long: at most " + tc.most + " are read"
		if fault := s.fault(); strings.Contains(fault, "DemandFailed") != (tc.most != "") || tc.most != "" && !strings.HasSuffix(fault, refusal) {
			t.Errorf("tenant %t, %d MiB: %s", tc.tenant, tc.mebibyte, fault)
		}
	}
}
