package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"flyball.dev/flyball/test/cluster"
)

// background is a cluster with its own supervisor process. The supervisor holds a lock while it lives, so that the pid
// in the file never belongs to an unrelated process.
type background struct{ dir string }

func (b background) lockFile() string   { return filepath.Join(b.dir, "lock") }
func (b background) pidFile() string    { return filepath.Join(b.dir, "pid") }
func (b background) readyFile() string  { return filepath.Join(b.dir, "ready.json") }
func (b background) logFile() string    { return filepath.Join(b.dir, "supervisor.log") }
func (b background) clusterDir() string { return filepath.Join(b.dir, "cluster") }

func backgroundHome() (string, error) {
	cache, err := cluster.CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "clusters"), nil
}

func openBackground(name string) (background, error) {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`).MatchString(name) {
		return background{}, fmt.Errorf("--name %q: want small letters, digits and dashes", name)
	}
	home, err := backgroundHome()
	if err != nil {
		return background{}, err
	}
	return background{dir: filepath.Join(home, name)}, nil
}

// running reports whether a supervisor holds the lock.
func (b background) running() (bool, error) {
	f, err := os.OpenFile(b.lockFile(), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the cluster's lock: %w", err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the cluster's lock: %w", err)
	}
	return false, nil
}

const aboutUp = `Run a cluster in the background and print how to use and how to stop it.`

func up(ctx context.Context, args []string) error {
	flags := newFlags("up", aboutUp)
	name := flags.String("name", "default", "`name` of the cluster")
	opts := clusterFlags(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	b, err := openBackground(*name)
	if err != nil {
		return err
	}
	if running, err := b.running(); err != nil || running {
		return errors.Join(err, fmt.Errorf("a cluster named %s runs already; stop it with: flyball-cluster down --name %s", *name, *name))
	}
	// Building here shows the progress.
	if _, err := cluster.Build(ctx, cluster.BuildOptions{Level: opts.Level, With: opts.With, Source: opts.Source, Log: opts.Log}); err != nil {
		return err
	}
	if err := os.RemoveAll(b.dir); err != nil {
		return fmt.Errorf("remove what an earlier cluster left: %w", err)
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of cluster %s: %w", *name, err)
	}
	line, err := b.launch(ctx, withoutName(args))
	if err != nil {
		return fmt.Errorf("start cluster %s: %w", *name, err)
	}
	fmt.Printf("export KUBECONFIG=%s\n", line.Kubeconfig)
	fmt.Printf("# binaries: %s\n# stop it with: flyball-cluster down --name %s\n", line.Bin, *name)
	return nil
}

// withoutName removes the flag that run does not have.
func withoutName(args []string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		switch flagName, _, valued := strings.Cut(strings.TrimLeft(args[i], "-"), "="); {
		case flagName != "name":
			kept = append(kept, args[i])
		case !valued:
			i++
		}
	}
	return kept
}

// launch starts the supervisor in a session of its own and waits for its line.
func (b background) launch(ctx context.Context, args []string) (ready, error) {
	self, err := os.Executable()
	if err != nil {
		return ready{}, fmt.Errorf("find this program: %w", err)
	}
	log, err := os.Create(b.logFile())
	if err != nil {
		return ready{}, fmt.Errorf("make the supervisor's log: %w", err)
	}
	defer log.Close()
	supervisor := exec.Command(self, append([]string{"run", "--background", b.dir}, args...)...)
	supervisor.Stderr = log
	supervisor.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	output, err := supervisor.StdoutPipe()
	if err != nil {
		return ready{}, fmt.Errorf("connect to the supervisor: %w", err)
	}
	if err := supervisor.Start(); err != nil {
		return ready{}, fmt.Errorf("start the supervisor: %w", err)
	}
	interrupted := context.AfterFunc(ctx, func() { _ = supervisor.Process.Signal(syscall.SIGTERM) })
	defer interrupted()
	var line ready
	text, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return ready{}, fmt.Errorf("read from the supervisor: %w", err)
	}
	if json.Unmarshal(text, &line) != nil {
		_ = supervisor.Wait() // its log has more information than its exit status
		said, err := os.ReadFile(b.logFile())
		return ready{}, errors.Join(fmt.Errorf("the supervisor ended:\n%s", strings.TrimSpace(string(said))), err)
	}
	return line, nil
}

// supervise is the background part of up. It ends only by SIGTERM.
func supervise(ctx context.Context, b background, opts cluster.Options) error {
	lock, err := os.OpenFile(b.lockFile(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the cluster's lock: %w", err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock the cluster: %w", err)
	}
	if err := os.WriteFile(b.pidFile(), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the supervisor's pid: %w", err)
	}
	opts.Dir = b.clusterDir()
	return runCluster(ctx, opts, nil, func(line ready) error {
		raw, err := json.Marshal(line)
		if err != nil {
			return fmt.Errorf("encode what to know of the cluster: %w", err)
		}
		if err := os.WriteFile(b.readyFile(), raw, 0o600); err != nil {
			return fmt.Errorf("write what to know of the cluster: %w", err)
		}
		return printLine(os.Stdout, line)
	})
}

const aboutDown = `Stop a cluster that runs in the background and remove its directory.`

func down(ctx context.Context, args []string) error {
	flags := newFlags("down", aboutDown)
	name := flags.String("name", "default", "`name` of the cluster")
	if err := parse(flags, args); err != nil {
		return err
	}
	b, err := openBackground(*name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(b.dir); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no cluster named %s", *name)
	}
	if err := b.stop(ctx); err != nil {
		return fmt.Errorf("stop cluster %s: %w", *name, err)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		return fmt.Errorf("remove the directory of cluster %s: %w", *name, err)
	}
	return nil
}

// stop ends the supervisor by its pid and waits until the lock is free.
func (b background) stop(ctx context.Context) error {
	running, err := b.running()
	if err != nil || !running {
		return err
	}
	raw, err := os.ReadFile(b.pidFile())
	if err != nil {
		return fmt.Errorf("read the supervisor's pid: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return fmt.Errorf("read the supervisor's pid: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("signal the supervisor, pid %d: %w", pid, err)
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if running, err := b.running(); err != nil || !running {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return fmt.Errorf("the supervisor, pid %d, still runs after 30 s", pid)
}

func list(args []string) error {
	if err := parse(newFlags("list", "Show the clusters that run in the background."), args); err != nil {
		return err
	}
	home, err := backgroundHome()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(home)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list the background clusters: %w", err)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tLEVEL\tURL\tKUBECONFIG")
	for _, entry := range entries {
		b := background{dir: filepath.Join(home, entry.Name())}
		running, err := b.running()
		if err != nil {
			return err
		}
		state := "stopped"
		if running {
			state = "running"
		}
		var line ready
		// A starting cluster has no such file yet.
		if raw, err := os.ReadFile(b.readyFile()); err == nil {
			if err := json.Unmarshal(raw, &line); err != nil {
				return fmt.Errorf("read what is known of cluster %s: %w", entry.Name(), err)
			}
		} else if running {
			state = "starting"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", entry.Name(), state, line.Level, line.URL, line.Kubeconfig)
	}
	return table.Flush()
}
