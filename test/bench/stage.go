package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// deployments is the adapter of all measurements.
const deployments = "deployments.apps"

// stage is an API server with Flyball's CRDs, the Deployment adapter and a growing number of Deployments.
type stage struct {
	sizes
	report  *report
	env     *harness.Env
	clients *kubernetes.Clientset
	adapter *adapter.Adapter
	// grown is the number of Deployments.
	grown int
	// scheduled is true once the schedule exists.
	scheduled bool
}

// stage returns the cluster that most figures share. The first call starts it.
func (b *bench) stage(ctx context.Context) (*stage, error) {
	b.starts.Lock()
	defer b.starts.Unlock()
	if b.cluster != nil {
		return b.cluster, nil
	}
	s, err := b.start(ctx, local.Options{})
	if err != nil {
		return nil, err
	}
	b.cluster = s // from now on the end of the run stops it
	return s, nil
}

// start starts a cluster.
func (b *bench) start(ctx context.Context, opts local.Options) (*stage, error) {
	b.report.say("starting etcd and an API server")
	opts.Level, opts.Log = local.LevelAPI, os.Stderr
	env, err := harness.Up(ctx, opts)
	if err != nil {
		return nil, err
	}
	s := &stage{sizes: b.sizes, report: b.report, env: env}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *stage) prepare(ctx context.Context) error {
	if err := s.env.InstallAdapters(ctx, deployments); err != nil {
		return err
	}
	var err error
	if s.adapter, err = compileAdapter(); err != nil {
		return err
	}
	if s.clients, err = kubernetes.NewForConfig(protobuf(s.env.Config)); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	return nil
}

func (s *stage) stop() error { return s.env.Cluster.Stop() }

// protobuf returns the usual configuration of typed clients, with protobuf on the wire.
func protobuf(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}

// compileAdapter compiles the shipped adapter of Deployments.
func compileAdapter() (*adapter.Adapter, error) {
	all, err := adapters.All()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name != deployments {
			continue
		}
		a, errs := adapter.Compile(deployments, all[i].Spec, adapter.Keys{})
		if len(errs) > 0 {
			return nil, fmt.Errorf("compile the adapter %s: %w", deployments, errs.ToAggregate())
		}
		return a, nil
	}
	return nil, fmt.Errorf("there is no adapter %s in the library", deployments)
}

// parallel calls do n times with the given number of workers. It stops at the first error.
func parallel(ctx context.Context, workers, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// schedule creates the ClusterSchedule over the first targets. It is created once and stays.
func (s *stage) schedule(ctx context.Context) error {
	if s.scheduled {
		return nil
	}
	if err := s.env.Client.Create(ctx, nightly("nights")); err != nil {
		return fmt.Errorf("create the schedule: %w", err)
	}
	s.scheduled = true
	return nil
}

// zone is the time zone of the schedules. It has daylight saving time.
const zone = "Europe/Skopje"

// nightly returns a ClusterSchedule of the Deployments in the labelled namespaces, asleep from 20:00 to 08:00.
func nightly(name string) *v1alpha1.ClusterSchedule {
	c := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	c.Spec.Target.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{scheduledLabel: "true"}}
	c.Spec.TimeZone = zone
	c.Spec.Downscale, c.Spec.Upscale = "0 20 * * *", "0 8 * * *"
	return c
}
