package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/test/harness"
)

// serve runs a manager whose clock is set by the lines of the input, each an instant (RFC 3339).
func serve(ctx context.Context, kubeconfig string, input io.Reader) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("load the kubeconfig: %w", err)
	}
	lines := bufio.NewScanner(input)
	if !lines.Scan() {
		return fmt.Errorf("read the first instant: %w", lines.Err())
	}
	begin, err := time.Parse(time.RFC3339, lines.Text())
	if err != nil {
		return fmt.Errorf("parse the first instant: %w", err)
	}
	clock := clocktesting.NewFakeClock(begin)
	ctx, stop := context.WithCancel(ctx)
	go func() {
		defer stop() // the parent has ended
		for lines.Scan() {
			if at, err := time.Parse(time.RFC3339, lines.Text()); err == nil {
				clock.SetTime(at)
			}
		}
	}()
	return app.Run(ctx, config, app.Options{MetricsAddress: "0", HealthAddress: "0", Namespace: harness.Namespace, Workers: 16, QPS: -1,
		ShutdownTimeout: harness.Patience, Log: logr.Discard(), Clock: clock, Registry: prometheus.NewRegistry()})
}

// manager is a manager in a process of its own, which can be killed.
type manager struct {
	cmd   *exec.Cmd
	input io.WriteCloser
}

func startManager(kubeconfig string, at time.Time) (*manager, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	m := &manager{cmd: exec.Command(program, "manager", kubeconfig)}
	m.cmd.Stderr = os.Stderr
	if m.input, err = m.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("connect to the manager: %w", err)
	}
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the manager: %w", err)
	}
	return m, m.set(at)
}

// set sets the manager's clock.
func (m *manager) set(at time.Time) error {
	_, err := fmt.Fprintln(m.input, at.Format(time.RFC3339))
	return err
}

// kill ends the process by SIGKILL.
func (m *manager) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}
