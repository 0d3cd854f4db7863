package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

const (
	// reactLabel is a label with the name of the program that has to put a Deployment to sleep: the manager, the bare
	// watcher or nobody. It does so if the Deployment's namespace has the same label.
	reactLabel = "bench.flyball.dev/react"
	nobody     = "nobody"
	// together is the number of Deployments in a relabelled namespace.
	together = 10
)

// reactors are the two programs: Flyball and the baseline.
var reactors = [2]string{"manager", "bare"}

// reactStep is a change of one or more Deployments while others sleep.
type reactStep struct {
	name string
	// asleep is the expected state of the Deployments afterwards.
	asleep bool
	// objects returns the affected Deployments as namespace/name.
	objects func(way string, i int) []string
	// do makes the change. It returns when the API server has answered.
	do func(ctx context.Context, way string, i int) error
}

// reactTimes has the milliseconds from the answer to the last expected change, by step and program.
type reactTimes map[string]*[len(reactors)][]float64

// reacting measures how soon Deployments sleep after they enter a schedule's selection, and how soon they wake after
// they leave it. Meanwhile the manager keeps many other Deployments asleep. The baseline is a bare watcher that patches
// at once.
func (b *bench) reacting(ctx context.Context) (err error) {
	s, err := b.stage(ctx)
	if err != nil {
		return err
	}
	if err := s.grow(ctx, s.targets); err != nil {
		return err
	}
	others, own := always("others"), always("reacting")
	own.Spec.Target.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{reactLabel: reactors[0]}}
	own.Spec.Target.Selector = own.Spec.Target.NamespaceSelector.DeepCopy()
	for _, c := range []*v1alpha1.ClusterSchedule{others, own} {
		if err := s.env.Client.Create(ctx, c); err != nil {
			return fmt.Errorf("create the schedule %s: %w", c.Name, err)
		}
	}
	o := s.live()
	defer func() { err = errors.Join(err, o.stop()) }()
	if err := errors.Join(o.awaitTargets(ctx, others.Name, s.targets, stateName(true)),
		o.meter.settle(ctx, 2*time.Second, time.Minute)); err != nil {
		return err
	}
	took, err := s.react(ctx)
	if err != nil {
		return err
	}
	if err := s.leave(ctx, others, own); err != nil {
		return err
	}
	b.reportReact(took)
	return nil
}

// always returns a schedule that sleeps for decades.
func always(name string) *v1alpha1.ClusterSchedule {
	c := nightly(name)
	c.Spec.Downscale, c.Spec.Upscale = "", ""
	c.Spec.Asleep = []v1alpha1.Window{{Start: "2020-01-01", End: "2090-01-01"}}
	return c
}

// react runs all steps with both programs in turns.
func (s *stage) react(ctx context.Context) (reactTimes, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seen, err := s.observe(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.reactBare(ctx); err != nil {
		return nil, err
	}
	if err := s.furnish(ctx); err != nil {
		return nil, err
	}
	took := reactTimes{}
	for _, part := range []struct {
		times int
		steps []reactStep
	}{{s.reactObjects, s.objectSteps()}, {s.reactSpaces, s.spaceSteps()}} {
		for i := range part.times {
			for _, step := range part.steps {
				for turn := range reactors {
					way := (i + turn) % len(reactors)
					ms, err := seen.reaction(ctx, step, reactors[way], i)
					if err != nil {
						return nil, fmt.Errorf("%s, number %d, by the %s: %w", step.name, i, reactors[way], err)
					}
					if took[step.name] == nil {
						took[step.name] = &[len(reactors)][]float64{}
					}
					took[step.name][way] = append(took[step.name][way], ms)
				}
			}
		}
	}
	return took, nil
}

// reaction runs one step. It returns the milliseconds from the answer to the last expected change. If this change comes
// before the answer, it returns zero.
func (o *observer) reaction(ctx context.Context, step reactStep, way string, i int) (float64, error) {
	due := o.expect(step.asleep, step.objects(way, i)...)
	if err := step.do(ctx, way, i); err != nil {
		return 0, err
	}
	answered := time.Now()
	last, err := o.await(ctx, due)
	return max(last.Sub(answered).Seconds()*1000, 0), err
}

func reactSpace(way string) string { return "react-" + way }

// relabelled returns the namespace whose label changes. crowd returns the Deployments in it.
func relabelled(way string) string { return "react-relabelled-" + way }

func crowd(way string, _ int) []string {
	all := make([]string, together)
	for i := range all {
		all[i] = relabelled(way) + "/" + deploymentName(i)
	}
	return all
}

// furnish creates the namespaces of the steps.
func (s *stage) furnish(ctx context.Context) error {
	for _, way := range reactors {
		if err := errors.Join(s.reactNamespace(ctx, reactSpace(way), way), s.reactNamespace(ctx, relabelled(way), nobody)); err != nil {
			return err
		}
		for i := range together {
			if err := s.reactDeployment(ctx, relabelled(way), way, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stage) reactNamespace(ctx context.Context, name, way string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{reactLabel: way}}}
	if _, err := s.clients.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the namespace %s: %w", name, err)
	}
	return nil
}

func (s *stage) reactDeployment(ctx context.Context, namespace, way string, i int) error {
	d := s.deployment(i)
	d.Namespace, d.Labels[reactLabel] = namespace, way
	if _, err := s.clients.AppsV1().Deployments(namespace).Create(ctx, d, metav1.CreateOptions{FieldManager: "helm"}); err != nil {
		return fmt.Errorf("create %s/%s: %w", namespace, d.Name, err)
	}
	return nil
}

// reactLabelled returns a merge patch that sets the label reactLabel.
func reactLabelled(way string) []byte {
	return []byte(`{"metadata":{"labels":{"` + reactLabel + `":"` + way + `"}}}`)
}

// objectSteps are the steps for single Deployments.
func (s *stage) objectSteps() []reactStep {
	one := func(way string, i int) []string { return []string{reactSpace(way) + "/" + deploymentName(i)} }
	label := func(ctx context.Context, way string, i int, value string) error {
		_, err := s.clients.AppsV1().Deployments(reactSpace(way)).Patch(ctx, deploymentName(i), types.MergePatchType, reactLabelled(value),
			metav1.PatchOptions{})
		return err
	}
	return []reactStep{
		{"workload created", true, one, func(ctx context.Context, way string, i int) error {
			return s.reactDeployment(ctx, reactSpace(way), way, i)
		}},
		{"label removed", false, one, func(ctx context.Context, way string, i int) error { return label(ctx, way, i, nobody) }},
		{"label added", true, one, func(ctx context.Context, way string, i int) error { return label(ctx, way, i, way) }},
	}
}

// spaceSteps are the steps for whole namespaces.
func (s *stage) spaceSteps() []reactStep {
	label := func(ctx context.Context, way, value string) error {
		_, err := s.clients.CoreV1().Namespaces().Patch(ctx, relabelled(way), types.MergePatchType, reactLabelled(value), metav1.PatchOptions{})
		return err
	}
	fresh := func(way string, i int) string { return fmt.Sprintf("react-%s-%03d", way, i) }
	return []reactStep{
		{"namespace labelled", true, crowd, func(ctx context.Context, way string, _ int) error { return label(ctx, way, way) }},
		{"namespace label removed", false, crowd, func(ctx context.Context, way string, _ int) error { return label(ctx, way, nobody) }},
		{"namespace created with a workload", true,
			func(way string, i int) []string { return []string{fresh(way, i) + "/" + deploymentName(i)} },
			func(ctx context.Context, way string, i int) error {
				if err := s.reactNamespace(ctx, fresh(way, i), way); err != nil {
					return err
				}
				return s.reactDeployment(ctx, fresh(way, i), way, i)
			}},
	}
}

// leave deletes the objects of the steps and the schedules, and waits until all other targets are awake.
func (s *stage) leave(ctx context.Context, schedules ...*v1alpha1.ClusterSchedule) error {
	for _, c := range schedules {
		if err := s.env.Client.Delete(ctx, c); err != nil {
			return fmt.Errorf("delete the schedule %s: %w", c.Name, err)
		}
	}
	for _, c := range schedules {
		err := harness.Poll(ctx, transitionLimit, func() error {
			err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(c), &v1alpha1.ClusterSchedule{})
			if err == nil {
				return errors.New("it is still there")
			}
			return client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("wait until the schedule %s is gone: %w", c.Name, err)
		}
	}
	of := metav1.ListOptions{LabelSelector: reactLabel}
	left, err := s.clients.AppsV1().Deployments("").List(ctx, of)
	if err != nil {
		return fmt.Errorf("list what is to be removed: %w", err)
	}
	for _, d := range left.Items {
		if err := s.clients.AppsV1().Deployments(d.Namespace).Delete(ctx, d.Name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete %s/%s: %w", d.Namespace, d.Name, err)
		}
	}
	return s.verify(ctx, false)
}

// reportReact reports the time of each step, and the figures over all steps.
func (b *bench) reportReact(took reactTimes) {
	var all, ratios []float64
	for _, step := range slices.Concat((&stage{}).objectSteps(), (&stage{}).spaceSteps()) {
		mine, bare := took[step.name][0], took[step.name][1]
		b.report.say("%d times %s: manager p50 %.1f ms, max %.1f ms; bare watcher p50 %.1f ms, max %.1f ms; ratio %.2f",
			len(mine), step.name, median(mine), slices.Max(mine), median(bare), slices.Max(bare), median(mine)/median(bare))
		all = append(all, mine...)
		ratios = append(ratios, median(mine)/median(bare))
	}
	b.report.rounds("react_ratio", ratios)
	b.report.figure("react_p99_ms", percentile(all, 99), "ms")
	b.report.figure("react_max_ms", slices.Max(all), "ms")
	b.report.figure("react_ratio", median(ratios), "ratio")
}
