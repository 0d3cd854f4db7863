package samples

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/test/demo/simclock"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// limit is the time limit for an expectation to come true.
const limit = harness.Patience

// used are the adapters that the samples use. The CRDs of kinds that are not built in are in testdata.
var used = []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "cronjobs.batch", "horizontalpodautoscalers.autoscaling",
	"nodepools.karpenter.sh", "scaledobjects.keda.sh", "applications.argoproj.io"}

// bench is the environment of the samples.
type bench struct {
	env   *harness.Env
	clock *simclock.Clock
	// kinds are the kinds in the samples.
	kinds map[string]schema.GroupVersionKind
	// errs are the errors by file.
	errs map[string][]error
}

func TestSamplesActAsDescribed(t *testing.T) {
	samples := readAll(t)
	env, err := harness.Up(t.Context(), local.Options{Level: local.LevelAPI, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	var steps []step
	b := &bench{env: env, kinds: map[string]schema.GroupVersionKind{}, errs: map[string][]error{}}
	for _, s := range samples {
		steps = append(steps, s.steps...)
		for _, obj := range s.objects {
			b.kinds[obj.GetKind()] = obj.GroupVersionKind()
		}
	}
	// Lines with the same instant stay in the order of their file.
	slices.SortStableFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	b.clock = simclock.New(steps[0].at.Add(-time.Minute))
	b.start(t, samples)
	for first := 0; first < len(steps); {
		end := first
		for end < len(steps) && steps[end].at.Equal(steps[first].at) {
			end++
		}
		b.instant(t.Context(), steps[first:end])
		first = end
	}
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			for _, err := range b.errs[s.name] {
				t.Error(err)
			}
		})
	}
}

// readAll reads every file below the samples directory. A file that is not a sample is an error.
func readAll(t *testing.T) []sample {
	t.Helper()
	root := filepath.Join("..", "..", "samples")
	var out []sample
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		if filepath.Ext(name) != ".yaml" {
			return fmt.Errorf("%s is not covered: only .yaml files are tried", name)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s, err := read(name, text)
		out = append(out, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("no samples in %s", root)
	}
	return out
}

// start applies the samples as a user would, runs the manager, and waits until all Flyball objects are ready.
func (b *bench) start(t *testing.T, samples []sample) {
	t.Helper()
	if err := b.env.ApplyFiles(t.Context(), filepath.Join("testdata", "crds.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := b.env.AwaitCRDs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.env.InstallAdapters(t.Context(), used...); err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		b.fail(s.name, b.kubectl(t.Context(), "kubectl apply -f "+filepath.Join(b.env.Root, "samples", s.name)))
		if slices.ContainsFunc(s.objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" }) {
			b.fail(s.name, b.env.AwaitCRDs(t.Context()))
		}
	}
	port := harness.FreePort(t)
	manager := b.env.Start(harness.Options{Clock: b.clock, Log: t.Output(), Webhook: app.WebhookOptions{
		Enabled: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: "webhook",
	}, Notifications: app.NotificationOptions{Enabled: true}})
	t.Cleanup(func() {
		if err := manager.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := b.env.AwaitAdapters(t.Context(), used...); err != nil {
		t.Fatal(err)
	}
	ready := path.MustParse(`.status.conditions[?(@.type=="Ready")].status`)
	reason := path.MustParse(`.status.conditions[?(@.type=="Ready")].reason`)
	for _, s := range samples {
		for _, obj := range s.objects {
			if obj.GroupVersionKind().Group != v1alpha1.GroupVersion.Group {
				continue
			}
			st := step{kind: obj.GetKind(), namespace: obj.GetNamespace(), name: obj.GetName(), path: ready, want: "True"}
			b.fail(s.name, harness.Poll(t.Context(), limit, func() error {
				err := b.check(t.Context(), st)
				for _, absent := range []string{"NoMetrics", "NoPrometheus"} {
					unmeasured := st
					unmeasured.path, unmeasured.want = reason, absent
					if err != nil && b.check(t.Context(), unmeasured) == nil {
						return nil // there is no such server here, as the message says
					}
				}
				return err
			}))
		}
	}
}

func (b *bench) fail(file string, err error) {
	if err != nil {
		b.errs[file] = append(b.errs[file], err)
	}
}

// instant moves the clock to the instant of the steps, runs them, and checks again once nothing is left to do.
func (b *bench) instant(ctx context.Context, steps []step) {
	if at := steps[0].at; b.clock.Now().Before(at) {
		b.clock.Set(at)
	}
	var held []step
	for _, st := range steps {
		var err error
		if st.command != "" {
			// An expectation from before the command may no longer hold after it.
			held = slices.DeleteFunc(held, func(h step) bool { return h.file == st.file })
			err = b.kubectl(ctx, st.command)
		} else {
			err = harness.Poll(ctx, limit, func() error { return b.check(ctx, st) })
		}
		if err != nil {
			b.fail(st.file, fmt.Errorf("line %d: %s: %w", st.line, st.text, err))
			continue
		}
		if st.command == "" {
			held = append(held, st)
		}
	}
	if err := harness.Settle(ctx); err != nil {
		b.fail(steps[0].file, fmt.Errorf("line %d: %w", steps[0].line, err))
	}
	for _, st := range held {
		if err := b.check(ctx, st); err != nil {
			b.fail(st.file, fmt.Errorf("line %d: %s: came true and did not stay so: %w", st.line, st.text, err))
		}
	}
}

// kubectl runs a command of a sample with the cluster's own kubectl.
func (b *bench) kubectl(ctx context.Context, command string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	bin := filepath.Dir(b.env.Cluster.Bin("kubectl"))
	cmd.Env = append(os.Environ(), "KUBECONFIG="+b.env.Cluster.Kubeconfig, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, out)
	}
	return nil
}

// check compares a field with its expected value.
func (b *bench) check(ctx context.Context, st step) error {
	gvk, ok := b.kinds[st.kind]
	if !ok {
		return fmt.Errorf("no sample has an object of kind %s", st.kind)
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	if err := b.env.Client.Get(ctx, client.ObjectKey{Namespace: st.namespace, Name: st.name}, obj); err != nil {
		return fmt.Errorf("get %s %s: %w", st.kind, st.name, err)
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", st.kind, st.name, err)
	}
	value, err := st.path.Get(raw)
	if err != nil {
		return err
	}
	got := absent
	if text, err := value.Text(); err == nil {
		got = text
	} else if value.Exists() {
		got = value.Raw()
	}
	if got != st.want {
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		return fmt.Errorf("%s %s: %s is %s, want %s%s", st.kind, st.name, st.path, got, st.want, said(conditions))
	}
	return nil
}

// said returns the messages of an object's conditions, which may explain an unexpected state.
func said(conditions []any) string {
	var parts []string
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok {
			parts = append(parts, fmt.Sprintf("\n  %s=%s: %s", m["type"], m["status"], m["message"]))
		}
	}
	slices.SortFunc(parts, cmp.Compare[string])
	return strings.Join(parts, "")
}
