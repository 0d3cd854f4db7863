package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options configure a cluster. The zero value is an API server without any component that acts on objects.
type Options struct {
	// Level is the set of running components; default LevelAPI.
	Level Level
	// Dir is the cluster's directory, created if missing; it must be empty. It stays after Stop. Default: a temporary
	// directory, removed by Stop.
	Dir string
	// Nodes is the number of simulated nodes, spread over zones zone-a, zone-b
	// and zone-c; default 6. LevelAPI has none.
	Nodes int
	// ExtraAPIServerArgs are appended to the flags of kube-apiserver; a flag
	// given twice has its last value.
	ExtraAPIServerArgs []string
	// ExtraControllerManagerArgs are appended to the flags of kube-controller-manager.
	ExtraControllerManagerArgs []string
	// HighQPS lets controllers, scheduler and nodes work fast enough for
	// thousands of pods.
	HighQPS bool
	// Audit writes every request to DIR/audit.log, one JSON event per line at
	// level Metadata.
	Audit bool
	// With names further binaries for BinDir, for example "helm".
	With []string
	// Source is the directory of this module; see BuildOptions.
	Source string
	// Log receives progress and later events of components; default: none.
	Log io.Writer
}

const (
	defaultNodes = 6
	// startupTimeout is far longer than a start takes, because a busy machine needs minutes.
	startupTimeout = 10 * time.Minute
)

// Cluster is a running cluster. Its methods may be called from any goroutine.
type Cluster struct {
	opts    Options
	dir     string
	ownsDir bool
	bin     *Binaries
	ports   *ports
	spawner *spawner
	ca      *authority
	caPEM   []byte
	front   *authority
	tokens  map[string]string // by user
	client  *client
	users   map[string]string
	port    int // of the API server

	mu        sync.Mutex // guards the fields below
	processes []*process // in the order of their start
	apiserver *process
	manager   *process // kube-controller-manager
	stopped   bool

	failOnce sync.Once
	failed   chan struct{}
	failure  error
}

// Start builds missing binaries and starts a cluster; it returns when the cluster is ready for use. The context bounds
// the start only: a cluster runs until Stop, or until this process ends.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	bin, err := Build(ctx, BuildOptions{Level: opts.Level, With: opts.With, Source: opts.Source, Log: opts.Log})
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, bin: bin, failed: make(chan struct{})}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the cluster: %w", err), c.Stop())
	}
	ctx, cancel := withStartupTimeout(ctx)
	defer cancel()
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start the cluster: %w", err), c.Stop())
	}
	return c, nil
}

func withStartupTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, startupTimeout, fmt.Errorf("not ready within %s", startupTimeout))
}

func (o Options) withDefaults() (Options, error) {
	if o.Level == "" {
		o.Level = LevelAPI
	}
	if _, err := ParseLevel(string(o.Level)); err != nil {
		return o, err
	}
	if o.Nodes < 0 {
		return o, fmt.Errorf("number of nodes is %d, below 0", o.Nodes)
	}
	if o.Nodes == 0 {
		o.Nodes = defaultNodes
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o, nil
}

// prepare creates the directory, the certificates and the kubeconfig files.
func (c *Cluster) prepare() error {
	if err := c.makeDir(); err != nil {
		return err
	}
	c.spawner = newSpawner()
	var err error
	if c.ports, err = newPorts(); err != nil {
		return err
	}
	if c.port, err = c.ports.take(); err != nil {
		return err
	}
	pki := filepath.Join(c.dir, "pki")
	if c.ca, err = newAuthority(pki, "ca"); err != nil {
		return err
	}
	if c.caPEM, err = os.ReadFile(c.ca.certFile()); err != nil {
		return fmt.Errorf("read the authority: %w", err)
	}
	if c.front, err = newAuthority(pki, "front-proxy-ca"); err != nil {
		return err
	}
	if c.tokens, err = writeTokens(c.dir); err != nil {
		return err
	}
	if err = writeKubeconfig(c.Kubeconfig(), c.URL(), c.ca, c.tokens[administrator]); err != nil {
		return err
	}
	if c.users, err = writeUsers(c.dir, c.URL(), c.ca, c.tokens); err != nil {
		return err
	}
	c.client = newClient(c.URL(), c.ca, c.tokens[administrator])
	return c.linkBinaries()
}

func (c *Cluster) makeDir() error {
	if c.opts.Dir == "" {
		dir, err := os.MkdirTemp("", "flyball-cluster-")
		if err != nil {
			return fmt.Errorf("make the cluster's directory: %w", err)
		}
		c.dir, c.ownsDir = dir, true
	} else {
		dir, err := filepath.Abs(c.opts.Dir)
		if err != nil {
			return fmt.Errorf("resolve the cluster's directory: %w", err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the cluster's directory: %w", err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			return errors.Join(fmt.Errorf("the cluster's directory %s is not an empty directory", dir), err)
		}
		c.dir = dir
	}
	for _, sub := range []string{"pki", "logs", "run", "bin"} {
		if err := os.Mkdir(filepath.Join(c.dir, sub), 0o700); err != nil {
			return fmt.Errorf("make the cluster's directory: %w", err)
		}
	}
	return nil
}

// linkBinaries creates one directory with links to all binaries of the cluster.
func (c *Cluster) linkBinaries() error {
	for name, path := range c.bin.paths {
		if err := os.Symlink(path, filepath.Join(c.BinDir(), name)); err != nil {
			return fmt.Errorf("link binary %s: %w", name, err)
		}
	}
	return nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.startStorage(ctx); err != nil {
		return err
	}
	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	if c.opts.Level.includes(LevelWorkloads) {
		if err := c.startWorkloads(ctx); err != nil {
			return err
		}
	}
	if c.opts.Level.includes(LevelMetrics) {
		return c.startMetrics(ctx)
	}
	return nil
}

// Kubeconfig returns the path of the administrator's kubeconfig file, with a token of group system:masters.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "admin.kubeconfig") }

// UserKubeconfigs returns, by user name, the paths of the kubeconfig files of Users, each with a token.
func (c *Cluster) UserKubeconfigs() map[string]string { return c.users }

// URL returns the address of the API server; it stays the same for the life of the cluster.
func (c *Cluster) URL() string { return "https://" + loopback(c.port) }

// CA returns the PEM certificate that signs the API server's certificate.
func (c *Cluster) CA() []byte { return c.caPEM }

// Dir returns the cluster's directory, with logs, certificates and pid files.
func (c *Cluster) Dir() string { return c.dir }

// BinDir returns a directory with the binaries of the level and of Options.With.
func (c *Cluster) BinDir() string { return filepath.Join(c.dir, "bin") }

// AuditLog returns the path of the audit log, which exists with Options.Audit.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir, "audit.log") }

// Failed is closed when a component ends unexpectedly; Failure then returns the reason.
func (c *Cluster) Failed() <-chan struct{} { return c.failed }

// Failure returns the first unexpected end of a component, or nil before Failed is closed.
func (c *Cluster) Failure() error {
	select {
	case <-c.failed:
		return c.failure
	default:
		return nil
	}
}

// Stop ends all processes and waits for them. It may be called again.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].kill()
	}
	if c.spawner != nil {
		c.spawner.close()
	}
	if c.ports != nil {
		c.ports.release()
	}
	if !c.ownsDir {
		return nil
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("remove the cluster's directory: %w", err)
	}
	return nil
}

// run starts a component and watches for its end.
func (c *Cluster) run(binary string, args []string) (*process, error) {
	path, err := c.bin.Path(binary)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, fmt.Errorf("start %s: the cluster is stopped", binary)
	}
	p, err := startProcess(c.spawner, c.dir, binary, path, args)
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	go func() {
		<-p.done
		if p.stopping.Load() {
			return
		}
		c.failOnce.Do(func() {
			c.failure = p.failure()
			close(c.failed)
		})
	}()
	return p, nil
}

// forget removes an intentionally stopped process from the list.
func (c *Cluster) forget(p *process) {
	for i, other := range c.processes {
		if other == p {
			c.processes = append(c.processes[:i], c.processes[i+1:]...)
			return
		}
	}
}
