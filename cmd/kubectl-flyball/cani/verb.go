package cani

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/path/rawjson"
)

// These are the exit codes of can-i.
const (
	exitDenied    = 1
	exitUndecided = 2
)

// Options are the flags and arguments of can-i.
type Options struct {
	*factory.Factory
	factory.Manifests
	factory.Named
	when string
	// halfSeen is true if the verdict could be different because some objects could not be read for lack of rights.
	halfSeen bool

	args []string
	at   time.Time
}

// New returns the verb can-i.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "can-i ACTION[,ACTION] KIND/NAME... | can-i -f MANIFEST",
		Short: "Say whether freezes allow you a change, now or at another time",
		Long: "Says whether freezes allow a change: for you, or for the user of --as and --as-group, now or --at " +
			`another time. The verdict comes from
the code of the admission webhook. Policies and objects are read with your own rights, also with --as. Where the rights do not
suffice, the readable part is judged, and an allowed change ends with exit code 2.

ACTION is one or more of create, delete, rollout and scale, with commas between. Each action is judged for each object. With
-f, the changes that applying the manifests would make are judged.

RBAC rights are not checked: kubectl auth can-i answers that.

Exit codes: 0 everything is allowed, 1 something is denied, 2 could not be decided, such as on the day of an unreadable event of a
Calendar. A pipeline that goes on only after 0 fails closed.`,
		Example: "  kubectl flyball can-i rollout deployment/web\n  kubectl flyball can-i delete sts/db --as alice --at 2037-12-24T12:00\n  " +
			"kubectl flyball can-i rollout,scale deployment/web deployment/api\n  kubectl flyball can-i -f deployment.yaml && kubectl apply -f " +
			"deployment.yaml",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return factory.List(factory.Actions, typed), cobra.ShellCompDirectiveNoFileComp
			}
			return f.CompleteObjects(nil)(cmd, args[1:], typed)
		},
		Annotations: map[string]string{factory.FailsWith: strconv.Itoa(exitUndecided)},
	})
	o.AddFilenames(cmd, "Manifests to judge as if they were applied")
	cmd.Flags().StringVar(&o.when, "at", "now", "Instant of the change")
	o.AddSelector(cmd)
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) (err error) {
	o.args = args
	o.at, err = o.At("at", o.when)
	return err
}

// Validate implements factory.Verb.
func (o *Options) Validate() error {
	manifests, actions := len(o.Paths) > 0 && len(o.args) == 0, len(o.args) >= 2 || len(o.args) == 1 && o.Selector != ""
	if manifests || actions && len(o.Paths) == 0 {
		return nil
	}
	return errors.New("give ACTION KIND/NAME, such as rollout deployment/web, ACTION -l LABELS, or manifests with -f")
}

// Run judges the changes.
func (o *Options) Run(ctx context.Context) error {
	user, err := o.User(ctx)
	if err != nil {
		return err
	}
	o.ReadsAsCaller = true
	var answers []evaluate.Answer
	if len(o.Paths) > 0 {
		answers, err = o.judgeManifests(ctx, user)
	} else {
		answers, err = o.judgeActions(ctx, user)
	}
	if err != nil {
		return err
	}
	all := All(answers, o.Zone)
	if all.Allowed && o.halfSeen || all.Undecided {
		return factory.Answer(o.Print(all), true, exitUndecided)
	}
	return factory.Answer(o.Print(all), !all.Allowed, exitDenied)
}

func (o *Options) judgeActions(ctx context.Context, user evaluate.User) ([]evaluate.Answer, error) {
	changes, err := Actions(strings.Split(o.args[0], ","))
	if err != nil {
		return nil, err
	}
	objects, err := o.Given(ctx, o.Factory, o.args[1:])
	if err != nil {
		return nil, err
	}
	w, targets, err := o.AroundAll(ctx, objects)
	if err != nil {
		return nil, err
	}
	judge, err := o.court(w)
	if err != nil {
		return nil, err
	}
	return Judge(ctx, judge, w, targets, changes, user, o.at)
}

func (o *Options) court(w *source.World) (*evaluate.Evaluator, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	o.ShowNotes(w)
	o.halfSeen = o.halfSeen || len(w.Unseen) > 0
	return NewEvaluator(memory, o.FlyballNamespace), nil
}

// judgeManifests returns the verdicts on applying manifests. It judges one namespace after the other.
func (o *Options) judgeManifests(ctx context.Context, user evaluate.User) ([]evaluate.Answer, error) {
	namespace := o.Namespace()
	m, err := o.Files(o.Paths, namespace).Read()
	if err != nil {
		return nil, err
	}
	if len(m.Others) == 0 {
		return nil, errors.New("the manifests have no objects that a freeze could judge: Flyball's own kinds are not")
	}
	courts := map[string]*evaluate.Evaluator{}
	worlds := map[string]*source.World{}
	var answers []evaluate.Answer
	for _, raw := range m.Others {
		at0 := cmp.Or(rawjson.GetBytes(raw, "metadata.namespace").Str, namespace)
		if courts[at0] == nil {
			if worlds[at0], err = o.worldOf(ctx, at0, m); err != nil {
				return nil, err
			}
			if courts[at0], err = o.court(worlds[at0]); err != nil {
				return nil, err
			}
		}
		target, err := evaluate.TargetOf(raw, namespace, KindOf(worlds[at0]))
		if err == nil {
			err = worlds[at0].Served(target.GroupKind)
		}
		if err != nil {
			return nil, err
		}
		answer, err := courts[at0].Answer(ctx, evaluate.Inquiry{Target: target, Manifest: raw, User: user, At: o.at})
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// worldOf loads the world for judging manifests in a namespace. It reads objects of the manifests' kinds, or of every
// kind if one of these kinds governs another kind. The namespace itself may be among the manifests.
func (o *Options) worldOf(ctx context.Context, namespace string, m *source.Manifests) (*source.World, error) {
	brought, err := m.Namespaces()
	if err != nil {
		return nil, err
	}
	kinds := m.OtherKinds()
	q := source.Query{Namespace: namespace, Kinds: kinds, Namespaces: brought}
	w, err := o.Load(ctx, q)
	if err != nil || o.Offline() {
		return w, err
	}
	for _, gk := range w.Governing() {
		if slices.Contains(kinds, gk) {
			q.Kinds = nil
			return o.Load(ctx, q)
		}
	}
	return w, nil
}
