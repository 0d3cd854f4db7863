package notify

import (
	"path"
	"slices"
	"text/template/parse"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// maxAhead is the longest time between a message and its transition.
const maxAhead = 7 * 24 * time.Hour

// Subscription is the compiled spec of a Notification. It is immutable.
type Subscription struct {
	// Ahead is the time between a message ahead of a transition and the transition.
	Ahead time.Duration

	events     []v1alpha1.NotificationEvent
	kinds      []string
	names      []string
	namespaces []string
	selector   labels.Selector
	text       *parse.Tree
	suspended  bool
}

// Compile compiles a Notification.
func Compile(n *v1alpha1.Notification) (*Subscription, field.ErrorList) {
	return compile(n.Spec.Policies, []string{n.Namespace}, n.Spec.NotificationRules)
}

// CompileCluster compiles a ClusterNotification.
func CompileCluster(n *v1alpha1.ClusterNotification) (*Subscription, field.ErrorList) {
	return compile(n.Spec.Policies.PolicySelector, n.Spec.Policies.Namespaces, n.Spec.NotificationRules)
}

func compile(of v1alpha1.PolicySelector, namespaces []string, rules v1alpha1.NotificationRules) (*Subscription, field.ErrorList) {
	spec := field.NewPath("spec")
	s := &Subscription{events: rules.Events, kinds: of.Kinds, names: of.Names, namespaces: namespaces, suspended: rules.Suspend,
		Ahead: 15 * time.Minute, selector: labels.Everything()}
	var errs field.ErrorList
	if rules.Ahead != "" {
		ahead, err := timeline.ParseDuration(string(rules.Ahead))
		if err != nil {
			errs = append(errs, field.Invalid(spec.Child("ahead"), rules.Ahead, err.Error()))
		} else if ahead <= 0 || ahead > maxAhead {
			errs = append(errs, field.Invalid(spec.Child("ahead"), rules.Ahead, "write a time above 0 and of at most 7d"))
		}
		s.Ahead = ahead
	}
	if of.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(of.Selector)
		if err != nil {
			errs = append(errs, field.Invalid(spec.Child("policies", "selector"), metav1.FormatLabelSelector(of.Selector), err.Error()))
		} else {
			s.selector = selector
		}
	}
	if rules.Template != "" {
		text, err := parseTemplate(rules.Template)
		if err != nil {
			errs = append(errs, field.Invalid(spec.Child("template"), rules.Template, err.Error()))
		}
		s.text = text
	}
	return s, errs
}

// Suspended reports whether the Notification sends nothing.
func (s *Subscription) Suspended() bool { return s.suspended }

// Selects reports whether messages are sent about an event of a policy. The labels are those of the policy; none for an exception that
// is just being made.
func (s *Subscription) Selects(event v1alpha1.NotificationEvent, of workload.Policy, has map[string]string) bool {
	return !s.suspended && slices.Contains(s.events, event) && (len(s.kinds) == 0 || slices.Contains(s.kinds, of.Kind)) &&
		matches(s.names, of.Name) && matches(s.namespaces, of.Namespace) && s.selector.Matches(labels.Set(has))
}

// matches reports whether a name matches one of the globs. No glob stands for everything, and no glob matches the empty name of a
// cluster-scoped policy's namespace.
func matches(globs []string, name string) bool {
	return len(globs) == 0 || name != "" && slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := path.Match(glob, name)
		return err == nil && ok
	})
}
