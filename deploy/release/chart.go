package release

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"flyball.dev/flyball/deploy"
)

// Chart returns the packaged chart, with the version of the release and its image.
func (o Options) Chart() ([]byte, error) {
	dir := filepath.Join(o.Root, filepath.Dir(deploy.ChartFile))
	image := [][2]string{{"\n  repository: flyball\n", "\n  repository: " + o.Image + "\n"}}
	changed := map[string][][2]string{
		"Chart.yaml": {
			{"\nversion: 0.1.0\n", "\nversion: " + o.Version[1:] + "\n"}, {"\nappVersion: dev\n", "\nappVersion: " + o.Version + "\n"},
			{"- image: " + deploy.DevelopmentImage + "\n", "- image: " + o.Image + ":" + o.Version + "\n"},
		},
		"values.yaml": image, "files/defaults.yaml": image,
	}
	var files []entry
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		for _, change := range changed[name] {
			if bytes.Count(text, []byte(change[0])) != 1 {
				return fmt.Errorf("%s must have %q once", name, strings.TrimSpace(change[0]))
			}
			text = bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1)
		}
		files = append(files, entry{path.Join("flyball", name), 0o644, text})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	return pack(files, o.Time)
}

// developmentDownloads is the address of the archives in the template of the Krew manifest.
const developmentDownloads = "https://flyball.dev/releases"

// krew returns the Krew manifest. sums has the checksums of the archives by the names of the archives.
func (o Options) krew(sums map[string]string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(o.Root, "deploy/krew/flyball.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the template of the Krew manifest: %w", err)
	}
	_, body, _ := strings.Cut(string(text), "apiVersion:") // the comment before it is about the template only
	fill := func(address, tag string) (string, error) {
		address = strings.NewReplacer(developmentDownloads, o.Downloads, "{{ .TagName }}", tag).Replace(address)
		of, found := sums[path.Base(address)]
		if !found {
			return "", fmt.Errorf("there is no archive %s", path.Base(address))
		}
		return "uri: " + address + "\n    sha256: " + of, nil
	}
	manifest, err := template.New("krew").Funcs(template.FuncMap{"addURIAndSha": fill}).Parse("apiVersion:" + body)
	if err != nil {
		return nil, fmt.Errorf("parse the Krew manifest: %w", err)
	}
	var out bytes.Buffer
	if err := manifest.Execute(&out, map[string]string{"TagName": o.Version}); err != nil {
		return nil, fmt.Errorf("fill in the Krew manifest: %w", err)
	}
	return out.Bytes(), nil
}
