// Package release makes the files of a release from the repository: an archive of kubectl-flyball for each platform,
// the image as an OCI layout, the packaged chart, install.yaml, the Krew manifest, bills of materials and checksums.
// For the same commit, version and Go toolchain it makes the same bytes, in any directory and at any time. It publishes
// nothing.
package release

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"flyball.dev/flyball/deploy"
)

// Platform is an operating system and an architecture, as GOOS and GOARCH.
type Platform struct{ OS, Arch string }

func (p Platform) String() string { return p.OS + "_" + p.Arch }

// Platforms are the platforms of kubectl-flyball. ImagePlatforms are the platforms of the image.
var (
	Platforms      = []Platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}
	ImagePlatforms = []Platform{{"linux", "amd64"}, {"linux", "arm64"}}
)

// Options describe a release.
type Options struct {
	// Root is the directory of the repository. Dir is an empty directory for the files.
	Root, Dir string
	// Version has the form v1.2.3 or v1.2.3-rc.1. Revision is the commit.
	Version, Revision string
	// Image is the repository of the image, with the registry's host.
	Image string
	// Downloads is the address below which the archives will be published: <Downloads>/<Version>/<archive>.
	Downloads string
	// Time is the time of the commit. All files in archives and images get this time.
	Time time.Time
	// Inventory is the program cyclonedx-gomod. Without it there are no bills of materials.
	Inventory string
	// Say is called with each step.
	Say func(step string)
}

var versionRE = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// Validate returns an error if no release can be made with the options.
func (o Options) Validate() error {
	if !versionRE.MatchString(o.Version) {
		return fmt.Errorf("the version %q has not the form v1.2.3", o.Version)
	}
	if o.Image == "" || o.Downloads == "" || o.Time.IsZero() {
		return errors.New("give the image, the address of the downloads and the time of the commit")
	}
	files, err := os.ReadDir(o.Dir)
	if err != nil {
		return fmt.Errorf("read the directory of the release: %w", err)
	}
	if len(files) > 0 {
		return fmt.Errorf("%s is not empty: remove it first", o.Dir)
	}
	return nil
}

// Make writes all files of a release.
func (o Options) Make() error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := o.checkChangelog(); err != nil {
		return err
	}
	sums := map[string]string{}
	for _, p := range Platforms {
		o.Say("kubectl-flyball for " + p.String())
		text, err := o.Archive(p)
		if err != nil {
			return err
		}
		sums[archiveName(p)] = sum(text)
		if err := o.write(archiveName(p), text); err != nil {
			return err
		}
	}
	o.Say("image")
	if err := o.image(); err != nil {
		return err
	}
	o.Say("chart, install.yaml, Krew manifest and checksums")
	if err := o.manifests(sums); err != nil {
		return err
	}
	return o.checksums()
}

// checkChangelog checks that the newest section of the changelog is the section of the version, with a date. A
// pre-release needs no section.
func (o Options) checkChangelog() error {
	if strings.Contains(o.Version, "-") {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(o.Root, "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("read the changelog: %w", err)
	}
	heading := regexp.MustCompile(`(?m)^## (.*)$`).FindSubmatch(text)
	if heading == nil || !regexp.MustCompile(`^`+regexp.QuoteMeta(o.Version[1:])+` \([0-9]{4}-[0-9]{2}-[0-9]{2}\)$`).Match(heading[1]) {
		return fmt.Errorf("CHANGELOG.md begins with %q: write %q, with today's date, above the changes of this version", heading,
			"## "+o.Version[1:]+" (2006-01-02)")
	}
	return nil
}

// manifests writes the files that name the image or the archives.
func (o Options) manifests(sums map[string]string) error {
	chart, err := o.Chart()
	if err != nil {
		return err
	}
	install, err := deploy.Install(o.Root, o.Image, o.Version)
	if err != nil {
		return err
	}
	krew, err := o.krew(sums)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"flyball-" + o.Version[1:] + ".tgz": chart, "install.yaml": install, "flyball.yaml": krew} {
		if err := o.write(name, text); err != nil {
			return err
		}
	}
	return nil
}

// checksums writes the SHA-256 sums of all files, as sha256sum --check reads them.
func (o Options) checksums() error {
	var out strings.Builder
	err := filepath.WalkDir(o.Dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(o.Dir, file)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == imageDir {
				return fs.SkipDir // the files of the image are named by their digests
			}
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum(text), filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		return fmt.Errorf("sum the files up: %w", err)
	}
	return o.write("checksums.txt", []byte(out.String()))
}

func (o Options) write(name string, text []byte) error {
	file := filepath.Join(o.Dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	if err := os.WriteFile(file, text, 0o644); err != nil {
		return fmt.Errorf("write a file of the release: %w", err)
	}
	return nil
}

func sum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
