package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// ask compares the answers of kubectl flyball at an instant with those that the manifest has.
func (r *run) ask(ctx context.Context, s *scenario, at time.Time) (faults error) {
	cache, err := os.MkdirTemp("", "flyball-controllers-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(cache) }()
	for line := range strings.Lines(s.objects[0].GetAnnotations()[says]) {
		question, want, isPair := strings.Cut(strings.TrimSpace(line), " => ")
		if !isPair {
			return fmt.Errorf("%q lacks =>", line)
		}
		var out bytes.Buffer
		args := append(strings.Fields(question), "-n", s.namespace, "--kubeconfig", r.env.Cluster.Kubeconfig, "--cache-dir", cache)
		cli.Run(ctx, args, factory.Env{Now: func() time.Time { return at },
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}})
		if !strings.Contains(out.String(), want) {
			faults = errors.Join(faults, fmt.Errorf("kubectl flyball %s does not say %q:\n%s", question, want, out.String()))
		}
	}
	return faults
}
