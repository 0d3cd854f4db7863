package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
)

// watching compares a projected watch with a typed informer over the same objects, each in a new process.
func (b *bench) watching(ctx context.Context) error {
	s, err := b.stage(ctx)
	if err != nil {
		return err
	}
	var worst float64
	for i, n := range b.watched {
		if err := s.grow(ctx, n); err != nil {
			return err
		}
		updates := 0
		if i == len(b.watched)-1 {
			updates = b.updates
		}
		ratio, err := b.watchingAt(ctx, s, n, updates)
		if err != nil {
			return err
		}
		worst = max(worst, ratio)
	}
	b.report.figure("heap_per_object_ratio", worst, "ratio")
	return nil
}

// watchingAt compares both kinds of watches at one number of objects, and returns the ratio of the heaps. With updates
// it also compares the processor time.
func (b *bench) watchingAt(ctx context.Context, s *stage, n, updates int) (float64, error) {
	var heaps, cpus []float64
	for round := range b.watchRounds {
		kinds := []string{projected, typed}
		if round%2 == 1 {
			kinds = []string{typed, projected}
		}
		of, err := b.watchRound(ctx, s, n, updates, kinds)
		if err != nil {
			return 0, fmt.Errorf("round %d: %w", round, err)
		}
		p, t := of[projected], of[typed]
		for _, kind := range []string{projected, typed} {
			b.report.say("%d objects %s: %.0f bytes of heap an object, peak %d MiB; taken in with %.2f CPU s in %.1f s, %d updates with %.2f CPU s",
				n, kind, float64(of[kind].first.Heap)/float64(n), of[kind].second.PeakRSS>>20, of[kind].first.CPU, of[kind].first.Took, updates,
				of[kind].second.CPU)
		}
		heaps = append(heaps, float64(p.first.Heap)/float64(t.first.Heap))
		cpus = append(cpus, (p.first.CPU+p.second.CPU)/(t.first.CPU+t.second.CPU))
	}
	b.report.rounds(fmt.Sprint("heap_per_object_ratio_", n), heaps)
	b.report.figure(fmt.Sprint("heap_per_object_ratio_", n), median(heaps), "ratio")
	if updates > 0 {
		b.report.rounds("watch_cpu_ratio", cpus)
		b.report.figure("watch_cpu_ratio", median(cpus), "ratio")
	}
	return median(heaps), nil
}

// costs are the two reports of a process: for the objects, and for the updates.
type costs struct{ first, second intake }

// watchRound lets each process read all objects. Meanwhile the other process is idle or not yet started. Then both
// processes see the same updates.
func (b *bench) watchRound(ctx context.Context, s *stage, n, updates int, kinds []string) (map[string]costs, error) {
	of := map[string]costs{}
	var children []*child
	defer func() {
		for _, c := range children {
			c.end()
		}
	}()
	for _, kind := range kinds {
		c, err := b.startChild(ctx, watcherCommand, "--kind", kind, "--kubeconfig", s.env.Cluster.Kubeconfig,
			"--updates", strconv.Itoa(updates), "--profile", b.opts.profile)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
		var first intake
		if err := c.read(&first); err != nil {
			return nil, err
		}
		if first.Objects != n {
			return nil, fmt.Errorf("the %s watch has %d objects, want %d", kind, first.Objects, n)
		}
		of[kind] = costs{first: first, second: intake{PeakRSS: first.PeakRSS}}
	}
	if updates == 0 {
		return of, nil
	}
	if err := s.touchDeployments(ctx, n-updates, n); err != nil {
		return nil, err
	}
	for i, c := range children {
		var second intake
		if err := c.read(&second); err != nil {
			return nil, err
		}
		of[kinds[i]] = costs{of[kinds[i]].first, second}
	}
	return of, nil
}

// child is a process of this program that runs another command.
type child struct {
	name    string
	command *exec.Cmd
	output  *json.Decoder
}

// startChild starts this program with a hidden command and its flags.
func (b *bench) startChild(ctx context.Context, command string, flags ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	c := &child{name: command, command: exec.CommandContext(ctx, self, append([]string{command}, flags...)...)}
	c.command.Stderr = os.Stderr
	output, err := c.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to the %s process: %w", c.name, err)
	}
	c.output = json.NewDecoder(output)
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("start the %s process: %w", c.name, err)
	}
	return c, nil
}

// read reads the next line that the process writes.
func (c *child) read(into any) error {
	if err := c.output.Decode(into); err != nil {
		return errors.Join(fmt.Errorf("hear from the %s process: %w", c.name, err), c.command.Wait())
	}
	return nil
}

// end stops the process if it still runs.
func (c *child) end() {
	_ = c.command.Process.Kill()
	_ = c.command.Wait()
}
