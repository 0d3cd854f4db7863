package idle

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// TestANamespaceHasOneQueryUnderWay: twenty policies of one namespace, with queries of half a minute, delay no query of another namespace,
// and those that wait for long say so.
func TestANamespaceHasOneQueryUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		metrics, err := NewMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		l := New(Options{World: world.New(selector.Scope{}), Metrics: metrics, Dirty: func(workload.Policy) {}})
		of := func(namespace string, i int) *watcher {
			return &watcher{Monitor: l, id: workload.Policy{Kind: "Schedule", Namespace: namespace, Name: fmt.Sprint(i)},
				rule: &demand.Rule{Namespace: namespace, Interval: 10 * time.Second}}
		}
		const many, takes = 20, 30 * time.Second
		begin := time.Now()
		for i := range many {
			go func() {
				defer of("crowded", i).turn(t.Context())()
				time.Sleep(takes)
			}()
		}
		synctest.Wait()
		if of("shop", 0).turn(t.Context())(); time.Since(begin) > 0 {
			t.Errorf("another namespace waited for %s", time.Since(begin))
		}
		time.Sleep(takes - time.Second)
		late := 0
		for i := range many {
			if l.faultOf(of("crowded", i).id).reason == "DemandUnanswered" {
				late++
			}
		}
		if late != many-1 {
			t.Errorf("%d policies say that they wait, want %d", late, many-1)
		}
		time.Sleep(many * takes)
	})
}
