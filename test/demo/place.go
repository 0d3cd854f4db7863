package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"flyball.dev/flyball/test/local"
)

// namespace is the demo's namespace.
const namespace = "flyball-demo"

// place is the cluster of the demo.
type place struct {
	config *rest.Config
	// kubectl and kubeconfig are paths.
	kubectl, kubeconfig string
	// root is the repository's root, the working directory of kubectl.
	root string
	// cluster is the local control plane, or nil for the user's cluster.
	cluster *local.Cluster
}

// repository returns the root of the repository, found by its go.mod.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		raw, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(raw, []byte("module flyball.dev/flyball\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the repository: run the demo from within it")
		}
		dir = filepath.Dir(dir)
	}
}

// openLocal starts a local control plane.
func openLocal(ctx context.Context, root string, log io.Writer) (*place, error) {
	options := local.Options{Level: local.LevelWorkloads, Audit: true, Log: log}
	if haproxy() != "" {
		options.With = []string{"prometheus"} // for the part that needs both
	}
	cluster, err := local.Up(ctx, options)
	if err != nil {
		return nil, err
	}
	return &place{config: cluster.Config(), kubectl: cluster.Bin("kubectl"), kubeconfig: cluster.Kubeconfig, root: root, cluster: cluster}, nil
}

// command returns kubectl with arguments, in the repository.
func (p *place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.kubectl, args...)
	cmd.Dir = p.root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	return cmd
}

// run runs kubectl and returns its output. An error has kubectl's message.
func (p *place) run(ctx context.Context, args ...string) (string, error) {
	cmd := p.command(ctx, args...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(words.String()))
	}
	return out.String(), nil
}

// try runs kubectl as on a terminal. It returns all output, and whether kubectl succeeded. The error means that kubectl
// could not be run.
func (p *place) try(ctx context.Context, args ...string) (printed string, well bool, err error) {
	raw, err := p.command(ctx, args...).CombinedOutput()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case err != nil && !errors.As(err, &failed):
		return "", false, fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(raw)), err == nil, nil
}

// demo runs kubectl in the demo's namespace.
func (p *place) demo(ctx context.Context, args ...string) (string, error) {
	return p.run(ctx, append([]string{"--namespace", namespace}, args...)...)
}

// manifest returns the path of one of the demo's files.
func manifest(name string) string { return filepath.Join("test", "demo", "manifests", name) }

// files returns YAML files below a directory of the repository, selected by a pattern on their names.
func (p *place) files(dir, pattern string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(filepath.Join(p.root, dir), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if ok, err := filepath.Match(pattern, entry.Name()); !ok || err != nil {
			return err
		}
		rel, err := filepath.Rel(p.root, path)
		out = append(out, rel)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find %s in %s: %w", pattern, dir, err)
	}
	return out, nil
}

// applyAll applies files in one call of kubectl.
func (p *place) applyAll(ctx context.Context, files []string, args ...string) error {
	args = append([]string{"apply"}, args...)
	for _, f := range files {
		args = append(args, "-f", f)
	}
	_, err := p.run(ctx, args...)
	return err
}

// established waits until the CRDs in the files are served.
func (p *place) established(ctx context.Context, files []string) error {
	args := []string{"wait", "--for=condition=Established", "--timeout=30s"}
	for _, f := range files {
		args = append(args, "-f", f)
	}
	_, err := p.run(ctx, args...)
	return err
}
