package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// garbageCollection has components collect garbage a quarter as often as they do by default. Their heaps are small here: under load they
// would do so often, as those of large clusters do not.
const garbageCollection = "GOGC=400"

// process is one running component.
type process struct {
	name     string
	cmd      *exec.Cmd
	logFile  string
	pidFile  string
	done     chan struct{} // closed when it has ended and its port is free again
	err      error         // how it ended; read after done
	stopping atomic.Bool
}

// startProcess starts a binary with its output in DIR/logs and its pid in DIR/run.
func startProcess(s *spawner, dir, name, binary string, args []string) (*process, error) {
	p := &process{
		name:    name,
		cmd:     exec.Command(binary, args...),
		logFile: filepath.Join(dir, "logs", name+".log"),
		pidFile: filepath.Join(dir, "run", name+".pid"),
		done:    make(chan struct{}),
	}
	output, err := os.OpenFile(p.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer output.Close()
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = output, output
	// Nothing of the caller's surroundings (KUBECONFIG, proxies) may matter.
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), garbageCollection}
	if err := s.start(p.cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		// The kernel reports a process as ended only after its last thread is gone.
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	pid := []byte(strconv.Itoa(p.cmd.Process.Pid) + "\n")
	if err := os.WriteFile(p.pidFile, pid, 0o644); err != nil {
		p.kill()
		return nil, fmt.Errorf("write the pid of %s: %w", name, err)
	}
	return p, nil
}

// kill ends the process at once and waits until it is gone. Nothing that it
// holds is worth a graceful end: etcd keeps what it acknowledged.
func (p *process) kill() {
	p.stopping.Store(true)
	// The error says that it has ended already.
	_ = p.cmd.Process.Kill()
	<-p.done
	os.Remove(p.pidFile)
}

// failure describes a process that ended by itself, with the end of its log.
func (p *process) failure() error {
	how := "without an error"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s ended by itself (%s); its log ends:\n%s", p.name, how, p.logTail())
}

func (p *process) logTail() string {
	raw, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(raw), 20)
}

// ended reports whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// await calls check every 50 ms until it says nil. It gives up when the context
// ends or when one of the processes does, with the end of the first one's log.
func await(ctx context.Context, what string, check func(context.Context) error, watched ...*process) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		for _, p := range watched {
			if p.ended() {
				return fmt.Errorf("wait for %s: %w", what, p.failure())
			}
		}
		select {
		case <-ctx.Done():
			err = errors.Join(context.Cause(ctx), err)
			if len(watched) == 0 {
				return fmt.Errorf("wait for %s: %w", what, err)
			}
			p := watched[0]
			return fmt.Errorf("wait for %s: %w\nthe log of %s ends:\n%s", what, err, p.name, p.logTail())
		case <-ticker.C:
		}
	}
}
