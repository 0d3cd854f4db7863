package release

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// versionPackage has the variables that the linker sets.
const versionPackage = "flyball.dev/flyball/cmd/version"

// build returns the program of a package for a platform, and writes its bill of materials.
func (o Options) build(pkg string, p Platform) ([]byte, error) {
	dir, err := os.MkdirTemp("", "flyball-release-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Base(pkg)
	program := filepath.Join(dir, name)
	// The state of the checkout is not part of the program: -X sets the commit, and a build from a source archive gives
	// the same bytes.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		fmt.Sprintf("-s -w -X %[1]s.Version=%[2]s -X %[1]s.Revision=%[3]s", versionPackage, o.Version, o.Revision), "-o", program, pkg)
	cmd.Dir = o.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath", "GOOS="+p.OS, "GOARCH="+p.Arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s for %s: %w\n%s", name, p, err, out)
	}
	if o.Inventory != "" {
		bill := filepath.Join(o.Dir, name+"_"+p.String()+".cdx.json")
		cmd := exec.Command(o.Inventory, "bin", "-json", "-std", "-noserial", "-notimestamp", "-version", o.Version, "-output", bill, program)
		cmd.Dir = o.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("list the modules of %s: %w\n%s", name, err, out)
		}
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read a program: %w", err)
	}
	return text, nil
}

func archiveName(p Platform) string { return "kubectl-flyball_" + p.String() + ".tar.gz" }

// Archive returns the archive of kubectl-flyball for a platform: the plugin, its completion and the licences.
func (o Options) Archive(p Platform) ([]byte, error) {
	program, err := o.build("./cmd/kubectl-flyball", p)
	if err != nil {
		return nil, err
	}
	name := "kubectl-flyball"
	if p.OS == "windows" {
		name += ".exe"
	}
	entries := []entry{{name, 0o755, program}}
	for _, f := range []struct {
		file string
		mode int64
	}{{"LICENSE", 0o644}, {"engine/policy/times/UNICODE-LICENSE.txt", 0o644}, {"deploy/krew/kubectl_complete-flyball", 0o755}} {
		text, err := os.ReadFile(filepath.Join(o.Root, f.file))
		if err != nil {
			return nil, fmt.Errorf("read a file of the archive: %w", err)
		}
		entries = append(entries, entry{filepath.Base(f.file), f.mode, text})
	}
	return pack(entries, o.Time)
}
