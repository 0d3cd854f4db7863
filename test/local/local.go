// Package local starts a real Kubernetes control plane on this machine, for tests and programs of this repository. It
// builds the command of the module test/cluster, runs it as a child process and communicates over its standard streams,
// so that the modules of Kubernetes stay out of the operator's module. A returned cluster is ready, and no part of it
// remains once it is stopped or this process has ended for any reason.
//
// The very first start compiles Kubernetes, which takes about ten minutes on two cores; progress is written to standard
// error.
package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// These are the levels. Each level includes the levels before.
const (
	// LevelAPI is etcd and the API server: objects are stored and validated, and no controller acts on them.
	LevelAPI = "api"
	// LevelWorkloads adds controllers, scheduler and simulated nodes: pods of
	// Deployments become ready within a second.
	LevelWorkloads = "workloads"
	// LevelMetrics adds simulated usage, the resource metrics API and the VPA recommender.
	LevelMetrics = "metrics"
)

// Options configure a cluster.
type Options struct {
	// Level is one of the Level constants; default LevelAPI.
	Level string
	// Nodes is the number of simulated nodes, in turn in zone-a, zone-b and
	// zone-c; default 6.
	Nodes int
	// ExtraAPIServerArgs are added to kube-apiserver, as --flag=value.
	ExtraAPIServerArgs []string
	// ExtraControllerManagerArgs are added to kube-controller-manager, as --flag=value.
	ExtraControllerManagerArgs []string
	// HighQPS lets controllers work fast enough for thousands of pods.
	HighQPS bool
	// Audit records every request, for Cluster.Audit.
	Audit bool
	// With names further binaries for Cluster.Bin, for example "helm".
	With []string
	// Dir is an empty or missing directory for the cluster's files, which stay there with the logs. Default: a
	// temporary directory, removed with the cluster.
	Dir string
	// Log receives progress; default: standard error.
	Log io.Writer
}

// Cluster is a running cluster.
type Cluster struct {
	// Kubeconfig is the path of the administrator's kubeconfig file.
	Kubeconfig string
	// URL is the address of the API server.
	URL string
	// Dir has the components' output in logs/.
	Dir string

	admin *rest.Config
	users map[string]*rest.Config
	bin   string
	audit string
	store *http.Client

	command *exec.Cmd
	input   io.WriteCloser
	lines   chan []byte
	exited  chan struct{}
	exitErr error
	mu      sync.Mutex // one command at a time
	stop    sync.Once
	stopErr error
}

// Start starts a cluster for a test and stops it at the end of the test and its subtests. If the start fails, the test
// fails.
func Start(t testing.TB, opts Options) *Cluster {
	t.Helper()
	c, err := Up(t.Context(), opts)
	if err != nil {
		t.Fatalf("start a local cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Errorf("stop the local cluster: %v", err)
		}
	})
	return c
}

// Up starts a cluster for a program or for TestMain, which must call Stop. The context bounds the start only.
func Up(ctx context.Context, opts Options) (*Cluster, error) {
	if opts.Log == nil {
		opts.Log = os.Stderr
	}
	source, err := findSource()
	if err != nil {
		return nil, err
	}
	program, err := buildCommand(ctx, source)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		command: exec.Command(program, arguments(opts, source)...),
		lines:   make(chan []byte),
		exited:  make(chan struct{}),
	}
	if err := c.launch(opts.Log); err != nil {
		return nil, err
	}
	if err := c.awaitReady(ctx); err != nil {
		// The error of Stop repeats the supervisor's last output, which err has already.
		_ = c.Stop()
		return nil, err
	}
	return c, nil
}

func arguments(opts Options, source string) []string {
	args := []string{"run", "--source", source}
	if opts.Level != "" {
		args = append(args, "--level", opts.Level)
	}
	if opts.Nodes != 0 {
		args = append(args, "--nodes", strconv.Itoa(opts.Nodes))
	}
	if opts.HighQPS {
		args = append(args, "--high-qps")
	}
	if opts.Audit {
		args = append(args, "--audit")
	}
	if opts.Dir != "" {
		args = append(args, "--dir", opts.Dir)
	}
	repeated := func(flag string, values []string) {
		for _, v := range values {
			args = append(args, flag, v)
		}
	}
	repeated("--extra-apiserver-arg", opts.ExtraAPIServerArgs)
	repeated("--extra-controller-manager-arg", opts.ExtraControllerManagerArgs)
	repeated("--with", opts.With)
	return args
}

// launch starts the supervisor. Its standard input is a pipe; when this process ends, the kernel closes the pipe and
// the supervisor ends the cluster.
func (c *Cluster) launch(log io.Writer) error {
	var err error
	if c.input, err = c.command.StdinPipe(); err != nil {
		return fmt.Errorf("connect to the supervisor: %w", err)
	}
	output, err := c.command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect to the supervisor: %w", err)
	}
	said := &tail{to: log}
	c.command.Stderr = said
	if err := c.command.Start(); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	go func() {
		scanner := bufio.NewScanner(output)
		for scanner.Scan() {
			c.lines <- append([]byte(nil), scanner.Bytes()...)
		}
		close(c.lines)
		if err := c.command.Wait(); err != nil {
			c.exitErr = fmt.Errorf("the supervisor ended: %w\n%s", err, said.text())
		}
		close(c.exited)
	}()
	return nil
}

func (c *Cluster) awaitReady(ctx context.Context) error {
	var ready struct {
		Kubeconfig, URL, Dir, Bin, AuditLog string
		Users                               map[string]string
	}
	if err := c.receive(ctx, &ready); err != nil {
		return fmt.Errorf("wait for the cluster to be ready: %w", err)
	}
	c.Kubeconfig, c.URL, c.Dir, c.bin, c.audit = ready.Kubeconfig, ready.URL, ready.Dir, ready.Bin, ready.AuditLog
	c.store = newStore(ready.Dir)
	var err error
	if c.admin, err = loadConfig(ready.Kubeconfig); err != nil {
		return err
	}
	c.users = map[string]*rest.Config{}
	for name, file := range ready.Users {
		if c.users[name], err = loadConfig(file); err != nil {
			return err
		}
	}
	return nil
}

// loadConfig loads a kubeconfig file without client-side rate limits, so that tests run at the server's pace.
func loadConfig(file string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig %s: %w", file, err)
	}
	config.QPS = -1
	return config, nil
}

// receive decodes the supervisor's next line.
func (c *Cluster) receive(ctx context.Context, into any) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case line, ok := <-c.lines:
		if !ok {
			<-c.exited
			return errors.Join(errors.New("the supervisor is gone"), c.exitErr)
		}
		if err := json.Unmarshal(line, into); err != nil {
			return fmt.Errorf("decode the supervisor's line %q: %w", line, err)
		}
		return nil
	}
}

// order sends a command to the supervisor and waits for its end.
func (c *Cluster) order(ctx context.Context, command string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.input, command+"\n"); err != nil {
		return fmt.Errorf("send %s to the supervisor: %w", command, err)
	}
	var answer struct{ Error string }
	if err := c.receive(ctx, &answer); err != nil {
		return fmt.Errorf("wait for %s: %w", command, err)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", command, answer.Error)
	}
	return nil
}

// orderTimeout is longer than the supervisor's timeout for the start of the API server.
const orderTimeout = 11 * time.Minute

// StopAPIServer kills the API server: connections break and new ones are refused.
func (c *Cluster) StopAPIServer() error {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	return c.order(ctx, "stop-apiserver")
}

// StartAPIServer starts the API server again, on the same port and data, and waits until it is ready.
func (c *Cluster) StartAPIServer() error {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	return c.order(ctx, "start-apiserver")
}

// StopControllers kills kube-controller-manager: nothing acts on workloads.
func (c *Cluster) StopControllers() error {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	return c.order(ctx, "stop-controllers")
}

// StartControllers starts kube-controller-manager again.
func (c *Cluster) StartControllers() error {
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	return c.order(ctx, "start-controllers")
}

// Stop ends the cluster and waits until all its processes are gone. It may be called again. The error describes
// failures since the cluster was ready.
func (c *Cluster) Stop() error {
	c.stop.Do(func() {
		if err := c.input.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			c.stopErr = fmt.Errorf("close the supervisor's input: %w", err)
		}
		for range c.lines { // unread answers
		}
		<-c.exited
		c.stopErr = errors.Join(c.stopErr, c.exitErr)
	})
	return c.stopErr
}

// Config returns a client configuration for the administrator, a copy, without
// client-side rate limits.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// ConfigFor returns a client configuration for a test user with a token: admin (group system:masters), alice
// (developers), bob (developers, oncall) or sre (sre). Users other than admin have no rights until a test grants some.
// Any other name panics.
func (c *Cluster) ConfigFor(user string) *rest.Config {
	config, ok := c.users[user]
	if !ok {
		panic(fmt.Sprintf("local: no test user is called %q", user))
	}
	return rest.CopyConfig(config)
}

// Impersonate returns a client configuration that acts as any user and groups.
func (c *Cluster) Impersonate(user string, groups ...string) *rest.Config {
	config := c.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return config
}

// Bin returns the path of a binary of the level (every level has kubectl) or of Options.With.
func (c *Cluster) Bin(name string) string { return filepath.Join(c.bin, name) }
