package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// watcherCommand is the hidden first argument of the watcher process.
const watcherCommand = "watcher"

// These are the two kinds of watches.
const (
	projected = "projected"
	typed     = "typed"
)

// intake is the cost of reading objects or updates for a process.
type intake struct {
	// Objects is the number of kept objects.
	Objects int `json:"objects"`
	// Heap is the growth of the live heap since before the watch, after garbage collection, in bytes.
	Heap int64 `json:"heap"`
	// CPU is the processor time in seconds, user and system, garbage collection included.
	CPU float64 `json:"cpu"`
	// PeakRSS is the peak memory of the process, in bytes.
	PeakRSS int64 `json:"peakRSS"`
	// Took is the wall time in seconds.
	Took float64 `json:"took"`
}

// watched is a running watch.
type watched interface {
	// sync waits until all objects were read once.
	sync(ctx context.Context) error
	len() int
}

// watcher watches all Deployments and writes the cost as a line of JSON. Then it waits for updates and writes their
// cost.
func watcher(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(watcherCommand, flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	kind := flags.String("kind", "", "")
	updates := flags.Int64("updates", 0, "")
	profile := flags.String("profile", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("load the kubeconfig: %w", err)
	}
	config.QPS = -1
	seen := &counter{want: *updates, reached: make(chan struct{})}
	start := startProjected
	if *kind == typed {
		start = startTyped
	}
	before, began := heapAlive(), time.Now()
	used := cpuSeconds()
	stop, err := profileCPU(named(*profile, *kind+"-cpu.pprof"))
	if err != nil {
		return err
	}
	w, err := start(ctx, config, seen)
	if err != nil {
		return err
	}
	if err := w.sync(ctx); err != nil {
		return err
	}
	first := intake{Objects: w.len(), CPU: cpuSeconds() - used, Took: time.Since(began).Seconds()}
	if err := stop(); err != nil {
		return err
	}
	if err := first.print(w, before, named(*profile, *kind+"-heap.pprof")); err != nil {
		return err
	}
	if *updates == 0 {
		return nil
	}
	used, began = cpuSeconds(), time.Now()
	if stop, err = profileCPU(named(*profile, *kind+"-updates-cpu.pprof")); err != nil {
		return err
	}
	select {
	case <-seen.reached:
	case <-ctx.Done():
		return ctx.Err()
	}
	second := intake{Objects: w.len(), CPU: cpuSeconds() - used, Took: time.Since(began).Seconds()}
	return errors.Join(stop(), second.print(w, before, ""))
}

func named(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// print completes an intake and writes it to standard output.
func (i intake) print(w watched, before int64, profile string) error {
	i.Heap = heapAlive() - before
	if err := writeHeap(profile); err != nil {
		return err
	}
	runtime.KeepAlive(w)
	var err error
	if i.PeakRSS, err = peakRSS(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(i)
}

// peakRSS returns the peak memory of this process in bytes. On Linux, Getrusage would count the memory of the process that
// started this process.
func peakRSS() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if errors.Is(err, fs.ErrNotExist) {
		var usage syscall.Rusage
		err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
		return usage.Maxrss, err
	}
	for line := range strings.Lines(string(text)) {
		if kibibytes, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kibibytes), " kB"), 10, 64)
			return n * 1024, err
		}
	}
	return 0, fmt.Errorf("read the peak memory of this process: %w", cmp.Or(err, errors.New("/proc/self/status has no VmHWM")))
}

func heapAlive() int64 {
	collect()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// counter closes a channel when it has seen enough updates.
type counter struct {
	seen    atomic.Int64
	want    int64
	reached chan struct{}
}

func (c *counter) add() {
	if c.seen.Add(1) == c.want {
		close(c.reached)
	}
}

type projectedWatch struct{ *watch.Watch }

func (w projectedWatch) sync(ctx context.Context) error { return w.WaitSynced(ctx) }
func (w projectedWatch) len() int                       { return w.Len() }

// startProjected watches as the manager does.
func startProjected(ctx context.Context, config *rest.Config, seen *counter) (watched, error) {
	a, err := compileAdapter()
	if err != nil {
		return nil, err
	}
	m, err := watch.NewManager(config)
	if err != nil {
		return nil, err
	}
	w, err := m.Ensure(ctx, watch.Source{GVR: deploymentsResource, ID: "bench", Projector: a,
		Handler: watch.HandlerFunc(func(old, _ *workload.Object) {
			if old != nil {
				seen.add()
			}
		})})
	return projectedWatch{w}, err
}

type typedWatch struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
}

func (w typedWatch) sync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced, w.registration.HasSynced) {
		return ctx.Err()
	}
	return nil
}

func (w typedWatch) len() int { return len(w.informer.GetStore().ListKeys()) }

// startTyped watches as a controller with a typed client does: a shared informer that reads protobuf. Like the
// projected watch it requests no compression, so that the costs are comparable.
func startTyped(ctx context.Context, config *rest.Config, seen *counter) (watched, error) {
	config = protobuf(config)
	config.DisableCompression = true
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(clients, 0)
	informer := factory.Apps().V1().Deployments().Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, cur any) {
		if old.(*appsv1.Deployment).ResourceVersion != cur.(*appsv1.Deployment).ResourceVersion {
			seen.add()
		}
	}})
	if err != nil {
		return nil, fmt.Errorf("register with the informer: %w", err)
	}
	factory.StartWithContext(ctx)
	return typedWatch{informer, registration}, nil
}
