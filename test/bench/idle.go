package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	registry "github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/crds/v1alpha1"
	engine "flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/idle"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/worldtest"
)

// looking measures the looks at a demand with a series for each target, once a second: from the question to the world.
func (b *bench) looking(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w, answer, err := b.demanded()
	if err != nil {
		return err
	}
	looks := make(chan spent, b.looks+warmLooks+1)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text := `{"status":"success","data":{"resultType":"matrix","result":[]}}`
		if strings.HasSuffix(r.URL.Path, "/query") {
			select {
			case looks <- spentNow():
			default:
			}
			text = strings.ReplaceAll(answer, "@", strconv.FormatInt(time.Now().Unix(), 10))
		}
		_, _ = rw.Write([]byte(text))
	}))
	defer server.Close()
	at, err := idle.Connect(prometheus.Options{Address: server.URL})
	if err != nil {
		return err
	}
	metrics, err := idle.NewMetrics(registry.NewRegistry())
	if err != nil {
		return err
	}
	loop := idle.New(idle.Options{World: w, Servers: at, Metrics: metrics, Requeue: func(...workload.Ref) {},
		Dirty: func(workload.Policy) {}, Fault: func() {}, Clock: clock.RealClock{}, Log: logr.Discard()})
	ended := make(chan struct{})
	go func() { defer close(ended); loop.Run(ctx) }()
	defer func() { stop(); <-ended }()
	var first, last spent
	for i := range warmLooks + b.looks + 1 {
		select {
		case last = <-looks:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if i == warmLooks {
			first = last
		}
	}
	known := w.Snapshot().Use(workload.Policy{Kind: "ClusterSchedule", Name: "idle"}, demandedRef(b.targets-1))
	if known == nil || known.Doubt != "" {
		return errors.New("the loop knows nothing of the last target")
	}
	scale := 2000 / float64(b.targets) / float64(b.looks)
	b.report.figure("idle_look_ms_2000", scale*float64(last.processor-first.processor)/float64(time.Millisecond), "ms")
	b.report.figure("idle_look_mb_2000", scale*float64(last.allocated-first.allocated)/1e6, "MB")
	return nil
}

// warmLooks is the number of looks before the measured ones. The first one reads the history.
const warmLooks = 3

// spent is the processor time of the process, and the memory that it has ever allocated.
type spent struct {
	processor time.Duration
	allocated uint64
}

func spentNow() spent {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail with these arguments
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return spent{time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), m.TotalAlloc}
}

func demandedRef(i int) workload.Ref {
	return workload.Ref{GroupKind: globbedKind, Namespace: "shop", Name: fmt.Sprint("web-", i)}
}

// demanded returns a world of targets under a schedule with a demand, and the answer to the demand. The answer has @ in place of
// its instant.
func (b *bench) demanded() (*world.World, string, error) {
	adapter, err := compileAdapter()
	if err != nil {
		return nil, "", err
	}
	namespaces, objects := &worldtest.Store{}, &worldtest.Store{}
	namespaces.Put(&workload.Object{Name: "shop"})
	var answer strings.Builder
	for i := range b.targets {
		d := (&stage{sizes: b.sizes}).deployment(i)
		d.APIVersion, d.Kind, d.Namespace, d.Name = "apps/v1", "Deployment", "shop", demandedRef(i).Name
		d.UID, d.ResourceVersion = types.UID(d.Name), "1"
		raw, err := json.Marshal(d)
		if err != nil {
			return nil, "", fmt.Errorf("encode a Deployment: %w", err)
		}
		obj, err := adapter.Project(raw)
		if err != nil {
			return nil, "", err
		}
		objects.Put(obj)
		fmt.Fprintf(&answer, `{"metric":{"namespace":"shop","name":%q},"value":[@,"0"]},`, d.Name)
	}
	live := world.NewLive(adapter)
	live.Objects = objects
	resource := schema.ParseGroupResource(deployments).WithVersion("v1")
	kind, _ := kinds.Find("ClusterSchedule")
	s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "idle", Finalizers: []string{v1alpha1.FinalizerRestore}}}
	s.Spec.Target.Namespaces = []string{"shop"}
	s.Spec.Idle = &v1alpha1.IdleRule{Demand: "rate(requests[2m])", AsleepAfter: "10s", Interval: "1s"}
	w := world.New(world.Scope(harness.Namespace, nil))
	w.Update(func(tx *world.Tx) {
		tx.SetNamespaces(namespaces)
		tx.UseKind(&world.LiveKind{Kind: engine.NewKind(adapter, resource), Live: live})
		tx.SetPolicy(kind, s)
	})
	return w, `{"status":"success","data":{"resultType":"vector","result":[` + answer.String() +
		`{"metric":{"flyball_selector":"0"},"value":[@,"1"]}]}}`, nil
}
