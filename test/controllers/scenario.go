package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/test/harness"
)

// Annotations of a manifest's first object.
const (
	// edit is the merge patch that the owner makes in the second night.
	edit = "edit"
	// before has the merge patches before the first night, once the pods are there, one a line. Each changes one of the fields of keeps,
	// or pauses a Deployment.
	before = "before"
	// keeps has the fields of the status that a night must not change, separated by blanks. After = is the JSON value to wait for.
	keeps = "keeps"
	// stays marks an object that must not sleep.
	stays = "stays"
	// apart says when the object settles without its pods: awake or always.
	apart = "apart"
	// says has lines "ARGUMENTS => TEXT": asked in the first night, kubectl flyball prints the text.
	says = "says"
	// left is the number of pods that a night leaves, if not none.
	left = "left"
	// unready marks an object that settles asleep alone.
	unready = "unready"
)

const (
	// hold keeps a simulated pod from becoming ready, and so from ending.
	hold = "cluster.flyball.dev/hold"
	// patience is the longest time that controllers have to follow, on a busy machine.
	patience = 3 * time.Minute
)

// counters are annotations in which controllers count the changes of an object.
var counters = []string{"deployment.kubernetes.io/revision", "deprecated.daemonset.template.generation", "rollout.argoproj.io/revision"}

// scenario is a manifest in a namespace of its own. Its first object is of the adapter's kind.
type scenario struct {
	file      string
	namespace string
	adapter   v1alpha1.Adapter
	compiled  *adapter.Adapter
	objects   []*unstructured.Unstructured
	owners    [][]byte    // what each object's owner wants, as JSON
	pods      []types.UID // while awake
	left      int         // pods at night
	night     int
	gone      time.Duration // the longest time from the transition
	ready     time.Duration
	fault     error // the first
}

// add creates the objects of a manifest. Without a Schedule of its own, it gets one of all kinds.
func (r *run) add(ctx context.Context, file, namespace string) error {
	s := &scenario{file: file, namespace: namespace}
	kind, _, _ := strings.Cut(file, string(filepath.Separator)+"real"+string(filepath.Separator))
	text, err := os.ReadFile(filepath.Join(kind, "adapter.yaml"))
	if err != nil {
		return fmt.Errorf("read the adapter: %w", err)
	}
	if err := yaml.UnmarshalStrict(text, &s.adapter); err != nil {
		return fmt.Errorf("decode the adapter: %w", err)
	}
	compiled, errs := adapter.Compile(s.adapter.Name, s.adapter.Spec, adapter.Keys{Ready: true})
	if len(errs) > 0 {
		return fmt.Errorf("compile the adapter: %w", errs.ToAggregate())
	}
	s.compiled = compiled
	if text, err = os.ReadFile(file); err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	names := map[string]string{"NAMESPACE": namespace}
	if a := r.project.artifact; a != nil {
		names["ARTIFACT"], names["DIGEST"] = a.url, a.digest
	}
	text = []byte(os.Expand(string(text), func(name string) string { return names[name] }))
	if s.objects, err = harness.Objects(text); err != nil {
		return err
	}
	if err := r.env.Apply(ctx, fmt.Appendf(nil, "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", namespace)); err != nil {
		return err
	}
	for _, obj := range s.objects {
		if scoped, err := r.env.Client.IsObjectNamespaced(obj); err != nil {
			return fmt.Errorf("find the scope: %w", err)
		} else if scoped {
			obj.SetNamespace(namespace)
		}
		// Webhooks answer once their program has started.
		if err := harness.Poll(ctx, patience, func() error { return r.env.Client.Create(ctx, obj) }); err != nil {
			return fmt.Errorf("create %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	if count := s.objects[0].GetAnnotations()[left]; count != "" {
		if s.left, err = strconv.Atoi(count); err != nil {
			return fmt.Errorf("read the pods that a night leaves: %w", err)
		}
	}
	r.scenarios = append(r.scenarios, s)
	if slices.ContainsFunc(s.objects, func(o *unstructured.Unstructured) bool {
		return o.GroupVersionKind().Group == v1alpha1.GroupVersion.Group
	}) {
		return nil
	}
	return r.env.Apply(ctx, fmt.Appendf(nil, `{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: %s, name: nights},
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *"}}`, namespace))
}

// stays reports whether the object must not sleep.
func (s *scenario) stays() bool { return s.objects[0].GetAnnotations()[stays] != "" }

// settles reports whether the object settles awake. One that stays does so before its change, and one that runs to completion only
// if it stays.
func (s *scenario) settles() bool {
	switch {
	case s.objects[0].GetAnnotations()[unready] != "":
		return false
	case s.stays():
		return s.owners == nil
	}
	return !s.adapter.Spec.RunsToCompletion
}

// settlesApart reports whether the object may settle without its pods.
func (s *scenario) settlesApart(asleep bool) bool {
	when := s.objects[0].GetAnnotations()[apart]
	return s.adapter.Spec.Governs != "" || when == "always" || when == "awake" && !asleep
}

// seen is the state of a scenario at one moment.
type seen struct {
	asleep  bool        // an object has a ledger
	own     bool        // the first object has one
	settled bool        // by the adapter
	bound   int         // pods that have a node and containers
	able    int         // pods that are ready, or would be
	pods    []types.UID // of these, in order
}

// look reads the objects before their pods, so that a settled object has its pods already.
func (r *run) look(ctx context.Context, s *scenario) (seen, error) {
	var now seen
	for _, obj := range s.objects {
		if err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return seen{}, err
		}
		now.asleep = now.asleep || obj.GetAnnotations()[v1alpha1.AnnotationLedger] != ""
	}
	var made appsv1.DeploymentList // also by an object of the manifest
	if err := r.env.Client.List(ctx, &made, client.InNamespace(s.namespace)); err != nil {
		return seen{}, err
	}
	for i := range made.Items {
		now.asleep = now.asleep || made.Items[i].Annotations[v1alpha1.AnnotationLedger] != ""
	}
	target := s.objects[0]
	now.own = target.GetAnnotations()[v1alpha1.AnnotationLedger] != ""
	raw, err := json.Marshal(target)
	if err != nil {
		return seen{}, err
	}
	obj, err := s.compiled.Projection.Project(raw)
	if err != nil {
		return seen{}, err
	}
	now.settled = s.compiled.Observe(obj).Settled
	var pods corev1.PodList
	if err := r.env.Client.List(ctx, &pods, client.InNamespace(s.namespace)); err != nil {
		return seen{}, err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		if d := p.DeletionGracePeriodSeconds; d != nil && *d == 0 {
			continue // its containers have ended, and a finalizer keeps the rest
		}
		now.bound++
		able := p.Annotations[hold] != ""
		for _, c := range p.Status.Conditions {
			able = able || c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		if able && p.DeletionTimestamp == nil {
			now.pods = append(now.pods, p.UID)
		}
	}
	now.able = len(now.pods)
	slices.Sort(now.pods)
	return now, nil
}

// kept returns the fields of the status that a night must not change.
func kept(obj *unstructured.Unstructured) map[string]any {
	fields := map[string]any{}
	for _, field := range strings.Fields(obj.GetAnnotations()[keeps]) {
		path, _, _ := strings.Cut(field, "=")
		fields[path], _, _ = unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...)
	}
	return fields
}

// reached reports whether the fields of the status have the values to wait for.
func reached(obj *unstructured.Unstructured) bool {
	fields := kept(obj)
	return !slices.ContainsFunc(strings.Fields(obj.GetAnnotations()[keeps]), func(field string) bool {
		path, want, hasValue := strings.Cut(field, "=")
		value, err := json.Marshal(fields[path])
		return hasValue && (err != nil || string(value) != want)
	})
}

// wanted returns the parts of the objects that their owners write.
func (r *run) wanted(ctx context.Context, s *scenario) (all [][]byte, err error) {
	for _, obj := range s.objects {
		if err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return nil, err
		}
		annotations := obj.GetAnnotations()
		for _, counter := range counters {
			delete(annotations, counter)
		}
		text, err := json.Marshal(map[string]any{"spec": obj.Object["spec"], "kept": kept(obj),
			"metadata": map[string]any{"labels": obj.GetLabels(), "annotations": annotations}})
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}

// exact returns the first difference from what the owners want.
func (r *run) exact(ctx context.Context, s *scenario) error {
	now, err := r.wanted(ctx, s)
	if err != nil {
		return err
	}
	for i := range now {
		var is, was any
		if err := errors.Join(json.Unmarshal(now[i], &is), json.Unmarshal(s.owners[i], &was)); err != nil {
			return err
		}
		s.forgive(was, is)
		if diff := cmp.Diff(was, is); diff != "" {
			return fmt.Errorf("%s differs from what its owner wants (-):\n%s", s.objects[i].GetKind(), diff)
		}
	}
	return nil
}

// forgive takes the fields away that the adapter leaves where there were none, because their operator goes on at no absent field.
func (s *scenario) forgive(was, is any) {
	for _, variant := range s.adapter.Spec.Suspend {
		for _, write := range variant.Set {
			fields := strings.Split(strings.TrimPrefix(string(write.Path), "."), ".")
			_, had, _ := unstructured.NestedFieldNoCopy(was.(map[string]any), fields...)
			value, _, _ := unstructured.NestedFieldNoCopy(is.(map[string]any), fields...)
			if text, err := json.Marshal(value); err == nil && !had && write.Awake != nil && string(text) == string(write.Awake.Raw) {
				unstructured.RemoveNestedField(is.(map[string]any), fields...)
			}
		}
	}
}

// patch makes the owner's edit.
func (r *run) patch(ctx context.Context, s *scenario) error {
	body := s.objects[0].GetAnnotations()[edit]
	if body == "" {
		return errors.New("the manifest has no edit")
	}
	if err := r.env.Patch(ctx, s.objects[0].DeepCopy(), body); err != nil {
		return err
	}
	wanted, err := jsonpatch.MergePatch(s.owners[0], []byte(body))
	s.owners[0] = wanted
	return err
}

// fail keeps the first fault. A scenario with a fault is left alone.
func (s *scenario) fail(err error) {
	if s.fault == nil && err != nil {
		s.fault = fmt.Errorf("%s %s, night %d: %w", s.adapter.Name, filepath.Base(s.file), s.night+1, err)
		fmt.Fprintln(os.Stderr, s.fault)
	}
}
