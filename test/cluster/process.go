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

// garbageCollection makes components collect garbage a quarter as often as by default. Their heaps are small here, so
// under load they would collect far more often than in large clusters.
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
	// The caller's environment (KUBECONFIG, proxies) must have no influence.
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

// kill ends the process at once and waits for its end. No graceful end is needed, because etcd keeps every acknowledged
// write.
func (p *process) kill() {
	p.stopping.Store(true)
	// An error means that the process has already ended.
	_ = p.cmd.Process.Kill()
	<-p.done
	os.Remove(p.pidFile)
}

// failure describes the unexpected end of a process, with the end of its log.
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

// await calls check every 50 ms until it returns nil. It stops when the context or one of the processes ends, with the
// end of the first process's log.
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
