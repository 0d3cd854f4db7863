package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// BuildOptions select the binaries.
type BuildOptions struct {
	// Level selects the binaries; default LevelAPI.
	Level Level
	// With names further binaries, for example "helm".
	With []string
	// Source is the directory of this module; default: found upwards from the working directory. It is needed only if a
	// binary must be built.
	Source string
	// Log receives progress; default: none.
	Log io.Writer
}

// Binaries are executable files.
type Binaries struct {
	paths map[string]string
	share string
}

// Path returns the absolute path of a binary, for example "kubectl".
func (b *Binaries) Path(name string) (string, error) {
	path, ok := b.paths[name]
	if !ok {
		return "", fmt.Errorf("binary %q was not asked for", name)
	}
	return path, nil
}

// Build returns the binaries. Missing binaries are built once into the user's cache directory, in a directory named
// after the versions and the Go release; concurrent callers wait for the build. Binaries in the directory
// KUBEBUILDER_ASSETS are used from there.
func Build(ctx context.Context, opts BuildOptions) (*Binaries, error) {
	if opts.Level == "" {
		opts.Level = LevelAPI
	}
	if opts.Log == nil {
		opts.Log = io.Discard
	}
	wanted, err := selectComponents(opts.Level, opts.With)
	if err != nil {
		return nil, err
	}
	b := &builder{source: opts.Source, log: opts.Log}
	if b.dir, b.apart, err = buildDirs(ctx); err != nil {
		return nil, err
	}
	result := &Binaries{paths: map[string]string{}, share: b.share()}
	var missing []component
	for _, c := range wanted {
		if path, ok := provided(c); ok {
			result.paths[c.binary] = path
			fmt.Fprintf(opts.Log, "%s is taken from KUBEBUILDER_ASSETS\n", c.binary)
			continue
		}
		result.paths[c.binary] = b.target(c)
		if !b.complete(c) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return result, nil
	}
	if err := b.buildAll(ctx, missing); err != nil {
		return nil, err
	}
	return result, nil
}

// provided finds a binary in the usual directory of Kubernetes tools.
func provided(c component) (string, bool) {
	dir := os.Getenv("KUBEBUILDER_ASSETS")
	if dir == "" || len(c.assets) > 0 {
		return "", false
	}
	path, err := filepath.Abs(filepath.Join(dir, c.binary))
	if err != nil {
		return "", false
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// CacheDir returns the root directory of all files of this package.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory: %w", err)
	}
	return filepath.Join(base, "flyball"), nil
}

// buildDirs returns two directories. together is for a set of versions, a Go release and a recipe. apart is the parent
// directory of binaries that have directories of their own.
func buildDirs(ctx context.Context) (together, apart string, err error) {
	cache, err := CacheDir()
	if err != nil {
		return "", "", err
	}
	goVersion := runtime.Version()
	if out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output(); err == nil {
		goVersion = strings.TrimSpace(string(out))
	}
	hash := sha256.New()
	for _, c := range components() {
		if c.apart {
			continue
		}
		fmt.Fprintln(hash, c.binary, c.pkg, c.version, c.ldflags)
		for _, a := range c.assets {
			fmt.Fprintln(hash, a.file, a.sources)
		}
	}
	fmt.Fprintln(hash, goVersion, runtime.GOOS, runtime.GOARCH)
	key := fmt.Sprintf("kubernetes-%s-%s-%s", KubernetesVersion, goVersion, hex.EncodeToString(hash.Sum(nil))[:10])
	return filepath.Join(cache, key), filepath.Join(cache, "apart", fmt.Sprintf("%s-%s-%s", goVersion, runtime.GOOS, runtime.GOARCH)), nil
}

type builder struct {
	dir    string
	apart  string
	source string
	log    io.Writer
}

func (b *builder) share() string { return filepath.Join(b.dir, "share") }
func (b *builder) target(c component) string {
	if c.apart {
		return filepath.Join(b.apart, c.module+"-"+c.version, c.binary)
	}
	return filepath.Join(b.dir, "bin", c.binary)
}

func (b *builder) complete(c component) bool {
	files := []string{b.target(c)}
	for _, a := range c.assets {
		files = append(files, filepath.Join(b.share(), a.file))
	}
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			return false
		}
	}
	return true
}

func (b *builder) buildAll(ctx context.Context, missing []component) error {
	if b.source == "" {
		source, err := FindSource()
		if err != nil {
			return fmt.Errorf("build %s: %w", missing[0].binary, err)
		}
		b.source = source
	}
	for _, dir := range []string{filepath.Join(b.dir, "bin"), b.share()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make the build cache: %w", err)
		}
	}
	lock, err := waitLock(ctx, filepath.Join(b.dir, "build.lock"), func() func() {
		return progress(b.log, "waiting for another process that builds the cluster's binaries", nil)
	})
	if err != nil {
		return err
	}
	defer lock.Close()
	for i, c := range missing {
		if b.complete(c) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(b.target(c)), 0o755); err != nil {
			return fmt.Errorf("make the build cache: %w", err)
		}
		var packages counter
		label := fmt.Sprintf("building %s %s (%d of %d; the first time this takes minutes)", c.binary, c.version, i+1, len(missing))
		stop := progress(b.log, label, packages.String)
		err := b.build(ctx, c, &packages)
		stop()
		if err != nil {
			return fmt.Errorf("build %s %s: %w", c.binary, c.version, err)
		}
	}
	return nil
}

// build compiles one binary to a temporary name and renames it, so that an existing binary is always complete. It counts
// the compiled packages.
func (b *builder) build(ctx context.Context, c component, packages *counter) error {
	dir := filepath.Join(b.source, "build", c.module)
	aside := b.target(c) + ".tmp"
	defer os.Remove(aside)
	flags := []string{"-mod=readonly", "-trimpath", "-tags", c.tags,
		"-ldflags", strings.Join(append([]string{"-s", "-w"}, c.ldflags...), " ")}
	// With the flags of the build, the go command knows which packages its cache lacks.
	stale, err := runGo(ctx, dir, nil, slices.Concat([]string{"list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, flags,
		[]string{c.pkg})...)
	if err != nil {
		return err
	}
	packages.all.Store(int64(len(strings.Fields(stale))))
	if _, err := runGo(ctx, dir, packages, slices.Concat([]string{"build", "-v", "-buildvcs=false", "-p", strconv.Itoa(runtime.NumCPU())},
		flags, []string{"-o", aside, c.pkg})...); err != nil {
		return err
	}
	for _, a := range c.assets {
		out, err := runGo(ctx, dir, nil, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", a.module)
		if err != nil {
			return err
		}
		if err := writeAsset(a, strings.TrimSpace(out), b.share()); err != nil {
			return err
		}
	}
	if err := os.Rename(aside, b.target(c)); err != nil {
		return fmt.Errorf("put the binary in place: %w", err)
	}
	return nil
}

// counter counts the packages that the go command compiles. With the flag -v it prints the import path of each on a line
// of standard error as it begins.
type counter struct{ begun, all atomic.Int64 }

// Write implements io.Writer for the standard error of the go command.
func (c *counter) Write(text []byte) (int, error) {
	c.begun.Add(int64(bytes.Count(text, []byte("\n"))))
	return len(text), nil
}

// String returns the progress, or "" before the number of packages is known.
func (c *counter) String() string {
	all := c.all.Load()
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("package %d of %d, ", min(c.begun.Load(), all), all)
}

// runGo runs the go command for this machine, even if the caller cross-compiles. packages counts the lines of its standard
// error, if it is not nil.
func runGo(ctx context.Context, dir string, packages *counter, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if packages != nil {
		cmd.Stderr = io.MultiWriter(&stderr, packages)
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s in %s: %w\n%s", args[0], dir, err, lastLines(stderr.String(), 30))
	}
	return stdout.String(), nil
}

// progress reports the current work, now and every 15 seconds until stopped, with the part that is done if part is not nil.
func progress(log io.Writer, work string, part func() string) (stop func()) {
	began := time.Now()
	if part == nil {
		part = func() string { return "" }
	}
	fmt.Fprintln(log, work)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(15 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				fmt.Fprintf(log, "%s: %s%d s\n", work, part(), int(time.Since(began).Seconds()))
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// lastLines returns at most the last n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
