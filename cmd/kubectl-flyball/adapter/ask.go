package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

const (
	// lookAgain is the pause between two looks at a live object.
	lookAgain = 250 * time.Millisecond
	// calm is the time in which nobody may change a field back, after the pods have followed.
	calm = 3 * time.Second
	// maxTries limits the writes of one plan: patches, and repeats for an object that has changed meanwhile.
	maxTries = 20
	// wakeWithin is the longest time for the write that wakes an object after an interrupt.
	wakeWithin = 30 * time.Second
)

// Answer is the answer of a live object's controllers to a question that no schema answers.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
	// Remedy is the field of the adapter that the answer asks for, or empty.
	Remedy string `json:"remedy,omitempty"`
}

// Live is an object of a cluster that is put to sleep and woken by an adapter.
type Live struct {
	Cluster   source.Cluster
	Writer    *apply.Writer
	Adapter   *v1alpha1.Adapter
	Namespace string
	Name      string
	// Within is the longest time for the controllers to follow, in each direction.
	Within time.Duration

	compiled *adapter.Adapter
	resource schema.GroupVersionResource
	pods     int // while awake
}

// seen is the state of a live object at one moment.
type seen struct {
	raw     []byte
	object  *workload.Object
	settled bool
	pods    int
}

// watched is the result of a watch.
type watched struct {
	seen
	followed bool   // the pods did
	early    int    // the first number of pods with which the object was settled too early, or -1
	undone   string // the field that somebody has changed back; empty: none
}

// Ask puts the object to sleep, watches its controllers, and wakes it. The object is woken after an error as well. The error
// says what could not be read or written, or that a manager of Flyball has interfered.
func (l *Live) Ask(ctx context.Context) (answers []Answer, err error) {
	if err := l.prepare(); err != nil {
		return nil, err
	}
	awake, err := l.readWithPods(ctx)
	if err != nil {
		return nil, err
	}
	if awake.object.Ledger != nil {
		return nil, errors.New("the object has a ledger: a policy changes it already")
	}
	l.pods = awake.pods
	defer func() {
		if err != nil {
			again, stop := context.WithTimeout(context.WithoutCancel(ctx), wakeWithin)
			defer stop()
			err = errors.Join(err, l.write(again, workload.Plan{}))
		}
	}()
	if err := l.write(ctx, trialPlan()); err != nil {
		return nil, err
	}
	asleep, err := l.watch(ctx, true)
	if err != nil {
		return nil, err
	}
	answers = l.fallen(asleep)
	if err := l.write(ctx, workload.Plan{}); err != nil {
		return nil, err
	}
	if asleep.undone != "" { // another writer's value stands
		if err := l.reset(ctx, awake.raw); err != nil {
			return nil, err
		}
	}
	risen, err := l.watch(ctx, false)
	if err != nil {
		return nil, err
	}
	more, err := l.risen(ctx, asleep, risen)
	return append(answers, more...), err
}

// fallen returns the answers of a sleeping object.
func (l *Live) fallen(asleep *watched) []Answer {
	kept := Answer{Question: "does anybody change the fields back", Answer: "no"}
	if asleep.undone != "" {
		kept.Answer, kept.Remedy = asleep.undone, "liftsCounts, minimum, unable or follows"
	}
	answers := []Answer{kept}
	if l.pods == 0 {
		return append(answers, Answer{Question: "do its pods follow", Answer: "not asked: it has no pods"})
	}
	follow := Answer{Question: "do its pods end", Answer: fmt.Sprintf("yes, all %d", l.pods)}
	if !asleep.followed {
		follow.Answer, follow.Remedy = fmt.Sprintf("no, %d of %d are there", asleep.pods, l.pods), "unable"
	}
	return append(answers, follow, l.settles("is it settled asleep before its pods are gone", asleep.early))
}

// risen returns the answers of a woken object. If its pods stay away with an absent switch, the switch is set to false.
func (l *Live) risen(ctx context.Context, asleep, risen *watched) ([]Answer, error) {
	var answers []Answer
	absent := absentSwitches(asleep.object.Ledger)
	back := Answer{Question: "do its pods come back", Answer: fmt.Sprintf("yes, all %d", l.pods)}
	if !risen.followed {
		back.Answer, back.Remedy = fmt.Sprintf("no, %d of %d are there", risen.pods, l.pods), "unable"
	}
	if !risen.followed && len(absent) > 0 {
		again, err := l.switchOn(ctx, absent)
		if err != nil {
			return nil, err
		}
		if again.followed {
			back.Answer = fmt.Sprintf("only at %s: false, which was absent and is left so", absent[0].Path())
			back.Remedy = "awake: false beside the value of suspend"
		}
	}
	if l.pods > 0 {
		answers = append(answers, back, l.settles("is it settled awake before its pods are there", risen.early))
	}
	pause, err := pausedByOwner(l.Adapter, risen.raw)
	if err != nil {
		return nil, err
	}
	if pause != "" {
		answers = append(answers, Answer{Question: "may it sleep while its owner pauses it", Answer: pause})
	}
	return append(answers, Answer{Question: "which clocks go on: deadlines, timed steps, missed runs",
		Answer: "not asked: read the source of its operator"}), nil
}

// settles is the answer to a question about the predicates of ready.
func (l *Live) settles(question string, early int) Answer {
	switch {
	case len(l.Adapter.Spec.Ready) == 0:
		return Answer{Question: question, Answer: "not asked: the adapter has no ready"}
	case early >= 0:
		return Answer{Question: question, Answer: fmt.Sprintf("yes, with %d of %d", early, l.pods), Remedy: "ready"}
	}
	return Answer{Question: question, Answer: "no"}
}

func (l *Live) prepare() error {
	compiled, errs := adapter.Compile(l.Adapter.Name, l.Adapter.Spec, adapter.Keys{})
	if len(errs) > 0 {
		return errs.ToAggregate()
	}
	mapping, err := l.Cluster.Mapper.RESTMapping(compiled.GroupKind(), l.Adapter.Spec.Target.Versions...)
	if err != nil {
		return fmt.Errorf("find how %s is served: %w", l.Adapter.Spec.Target.Kind, err)
	}
	if mapping.Scope.Name() != "namespace" {
		l.Namespace = ""
	}
	l.compiled, l.resource = compiled, mapping.Resource
	return nil
}

// write brings the object to a plan.
func (l *Live) write(ctx context.Context, plan workload.Plan) error {
	for range maxTries {
		now, err := l.read(ctx)
		if err != nil {
			return err
		}
		r, err := l.compiled.Render(now.object, plan)
		if err != nil || r.Patch == nil {
			return err
		}
		// A stale object is read again.
		if outcome, err := l.Writer.Apply(ctx, l.resource, now.object, r.Patch); err != nil && outcome != apply.Stale {
			return err
		}
	}
	return fmt.Errorf("%d writes were not enough: the object changes too fast, or a webhook changes each write", maxTries)
}

// reset writes the object's spec, labels and annotations as they were.
func (l *Live) reset(ctx context.Context, was []byte) error {
	now, err := l.read(ctx)
	if err != nil {
		return err
	}
	before, err := ownersPart(was)
	if err != nil {
		return err
	}
	after, err := ownersPart(now.raw)
	if err != nil {
		return err
	}
	body, err := jsonpatch.CreateMergePatch(after, before)
	if err != nil {
		return fmt.Errorf("compare the object with its original: %w", err)
	}
	_, err = l.Writer.Apply(ctx, l.resource, now.object, &workload.Patch{Type: types.MergePatchType, Body: body})
	return err
}

// ownersPart returns the spec, the labels and the annotations of an object.
func ownersPart(raw []byte) ([]byte, error) {
	var obj unstructured.Unstructured
	if err := obj.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	return json.Marshal(map[string]any{"spec": obj.Object["spec"],
		"metadata": map[string]any{"labels": obj.GetLabels(), "annotations": obj.GetAnnotations()}})
}

// switchOn sets absent switches to false and watches the pods.
func (l *Live) switchOn(ctx context.Context, absent []path.Pointer) (*watched, error) {
	now, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	change := map[string]any{}
	for _, p := range absent {
		if err := unstructured.SetNestedField(change, false, p.Tokens()...); err != nil {
			return nil, err
		}
	}
	body, err := json.Marshal(change)
	if err != nil {
		return nil, err
	}
	if _, err := l.Writer.Apply(ctx, l.resource, now.object, &workload.Patch{Type: types.MergePatchType, Body: body}); err != nil {
		return nil, err
	}
	return l.watch(ctx, false)
}

// watch looks at the object until its pods have followed and nobody has changed a field back for a while, or until the time for its
// controllers is over.
func (l *Live) watch(ctx context.Context, asleep bool) (*watched, error) {
	w, end := &watched{early: -1}, l.Cluster.Now().Add(l.Within)
	var quiet time.Time
	for {
		var err error
		now := l.Cluster.Now() // before the look: a slow look at the end counts
		if w.seen, err = l.readWithPods(ctx); err != nil {
			return nil, err
		}
		if asleep && w.object.Ledger == nil {
			return nil, errors.New("somebody has taken the ledger away: try an object that no manager of Flyball with this adapter sees")
		}
		if w.followed = w.pods == 0 && asleep || w.pods >= l.pods && !asleep; w.settled && !w.followed && w.early < 0 {
			w.early = w.pods
		}
		if w.undone, err = l.undone(ctx, w.object, w.raw); err != nil || w.undone != "" {
			return w, err
		}
		switch {
		case !w.followed:
			quiet = time.Time{}
		case quiet.IsZero():
			quiet = now
		}
		if w.followed && now.Sub(quiet) >= calm || !w.followed && now.After(end) {
			return w, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// undone returns a sentence with the first field of the ledger whose value is not the set one, its value and the writer; empty: none.
func (l *Live) undone(ctx context.Context, obj *workload.Object, raw []byte) (string, error) {
	for _, e := range obj.Ledger {
		got, err := path.Probe(raw, path.Pointer(e.Pointer))
		if err != nil {
			return "", err
		}
		if value := got.Value.Raw(); value != e.Set {
			return fmt.Sprintf("yes, %s is %s and not %s, written by %s", path.Pointer(e.Pointer).Path(), value, e.Set,
				l.Writer.OtherWriter(ctx, l.resource, obj, []string{e.Pointer})), nil
		}
	}
	return "", nil
}

// read reads the object.
func (l *Live) read(ctx context.Context) (seen, error) {
	obj, err := l.Cluster.Client.Resource(l.resource).Namespace(l.Namespace).Get(ctx, l.Name, metav1.GetOptions{})
	if err != nil {
		return seen{}, fmt.Errorf("read %s %s: %w", strings.ToLower(l.Adapter.Spec.Target.Kind), l.Name, err)
	}
	raw, err := obj.MarshalJSON()
	if err != nil {
		return seen{}, err
	}
	now := seen{raw: raw}
	now.settled, _ = l.compiled.Ready(raw)
	now.object, err = l.compiled.Projection.Project(raw)
	return now, err
}

// readWithPods reads the object before its pods, so that a settled object has its pods already.
func (l *Live) readWithPods(ctx context.Context) (seen, error) {
	now, err := l.read(ctx)
	if err != nil || l.Namespace == "" {
		return now, err
	}
	pods, err := l.Cluster.Client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(l.Namespace).
		List(ctx, metav1.ListOptions{})
	if err != nil {
		return now, fmt.Errorf("list the pods: %w", err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		phase, _, _ := unstructured.NestedString(p.Object, "status", "phase")
		if p.GetDeletionTimestamp() != nil || phase == "Succeeded" || phase == "Failed" {
			continue
		}
		mine, err := l.isBelow(ctx, p, types.UID(now.object.UID))
		if err != nil {
			return now, err
		}
		if mine {
			now.pods++
		}
	}
	return now, nil
}

// isBelow reports whether the object with the UID top controls an object, directly or not.
func (l *Live) isBelow(ctx context.Context, obj metav1.Object, top types.UID) (bool, error) {
	for owner := metav1.GetControllerOf(obj); owner != nil; {
		if owner.UID == top {
			return true, nil
		}
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil {
			return false, err
		}
		mapping, err := l.Cluster.Mapper.RESTMapping(gv.WithKind(owner.Kind).GroupKind(), gv.Version)
		if err != nil {
			return false, fmt.Errorf("find how %s is served: %w", owner.Kind, err)
		}
		next, err := l.Cluster.Metadata.Resource(mapping.Resource).Namespace(l.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read %s %s: %w", owner.Kind, owner.Name, err)
		}
		owner = metav1.GetControllerOf(next)
	}
	return false, nil
}

// absentSwitches returns the switches that were absent and that nothing replaces when the object wakes.
func absentSwitches(ledger workload.Ledger) (all []path.Pointer) {
	for _, e := range ledger {
		if e.Was == "" && e.Set == "true" && e.Awake == "" {
			all = append(all, path.Pointer(e.Pointer))
		}
	}
	return all
}
