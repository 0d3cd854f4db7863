// Package scaledown scales Deployments down beside the real ReplicaSet controller and scheduler, over zones of three,
// five and seven nodes. It counts the remaining pods in each zone.
package scaledown

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/integration/zones"
)

var (
	cluster *zones.Cluster
	pods    *zones.Watched
	ctx     context.Context
)

func TestScaleDown(t *testing.T) { suite.Run(t, "ScaleDown") }

var _ = BeforeSuite(func() {
	var stop context.CancelFunc
	ctx, stop = context.WithCancel(context.Background())
	DeferCleanup(stop)
	cluster = zones.Up(ctx, "deployments.apps")
	pods = cluster.Watch(ctx)
})
