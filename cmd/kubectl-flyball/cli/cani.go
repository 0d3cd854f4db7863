package cli

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

	"flyball.dev/flyball/cmd/kubectl-flyball/cani"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/path/rawjson"
)

// These are the exit codes of can-i.
const (
	exitDenied    = 1
	exitUndecided = 2
)

type canIVerb struct {
	*factory.Factory
	factory.Manifests
	factory.Named
	when string
	// halfSeen is true if the verdict could be different because some objects could not be read for lack of rights.
	halfSeen bool
}

func newCanI(s *factory.Factory) *cobra.Command {
	v := &canIVerb{Factory: s}
	cmd := &cobra.Command{
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
			return s.CompleteObjects(nil)(cmd, args[1:], typed)
		},
		Annotations: map[string]string{factory.FailsWith: strconv.Itoa(exitUndecided)},
		RunE:        func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
	}
	v.AddFilenames(cmd, "Manifests to judge as if they were applied")
	cmd.Flags().StringVar(&v.when, "at", "now", "Instant of the change")
	v.AddSelector(cmd)
	return cmd
}

func (v *canIVerb) run(ctx context.Context, args []string) error {
	at, err := v.At("at", v.when)
	if err != nil {
		return err
	}
	user, err := v.User(ctx)
	if err != nil {
		return err
	}
	v.ReadsAsCaller = true
	var answers []evaluate.Answer
	switch {
	case len(v.Paths) > 0 && len(args) == 0:
		answers, err = v.judgeManifests(ctx, user, at)
	case len(v.Paths) == 0 && (len(args) >= 2 || len(args) == 1 && v.Selector != ""):
		answers, err = v.judgeActions(ctx, strings.Split(args[0], ","), args[1:], user, at)
	default:
		err = errors.New("give ACTION KIND/NAME, such as rollout deployment/web, ACTION -l LABELS, or manifests with -f")
	}
	if err != nil {
		return err
	}
	all := cani.All(answers, v.Zone)
	if all.Allowed && v.halfSeen || all.Undecided {
		return factory.Answer(v.Print(all), true, exitUndecided)
	}
	return factory.Answer(v.Print(all), !all.Allowed, exitDenied)
}

func (v *canIVerb) judgeActions(ctx context.Context, actions, objects []string, user evaluate.User, at time.Time) ([]evaluate.Answer,
	error) {
	changes, err := cani.Actions(actions)
	if err != nil {
		return nil, err
	}
	if objects, err = v.Given(ctx, v.Factory, objects); err != nil {
		return nil, err
	}
	w, targets, err := v.AroundAll(ctx, objects)
	if err != nil {
		return nil, err
	}
	judge, err := v.court(w)
	if err != nil {
		return nil, err
	}
	return cani.Judge(ctx, judge, w, targets, changes, user, at)
}

func (v *canIVerb) court(w *source.World) (*evaluate.Evaluator, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	v.ShowNotes(w)
	v.halfSeen = v.halfSeen || len(w.Unseen) > 0
	return cani.NewEvaluator(memory, v.FlyballNamespace), nil
}

// judgeManifests returns the verdicts on applying manifests. It judges one namespace after the other.
func (v *canIVerb) judgeManifests(ctx context.Context, user evaluate.User, at time.Time) ([]evaluate.Answer, error) {
	namespace := v.Namespace()
	m, err := v.Files(v.Paths, namespace).Read()
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
			if worlds[at0], err = v.worldOf(ctx, at0, m); err != nil {
				return nil, err
			}
			if courts[at0], err = v.court(worlds[at0]); err != nil {
				return nil, err
			}
		}
		target, err := evaluate.TargetOf(raw, namespace, cani.KindOf(worlds[at0]))
		if err == nil {
			err = worlds[at0].Served(target.GroupKind)
		}
		if err != nil {
			return nil, err
		}
		answer, err := courts[at0].Answer(ctx, evaluate.Inquiry{Target: target, Manifest: raw, User: user, At: at})
		if err != nil {
			return nil, err
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// worldOf loads the world for judging manifests in a namespace. It reads objects of the manifests' kinds, or of every
// kind if one of these kinds governs another kind. The namespace itself may be among the manifests.
func (v *canIVerb) worldOf(ctx context.Context, namespace string, m *source.Manifests) (*source.World, error) {
	brought, err := m.Namespaces()
	if err != nil {
		return nil, err
	}
	kinds := m.OtherKinds()
	q := source.Query{Namespace: namespace, Kinds: kinds, Namespaces: brought}
	w, err := v.Load(ctx, q)
	if err != nil || v.Offline() {
		return w, err
	}
	for _, gk := range w.Governing() {
		if slices.Contains(kinds, gk) {
			q.Kinds = nil
			return v.Load(ctx, q)
		}
	}
	return w, nil
}
