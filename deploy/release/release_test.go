package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// options returns the options of a release of this repository.
func options(t *testing.T) Options {
	return Options{Root: "../..", Dir: t.TempDir(), Version: "v1.2.3", Revision: "4ee1d5ed0c", Image: "registry.example.com/team/flyball",
		Downloads: "https://downloads.example.com", Time: time.Unix(1800000000, 0), Say: func(step string) { t.Log(step) }}
}

// unpack returns the files of an archive by name. All must have the time of the commit and belong to no user.
func unpack(t *testing.T, text []byte, at time.Time) map[string]*tar.Header {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*tar.Header{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(at) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s changed at %s and belongs to %d:%d %q", h.Name, h.ModTime, h.Uid, h.Gid, h.Uname)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		h.PAXRecords = map[string]string{"text": string(body)}
		files[h.Name] = h
	}
}

// sources returns a small repository with a program that has the name of the CLI and prints its version. It builds in
// seconds. make release-dry-run builds the real CLI.
func sources(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	files := map[string]string{
		"go.mod": "module flyball.dev/flyball\n\ngo 1.26.0\n",
		"cmd/kubectl-flyball/main.go": "package main\n\nimport \"flyball.dev/flyball/cmd/version\"\n\n" +
			"func main() { println(version.Version, version.Revision) }\n",
		"cmd/version/version.go": "package version\n\nvar Version, Revision string\n",
	}
	for _, name := range []string{"LICENSE", "engine/policy/times/UNICODE-LICENSE.txt", "deploy/krew/kubectl_complete-flyball"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestArchiveIsReproducible builds an archive from the same sources in two directories, the second under version
// control, and compares the bytes.
func TestArchiveIsReproducible(t *testing.T) {
	here, there := options(t), options(t)
	here.Root, there.Root = sources(t), sources(t)
	commit := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a"}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, commit} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = there.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	p := Platform{"linux", "amd64"}
	first, err := here.Archive(p)
	if err != nil {
		t.Fatal(err)
	}
	second, err := there.Archive(p)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("two builds differ: %s and %s", sum(first), sum(second))
	}
	files := unpack(t, first, here.Time)
	for _, file := range []string{"LICENSE", "engine/policy/times/UNICODE-LICENSE.txt"} {
		license, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if f := files[filepath.Base(file)]; f == nil || f.PAXRecords["text"] != string(license) {
			t.Errorf("the archive lacks %s", file)
		}
	}
	for _, name := range []string{"kubectl-flyball", "kubectl_complete-flyball"} {
		if f := files[name]; f == nil || f.Mode != 0o755 || f.Size == 0 {
			t.Errorf("%s is in the archive as %+v", name, f)
		}
	}
	if len(files) != 4 {
		t.Errorf("the archive has %d files", len(files))
	}
	for _, text := range []string{here.Version, here.Revision} {
		if !strings.Contains(files["kubectl-flyball"].PAXRecords["text"], text) {
			t.Errorf("the program does not know %s", text)
		}
	}
}

// TestImageRunsAsTheDockerfileSays reads the layout by its digests, and compares the configuration of the image with
// the Dockerfile.
func TestImageRunsAsTheDockerfileSays(t *testing.T) {
	o := options(t)
	files := []entry{{"flyball-manager", 0o755, []byte("manager")}, {"kubectl-flyball", 0o755, []byte("pages")},
		{"flyball-hook", 0o755, []byte("hook")}}
	one, err := o.platformImage(files, Platform{"linux", "arm64"})
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	o.blobOf(t, one, &m)
	var config struct {
		OS, Architecture string
		Config           runConfig
		RootFS           struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	o.blobOf(t, *m.Config, &config)
	layer := o.blobOf(t, m.Layers[0], nil)
	plain, err := unzip(layer)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Layers) != 1 || !cmp.Equal(config.RootFS.DiffIDs, []string{"sha256:" + sum(plain)}) || config.Architecture != "arm64" {
		t.Errorf("the image is %+v of %+v", m, config)
	}
	inside := unpack(t, layer, o.Time)
	for _, pkg := range programs {
		if f := inside[filepath.Base(pkg)]; f == nil || f.Mode != 0o755 {
			t.Errorf("%s is in the image as %+v", pkg, f)
		}
	}
	if diff := cmp.Diff(dockerfile(t), config.Config); diff != "" {
		t.Errorf("Dockerfile (-) and image (+) differ:\n%s", diff)
	}
}

// blobOf reads a blob and checks its digest and size.
func (o Options) blobOf(t *testing.T, d descriptor, into any) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.Dir, imageDir, "blobs", "sha256", strings.TrimPrefix(d.Digest, "sha256:")))
	if err != nil {
		t.Fatal(err)
	}
	if "sha256:"+sum(text) != d.Digest || len(text) != d.Size {
		t.Errorf("the blob %s has %d bytes with the sum %s", d.Digest, len(text), sum(text))
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

// dockerfile returns the configuration of the last stage of deploy/docker/Dockerfile, with the values that a release
// gives to its two arguments.
func dockerfile(t *testing.T) runConfig {
	t.Helper()
	text, err := os.ReadFile("../docker/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, stage, _ := strings.Cut(string(text), "FROM scratch")
	stage = strings.NewReplacer("$VERSION", "v1.2.3", "$REVISION", "4ee1d5ed0c").Replace(stage)
	c := runConfig{WorkingDir: "/", Labels: map[string]string{}}
	for _, m := range regexp.MustCompile(`(org\.opencontainers\.image\.\w+)=(?:"([^"]*)"|(\S+))`).FindAllStringSubmatch(stage, -1) {
		c.Labels[m[1]] = m[2] + m[3]
	}
	if m := regexp.MustCompile(`(?m)^USER (\S+)$`).FindStringSubmatch(stage); m != nil {
		c.User = m[1]
	}
	if m := regexp.MustCompile(`(?m)^ENTRYPOINT (\[.*\])$`).FindStringSubmatch(stage); m != nil {
		if err := json.Unmarshal([]byte(m[1]), &c.Entrypoint); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestChartHasTheVersionAndTheImage unpacks the chart. The tests in test/deploy lint and render it.
func TestChartHasTheVersionAndTheImage(t *testing.T) {
	o := options(t)
	first, err := o.Chart()
	if err != nil {
		t.Fatal(err)
	}
	second, err := o.Chart()
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two packages differ, %v", err)
	}
	files := unpack(t, first, o.Time)
	for name, lines := range map[string][]string{
		"flyball/Chart.yaml":          {"\nversion: 1.2.3\n", "\nappVersion: v1.2.3\n", "image: registry.example.com/team/flyball:v1.2.3\n"},
		"flyball/values.yaml":         {"\n  repository: registry.example.com/team/flyball\n"},
		"flyball/files/defaults.yaml": {"\n  repository: registry.example.com/team/flyball\n"},
	} {
		for _, line := range lines {
			if f := files[name]; f == nil || !strings.Contains(f.PAXRecords["text"], line) {
				t.Errorf("%s lacks %q", name, line)
			}
		}
	}
}

func TestNoReleaseWithout(t *testing.T) {
	for reason, change := range map[string]func(*Options){
		"form v1.2.3":               func(o *Options) { o.Version = "0fe53ce" },
		"give the image":            func(o *Options) { o.Image = "" },
		"time of the commit":        func(o *Options) { o.Time = time.Time{} },
		"is not empty":              func(o *Options) { o.Dir = "." },
		"CHANGELOG.md begins with ": func(o *Options) { o.Version = "v99.0.0" },
	} {
		o := options(t)
		change(&o)
		if err := o.Make(); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("got %v, want %q", err, reason)
		}
	}
}
