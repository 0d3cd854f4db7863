package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/test/harness"
)

// project is the content of project.yaml.
type project struct {
	Name string `json:"name"`
	// Kinds are folders below adapters/.
	Kinds []string `json:"kinds"`
	// Level is the level of the local control plane, without it workloads.
	Level string `json:"level"`
	// Module is the project's module, at the version that go.mod in the folder pins. Empty: the local control plane has the controllers.
	Module string `json:"module"`
	// Removes are patterns of files of the module that are left out of the build.
	Removes []string `json:"removes"`
	// Edits are replaced before the build, in files of the module: paths that belong to an image.
	Edits []replacement `json:"edits"`
	// Programs are the started main packages.
	Programs []program `json:"programs"`
	// Manifests are patterns of files in the module: CustomResourceDefinitions and webhooks.
	Manifests []string `json:"manifests"`
	// Objects is a YAML text of further objects.
	Objects string `json:"objects"`
	// Config is written to $DIR/config.yaml.
	Config string `json:"config"`
	// Files are packed by their paths into an archive (tar, gzip) and served at $ARTIFACT, with the SHA-256 $DIGEST.
	Files map[string]string `json:"files"`

	dir, version, work string
	port               int
	cert               []byte
	running            []*process
	ended              error // of a program that was not stopped
	log                *os.File
	artifact           *artifact
	binaries           []string
}

// program is one process. In Args, Env and Config, $DIR is a folder with ca.crt, tls.crt, tls.key and config.yaml, $PORT the port of
// webhooks and $KUBECONFIG the file of an administrator.
type program struct {
	Package string   `json:"package"`
	Args    []string `json:"args"`
	Env     []string `json:"env"`
}

// process is a running program.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// replacement replaces the one occurrence of a text in a file of the module.
type replacement struct {
	File string `json:"file"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

func load(file string) (*project, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the project: %w", err)
	}
	p := &project{dir: filepath.Dir(file)}
	if err := yaml.UnmarshalStrict(text, p); err != nil {
		return nil, fmt.Errorf("decode %s: %w", file, err)
	}
	return p, nil
}

func (p *project) with() string { return p.Name + " " + strings.TrimPrefix(p.version, "v") }

// manifests returns the files of a kind: those in the folder of the project, or without one those of the kind's own controllers.
func (p *project) manifests(root, kind string) ([]string, error) {
	real := filepath.Join(root, "adapters", kind, "real")
	for _, dir := range []string{filepath.Join(real, filepath.Base(p.dir)), real} {
		if files, err := filepath.Glob(filepath.Join(dir, "*.yaml")); err != nil || len(files) > 0 {
			return files, err
		}
	}
	return nil, fmt.Errorf("%s has no manifests in %s", kind, real)
}

// build builds the programs and prepares their files. The module's version and manifests are those of go.mod.
func (p *project) build(ctx context.Context, root string) (err error) {
	out := filepath.Join(root, "bin", "controllers")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the folder of programs: %w", err)
	}
	// Before its download, go list has no directory of a module.
	if _, err := p.command(ctx, "mod", "download", p.Module); err != nil {
		return err
	}
	found, err := p.command(ctx, "list", "-m", "-f", "{{.Version}} {{.Dir}}", p.Module)
	if err != nil {
		return err
	}
	version, module, _ := strings.Cut(strings.TrimSpace(found), " ")
	p.version = version
	for i, m := range p.Manifests {
		p.Manifests[i] = filepath.Join(module, m)
	}
	if err := p.files(); err != nil {
		return err
	}
	modfile, err := p.edit(module)
	if err != nil {
		return err
	}
	for i, program := range p.Programs {
		binary := filepath.Join(out, filepath.Base(p.dir)+"-"+strconv.Itoa(i))
		if _, err := p.command(ctx, "build", "-trimpath", "-buildvcs=false", "-modfile", modfile, "-o", binary, program.Package); err != nil {
			return err
		}
		p.binaries = append(p.binaries, binary)
	}
	if p.log, err = os.Create(filepath.Join(out, filepath.Base(p.dir)+".log")); err != nil {
		return fmt.Errorf("make the log: %w", err)
	}
	return nil
}

// edit makes the removals and edits in a copy of the module, and returns the go.mod that builds with it.
func (p *project) edit(module string) (string, error) {
	if len(p.Removes)+len(p.Edits) == 0 {
		return filepath.Join(p.dir, "go.mod"), nil
	}
	source := filepath.Join(p.work, "source")
	if err := os.CopyFS(source, os.DirFS(module)); err != nil {
		return "", fmt.Errorf("copy the module: %w", err)
	}
	for _, pattern := range p.Removes {
		files, err := filepath.Glob(filepath.Join(source, pattern))
		if err != nil || len(files) == 0 {
			return "", fmt.Errorf("find %s: %d files, %w", pattern, len(files), err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				return "", fmt.Errorf("remove a file of the module: %w", err)
			}
		}
	}
	for _, e := range p.Edits {
		file := filepath.Join(source, e.File)
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read a file of the module: %w", err)
		}
		if n := strings.Count(string(text), e.Old); n != 1 {
			return "", fmt.Errorf("replace %s in %s: it is there %d times", e.Old, e.File, n)
		}
		text = []byte(strings.Replace(string(text), e.Old, e.New, 1))
		if err := errors.Join(os.Remove(file), os.WriteFile(file, text, 0o600)); err != nil {
			return "", fmt.Errorf("edit a file of the module: %w", err)
		}
	}
	modfile := source + ".mod"
	text, err := os.ReadFile(filepath.Join(p.dir, "go.mod"))
	sum, err2 := os.ReadFile(filepath.Join(p.dir, "go.sum"))
	text = fmt.Appendf(text, "\nreplace %s => %s\n", p.Module, source)
	if err := errors.Join(err, err2, os.WriteFile(modfile, text, 0o600), os.WriteFile(source+".sum", sum, 0o600)); err != nil {
		return "", fmt.Errorf("write the go.mod of the copy: %w", err)
	}
	return modfile, nil
}

// files makes the certificate of the webhooks and finds a free port.
func (p *project) files() (err error) {
	if p.work, err = os.MkdirTemp("", "flyball-controllers-"); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	if p.port, err = harness.Port(); err != nil {
		return err
	}
	var key []byte
	if p.cert, key, err = cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil); err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	for name, text := range map[string][]byte{"ca.crt": p.cert, "tls.crt": p.cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(p.work, name), text, 0o600); err != nil {
			return fmt.Errorf("write the certificate: %w", err)
		}
	}
	return nil
}

// command runs the go command in the project's module, for this machine.
func (p *project) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), p.dir, err, stderr.String())
	}
	return stdout.String(), nil
}

// install applies the objects of the project. Webhooks are called at this machine's address.
func (p *project) install(ctx context.Context, env *harness.Env) error {
	texts := [][]byte{[]byte(p.Objects)}
	for _, pattern := range p.Manifests {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			return fmt.Errorf("find %s: %d files, %w", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("read a manifest: %w", err)
			}
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		objs, err := harness.Objects(text)
		if err != nil {
			return err
		}
		for _, obj := range objs {
			p.redirect(obj)
			if err := env.Client.Create(ctx, obj); err != nil {
				return fmt.Errorf("create %s %s: %w", obj.GetKind(), obj.GetName(), err)
			}
		}
	}
	return env.AwaitCRDs(ctx)
}

// redirect replaces the Services of webhooks by an address of this machine.
func (p *project) redirect(obj *unstructured.Unstructured) {
	hooks, _, _ := unstructured.NestedSlice(obj.Object, "webhooks")
	for _, hook := range hooks {
		path, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "path")
		hook.(map[string]any)["clientConfig"] = map[string]any{
			"url": fmt.Sprintf("https://127.0.0.1:%d%s", p.port, path), "caBundle": base64.StdEncoding.EncodeToString(p.cert)}
	}
	if len(hooks) > 0 {
		obj.Object["webhooks"] = hooks
	}
}

// start starts the programs. Their output goes to bin/controllers.
func (p *project) start(kubeconfig string) error {
	expand := func(text string) string {
		return os.Expand(text, func(name string) string {
			return map[string]string{"DIR": p.work, "PORT": strconv.Itoa(p.port), "KUBECONFIG": kubeconfig}[name]
		})
	}
	if err := os.WriteFile(filepath.Join(p.work, "config.yaml"), []byte(expand(p.Config)), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	for i, program := range p.Programs {
		cmd := exec.Command(p.binaries[i])
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "POD_NAMESPACE="+harness.Namespace)
		for _, arg := range program.Args {
			cmd.Args = append(cmd.Args, expand(arg))
		}
		for _, value := range program.Env {
			cmd.Env = append(cmd.Env, expand(value))
		}
		cmd.Stdout, cmd.Stderr = p.log, p.log
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start %s: %w", program.Package, err)
		}
		started := &process{cmd: cmd, done: make(chan struct{})}
		p.running = append(p.running, started)
		go func() {
			_ = cmd.Wait()
			close(started.done)
		}()
	}
	return nil
}

// stop kills the programs. A program that has ended before is a fault of the trial: nothing acted on its kinds.
func (p *project) stop() {
	for _, started := range p.running {
		select {
		case <-started.done:
			p.ended = errors.Join(p.ended, fmt.Errorf("%s has ended by itself: %s", started.cmd.Path, started.cmd.ProcessState))
		default:
			_ = started.cmd.Process.Kill()
			<-started.done
		}
	}
	p.running = nil
}

// down kills the project's controllers.
func (p *project) down(env *harness.Env) error {
	if p.Module == "" {
		return env.Cluster.StopControllers()
	}
	p.stop()
	return nil
}

// up starts the project's controllers again.
func (p *project) up(env *harness.Env) error {
	if p.Module == "" {
		return env.Cluster.StartControllers()
	}
	return p.start(env.Cluster.Kubeconfig)
}

// end stops the programs, and takes the project's files away.
func (p *project) end() {
	p.stop()
	if p.artifact != nil {
		p.artifact.end()
	}
	_ = os.RemoveAll(p.work)
}

// prepare installs a project and starts its programs.
func (p *project) prepare(ctx context.Context, env *harness.Env) error {
	if p.Module == "" {
		server, err := discovery.NewDiscoveryClientForConfig(env.Config)
		if err != nil {
			return fmt.Errorf("make a client of the API server: %w", err)
		}
		version, err := server.ServerVersion()
		if err != nil {
			return fmt.Errorf("read the API server's version: %w", err)
		}
		p.version = version.GitVersion
		return nil
	}
	if err := p.build(ctx, env.Root); err != nil {
		return err
	}
	if len(p.Files) > 0 {
		var err error
		if p.artifact, err = serveArtifact(p.Files); err != nil {
			return err
		}
	}
	if err := p.install(ctx, env); err != nil {
		return err
	}
	return p.start(env.Cluster.Kubeconfig)
}
