package cluster

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestVersionsMatchBuildModules compares the constants with the go.mod files. The constants name the build cache, but
// the go.mod files determine the build.
func TestVersionsMatchBuildModules(t *testing.T) {
	for _, test := range []struct{ module, requirement string }{
		{"programs", "k8s.io/kubernetes " + KubernetesVersion},
		{"programs", "go.etcd.io/etcd/server/v3 " + EtcdVersion},
		{"programs", "sigs.k8s.io/kwok " + KWOKVersion},
		{"programs", "sigs.k8s.io/metrics-server " + MetricsServerVersion},
		{"programs", "k8s.io/autoscaler/vertical-pod-autoscaler " + VPAVersion},
		{"programs", "helm.sh/helm/v4 " + HelmVersion},
		{"prometheus", "github.com/prometheus/prometheus " + PrometheusVersion},
	} {
		raw, err := os.ReadFile(filepath.Join("build", test.module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), "\t"+test.requirement+" // indirect\n") {
			t.Errorf("build/%s/go.mod does not require %s", test.module, test.requirement)
		}
	}
}

func TestStagingRepositoriesMatchRelease(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("build", "programs", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	want := "v0" + strings.TrimPrefix(KubernetesVersion, "v1")
	replaced := 0
	for line := range strings.Lines(string(raw)) {
		from, to, ok := strings.Cut(strings.TrimSpace(line), " => ")
		if !ok {
			continue
		}
		replaced++
		if to != from+" "+want {
			t.Errorf("%s is replaced by %q, want %s", from, to, want)
		}
	}
	if replaced < 30 {
		t.Errorf("%d staging repositories are replaced, want all of more than 30", replaced)
	}
}

func TestSelectComponents(t *testing.T) {
	for _, test := range []struct {
		level Level
		with  []string
		want  string
	}{
		{level: LevelAPI, want: "etcd kube-apiserver kubectl"},
		{level: LevelAPI, with: []string{"helm"}, want: "etcd kube-apiserver kubectl helm"},
		{level: LevelWorkloads, with: []string{"kwok"}, want: "etcd kube-apiserver kubectl kube-controller-manager kube-scheduler kwok"},
		{level: LevelMetrics, want: "etcd kube-apiserver kubectl kube-controller-manager kube-scheduler kwok metrics-server vpa-recommender"},
	} {
		selected, err := selectComponents(test.level, test.with)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range selected {
			names = append(names, c.binary)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("level %s with %v needs %s, want %s", test.level, test.with, got, test.want)
		}
	}
}

func TestSourceEditsApplyOrFail(t *testing.T) {
	for _, test := range []struct {
		name     string
		edit     func(string) (string, error)
		in, want string
	}{
		{
			name: "hold, the first stage only", edit: holdable,
			in: "  selector:\n    matchExpressions:\n    - key: a\n---\n    matchExpressions:\n    - key: b\n",
			want: "  selector:\n    matchExpressions:\n    - key: '.metadata.annotations[\"" + HoldAnnotation +
				"\"]'\n      operator: 'DoesNotExist'\n    - key: a\n---\n    matchExpressions:\n    - key: b\n",
		},
		{
			name: "no zeros", edit: aboveZero,
			in: "    value: 'pod.CumulativeUsage(\"cpu\", container.name)'\n    value: 'pod.Usage(\"memory\")'\n    value: " +
				"'node.Usage(\"memory\")'\n",
			want: "    value: 'pod.CumulativeUsage(\"cpu\", container.name) + 1.0'\n    value: 'pod.Usage(\"memory\")'\n    value: " +
				"'node.Usage(\"memory\") + 1048576.0'\n",
		},
	} {
		got, err := test.edit(test.in)
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
		if _, err := test.edit("kind: Other\n"); err == nil {
			t.Errorf("%s: a text without the place to edit is no error", test.name)
		}
	}
}

func TestBinariesOfKubebuilder(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	for name, mode := range map[string]os.FileMode{binEtcd: 0o755, binKubectl: 0o644, binKWOK: 0o755} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]bool{binEtcd: true} // kubectl cannot run; kwok has additional files
	for _, c := range components() {
		if path, ok := provided(c); ok != want[c.binary] {
			t.Errorf("%s is provided: %v (%s), want %v", c.binary, ok, path, want[c.binary])
		}
	}
}

func TestPortsAreNotGivenTwice(t *testing.T) {
	one, err := newPorts()
	if err != nil {
		t.Fatal(err)
	}
	two := &ports{dir: one.dir}
	defer one.release()
	defer two.release()
	seen := map[int]bool{}
	for range 20 {
		for _, p := range []*ports{one, two} {
			port, err := p.take()
			if err != nil {
				t.Fatal(err)
			}
			if port < firstPort || port > lastPort || seen[port] {
				t.Errorf("port %d is out of range or given twice", port)
			}
			seen[port] = true
		}
	}
}

func TestLockWaitsForItsHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, ok, err := tryLock(path)
	if err != nil || !ok {
		t.Fatalf("take a free lock: %v, %v", ok, err)
	}
	waiting, stopped := make(chan struct{}), make(chan struct{})
	wait := func() func() {
		close(waiting)
		return func() { close(stopped) }
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := waitLock(ctx, path, func() func() { return func() {} }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait for a held lock: %v, want the deadline", err)
	}
	go func() {
		<-waiting
		held.Close()
	}()
	got, err := waitLock(t.Context(), path, wait)
	if err != nil {
		t.Fatal(err)
	}
	<-stopped
	got.Close()
}

func TestBuildCountsTheCompiledPackages(t *testing.T) {
	source, dir := t.TempDir(), t.TempDir()
	never := strconv.FormatInt(time.Now().UnixNano(), 10) // so that the go command's cache lacks all three packages
	for file, text := range map[string]string{
		"go.mod":    "module example.com/tool\n\ngo 1.26.0\n",
		"main.go":   "package main\n\nimport (\n_ \"example.com/tool/a\"\n_ \"example.com/tool/b\"\n)\n\nfunc main() {}\n",
		"a/file.go": "package a\n\nconst A = " + never + "\n",
		"b/file.go": "package b\n\nconst B = " + never + "\n",
	} {
		path := filepath.Join(source, "build", "tool", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var packages counter
	if said := packages.String(); said != "" {
		t.Errorf("before the build: %q", said)
	}
	b := &builder{dir: dir, source: source, log: io.Discard}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := b.build(t.Context(), component{binary: "tool", module: "tool", pkg: "example.com/tool"}, &packages); err != nil {
		t.Fatal(err)
	}
	if said := packages.String(); said != "package 3 of 3, " {
		t.Errorf("after the build: %q", said)
	}
}
