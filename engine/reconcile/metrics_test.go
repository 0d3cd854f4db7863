package reconcile

import (
	"context"
	"fmt"
	"testing"

	"flyball.dev/flyball/test/worldtest"
)

// The ledgers name policies that do not exist. Anyone who may edit an object can write such a ledger, and no event
// would ever remove its series.
func TestUnknownPoliciesGetNoOperationSeries(t *testing.T) {
	const made = 3
	through := make(writes, 10)
	s := newScene(t, through)
	for i := range made {
		name := webs(i).Name
		s.objects.Put(worldtest.Project(t, s.kind.Kind, worldtest.Deployment(name, 0, fmt.Sprintf(
			`,"annotations":{"flyball.dev/ledger":%q}`, fmt.Sprintf(
				`{"/spec/replicas":{"was":2,"set":0,"by":"Schedule/shop/nobody-%d","since":"2026-03-02T08:00:00Z"},"namespace":"shop","of":"Deployment/%s","uid":"uid-%[2]s"}`, i, name)))))
	}
	s.Add(webs(0), webs(1), webs(2))
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	for range made {
		<-through
	}
	eventually(t, "the writes are not counted", func() bool {
		return s.metric(t, "flyball_writes_total")["adapter=deployments.apps result=applied verb=up "] == made
	})
	stop()
	<-over
	if got := s.metric(t, "flyball_operations_total"); len(got) != 0 {
		t.Errorf("there are series of policies that there are not: %v", got)
	}
}
