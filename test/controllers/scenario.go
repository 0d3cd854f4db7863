package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/test/harness"
)

// edit is the annotation of a manifest with the merge patch that its owner makes in the second night.
const edit = "edit"

// patience is the longest time that controllers have to follow.
const patience = time.Minute

// scenario is one object in a namespace of its own.
type scenario struct {
	file     string
	adapter  v1alpha1.Adapter
	compiled *adapter.Adapter
	target   *unstructured.Unstructured
	night    int
	pods     int // while awake
	spec     any // the owner's
	gone     time.Duration
	ready    time.Duration
	faults   []string
}

type run struct {
	env       *harness.Env
	scenarios []*scenario
	manager   *manager
}

// add creates the namespace, the object and its schedule.
func (r *run) add(ctx context.Context, file, namespace string) error {
	s := &scenario{file: file}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "adapter.yaml"))
	if err != nil {
		return err
	}
	if err := yaml.UnmarshalStrict(text, &s.adapter); err != nil {
		return err
	}
	compiled, errs := adapter.Compile(s.adapter.Name, s.adapter.Spec, adapter.Keys{Ready: true})
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	s.compiled = compiled
	if text, err = os.ReadFile(file); err != nil {
		return err
	}
	objs, err := harness.Objects(text)
	if err != nil {
		return err
	}
	s.target = objs[0]
	s.target.SetNamespace(namespace)
	if err := r.env.Apply(ctx, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")); err != nil {
		return err
	}
	if err := r.env.Client.Create(ctx, s.target); err != nil {
		return err
	}
	r.scenarios = append(r.scenarios, s)
	kind := s.adapter.Spec.Target
	return r.env.Apply(ctx, fmt.Appendf(nil, `{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: %s, name: nights},
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *", target: {kinds: [{group: %q, kind: %s}]}}}`, namespace, kind.Group, kind.Kind))
}

// look reads the object, then its pods, and reports whether the adapter calls it settled.
func (r *run) look(ctx context.Context, s *scenario) (asleep, settled bool, all, able int, err error) {
	if err := r.env.Client.Get(ctx, client.ObjectKeyFromObject(s.target), s.target); err != nil {
		return false, false, 0, 0, err
	}
	raw, err := json.Marshal(s.target)
	if err != nil {
		return false, false, 0, 0, err
	}
	obj, err := s.compiled.Projection.Project(raw)
	if err != nil {
		return false, false, 0, 0, err
	}
	var pods corev1.PodList
	if err := r.env.Client.List(ctx, &pods, client.InNamespace(s.target.GetNamespace())); err != nil {
		return false, false, 0, 0, err
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		all++
		held := p.Annotations["cluster.flyball.dev/hold"] != ""
		for _, c := range p.Status.Conditions {
			if p.DeletionTimestamp == nil && c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				able++
			}
		}
		if held && p.DeletionTimestamp == nil {
			able++ // a pod that works forever never becomes ready here
		}
	}
	return s.target.GetAnnotations()[v1alpha1.AnnotationLedger] != "", s.compiled.Observe(obj).Settled, all, able, nil
}

// fall waits until the pods of all objects are gone.
func (r *run) fall(ctx context.Context, since time.Time) error {
	return r.each(func(s *scenario) error {
		return harness.Poll(ctx, patience, func() error {
			asleep, settled, all, _, err := r.look(ctx, s)
			switch {
			case err != nil:
				return err
			case asleep && settled && all > 0:
				s.fault("settled asleep with pods")
			case asleep && all == 0:
				s.gone = max(s.gone, time.Since(since))
				return nil
			}
			return fmt.Errorf("ledger %t, %d pods", asleep, all)
		})
	})
}

// rise waits until all objects are as their owner has them, with their pods.
func (r *run) rise(ctx context.Context, since time.Time) error {
	return r.each(func(s *scenario) error {
		err := harness.Poll(ctx, patience, func() error {
			asleep, settled, _, able, err := r.look(ctx, s)
			switch {
			case err != nil:
				return err
			case asleep:
				return errors.New("the ledger is still there")
			case settled && able < s.pods:
				s.fault(fmt.Sprintf("settled awake with %d of %d pods", able, s.pods))
			}
			if able != s.pods {
				return fmt.Errorf("%d of %d pods", able, s.pods)
			}
			return nil
		})
		s.ready = max(s.ready, time.Since(since))
		if err == nil && !reflect.DeepEqual(s.spec, s.target.Object["spec"]) {
			s.fault("the spec is not exact")
		}
		s.night++
		return err
	})
}

// each calls do for every object. An error is a fault of the object.
func (r *run) each(do func(*scenario) error) error {
	for _, s := range r.scenarios {
		if len(s.faults) > 0 {
			continue
		}
		if err := do(s); err != nil {
			s.fault(err.Error())
		}
	}
	return nil
}

func (s *scenario) fault(text string) {
	if len(s.faults) == 0 {
		s.faults = append(s.faults, fmt.Sprintf("%s, night %d: %s", filepath.Base(s.file), s.night+1, text))
		fmt.Fprintln(os.Stderr, s.adapter.Name, s.faults[0])
	}
}

// patch makes the owner's edit and keeps its effect on the fields that Flyball restores.
func (r *run) patch(ctx context.Context) error {
	return r.each(func(s *scenario) error {
		body := s.target.GetAnnotations()[edit]
		if body == "" {
			return nil
		}
		if err := r.env.Patch(ctx, s.target.DeepCopy(), body); err != nil {
			return err
		}
		var patch map[string]any
		if err := json.Unmarshal([]byte(body), &patch); err != nil {
			return err
		}
		merge(s.spec.(map[string]any), patch["spec"].(map[string]any))
		return nil
	})
}

// merge adds the fields of a merge patch without null.
func merge(into, from map[string]any) {
	for key, value := range from {
		below, object := value.(map[string]any)
		if old, ok := into[key].(map[string]any); ok && object {
			merge(old, below)
		} else if number, ok := value.(float64); ok {
			into[key] = int64(number)
		} else {
			into[key] = value
		}
	}
}
