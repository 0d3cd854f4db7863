package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// hook is a webhook of another program with the failure policy Fail. It is served by a Service or at a URL.
type hook struct {
	// name is the webhook's name in messages.
	name               string
	rules              []admissionregistrationv1.RuleWithOperations
	namespaces, labels labels.Selector
	// conditional is true if the webhook has matchConditions, so that it may not get every request that fits its rules.
	conditional        bool
	namespace, service string
	url                string
}

// backend is the state of a Service. ready is true if the Service has a ready endpoint. selector is the selector of its
// pods, or nil if it has none.
type backend struct {
	ready    bool
	selector map[string]string
}

// FirstNight adds the checks for the first night that need the cluster: other webhooks and disruption budgets. whole is
// true if the world has all namespaces.
func (c *Checkup) FirstNight(ctx context.Context, clients Clients, w *source.World, whole bool) error {
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	c.webhooks(ctx, clients, w, memory)
	c.disruption(memory, whole, func() ([]policyv1.PodDisruptionBudget, error) {
		budgets, err := clients.PolicyV1().PodDisruptionBudgets("").List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return budgets.Items, nil
	})
	return nil
}

// webhooks checks that no webhook of another program refuses Flyball's writes, or the new pods of the morning. A
// webhook that fails closed refuses them if its backend is missing or sleeps itself.
func (c *Checkup) webhooks(ctx context.Context, clients Clients, w *source.World, memory *world.Memory) {
	const name = "other webhooks"
	hooks, err := closedHooks(ctx, clients)
	if err != nil {
		c.Skip(name, err.Error())
		return
	}
	asleep := sleepersOf(memory)
	var findings, unsure []string
	for _, h := range hooks {
		refused := h.refused(w, memory, asleep)
		if len(refused) == 0 {
			continue
		}
		if h.service == "" {
			unsure = append(unsure, h.byURL(refused))
			continue
		}
		b, err := backendOf(ctx, clients, h)
		if err != nil {
			c.Skip(name, err.Error())
			return
		}
		findings = append(findings, h.findings(b, refused, b.sleeping(memory, asleep, h.namespace))...)
	}
	slices.Sort(findings)
	slices.Sort(unsure)
	c.Add(name, workload.Count(len(hooks), "webhook")+" of other programs that fail closed, none in the way", slices.Concat(findings, unsure))
	if len(findings) == 0 && len(unsure) > 0 {
		c.Checks[len(c.Checks)-1].Outcome = NotChecked
	}
}

// byURL returns the text about a webhook at a URL, whose backend doctor cannot see.
func (h *hook) byURL(refused []string) string {
	return fmt.Sprintf("%s fails closed, and its backend at %s cannot be checked from here: while it does not answer, %s", h.name, h.url,
		h.consequence(refused))
}

// consequence says what the API server refuses while the webhook does not answer.
func (h *hook) consequence(refused []string) string {
	then := "the API server refuses changes of " + few(refused)
	if h.conditional {
		then += " (unless its matchConditions leave them out)"
	}
	return then
}

// closedHooks returns the webhooks of other programs that have the failure policy Fail.
func closedHooks(ctx context.Context, clients Clients) (hooks []hook, err error) {
	others := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name!=flyball"}
	validating, err := clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, others)
	if err != nil {
		return nil, err
	}
	for _, config := range validating.Items {
		for _, v := range config.Webhooks {
			hooks = addHook(hooks, admissionregistrationv1.MutatingWebhook{Name: v.Name, ClientConfig: v.ClientConfig, Rules: v.Rules,
				FailurePolicy: v.FailurePolicy, NamespaceSelector: v.NamespaceSelector, ObjectSelector: v.ObjectSelector,
				MatchConditions: v.MatchConditions}, "ValidatingWebhookConfiguration/"+config.Name)
		}
	}
	mutating, err := clients.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, others)
	if err != nil {
		return nil, err
	}
	for _, config := range mutating.Items {
		for _, m := range config.Webhooks {
			hooks = addHook(hooks, m, "MutatingWebhookConfiguration/"+config.Name)
		}
	}
	return hooks, nil
}

func addHook(hooks []hook, m admissionregistrationv1.MutatingWebhook, in string) []hook {
	if m.FailurePolicy != nil && *m.FailurePolicy == admissionregistrationv1.Ignore {
		return hooks
	}
	namespaces, err := selectorOf(m.NamespaceSelector)
	objects, fault := selectorOf(m.ObjectSelector)
	if err != nil || fault != nil {
		return hooks // an invalid selector cannot occur, because the API server refuses it
	}
	h := hook{name: fmt.Sprintf("webhook %s of %s", m.Name, in), rules: m.Rules, namespaces: namespaces, labels: objects,
		conditional: len(m.MatchConditions) > 0}
	switch at := m.ClientConfig; {
	case at.Service != nil:
		h.namespace, h.service = at.Service.Namespace, at.Service.Name
	case at.URL != nil:
		h.url = *at.URL
	}
	return append(hooks, h)
}

// selectorOf returns the selector of a LabelSelector. An absent LabelSelector selects everything.
func selectorOf(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// backendOf reads the Service of a webhook. A missing Service counts as a Service without a ready endpoint.
func backendOf(ctx context.Context, clients Clients, h hook) (b backend, err error) {
	service, err := clients.CoreV1().Services(h.namespace).Get(ctx, h.service, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return b, nil
	}
	if err != nil {
		return b, err
	}
	b.selector = service.Spec.Selector
	endpoints, err := clients.DiscoveryV1().EndpointSlices(h.namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + h.service})
	if err != nil {
		return b, err
	}
	for _, s := range endpoints.Items {
		for _, e := range s.Endpoints {
			b.ready = b.ready || e.Conditions.Ready == nil || *e.Conditions.Ready
		}
	}
	return b, nil
}

// refused returns the sleeping targets with writes through the webhook, and the namespaces with new pods through the webhook.
func (h *hook) refused(w *source.World, memory *world.Memory, asleep sleepers) []string {
	var targets, pods []string
	for _, ref := range asleep.refs() {
		ns := pairs(memory.Namespace(ref.Namespace).Labels)
		if ref.Namespace != "" && !h.namespaces.Matches(ns) {
			continue
		}
		kind := slices.IndexFunc(w.Kinds, func(k source.AdaptedKind) bool { return k.GroupKind == ref.GroupKind })
		if kind < 0 {
			continue
		}
		resource, adapter := w.Kinds[kind].Resource, memory.Kind(ref.GroupKind).Adapter
		isRefused := h.labels.Matches(pairs(memory.Object(ref).Labels)) &&
			h.covers(resource.Group, resource.Resource, admissionregistrationv1.Update)
		isScaleRefused := adapter.UsesScale() && h.labels.Matches(labels.Set{}) && // a Scale has no labels
			h.covers(resource.Group, resource.Resource+"/scale", admissionregistrationv1.Update)
		if isRefused || isScaleRefused {
			targets = append(targets, ref.String())
		}
		podLabels, hasPods := podLabelsOf(memory, ref)
		if made := "new pods in namespace " + ref.Namespace; hasPods && !slices.Contains(pods, made) &&
			h.labels.Matches(podLabels) && h.covers("", "pods", admissionregistrationv1.Create) {
			pods = append(pods, made)
		}
	}
	return append(targets, pods...)
}

func pairs(all workload.Pairs) labels.Set {
	set := labels.Set{}
	for _, p := range all {
		set[p.Key] = p.Value
	}
	return set
}

// covers reports whether a rule of the webhook includes an operation on a resource, such as deployments or
// deployments/scale.
func (h *hook) covers(group, resource string, op admissionregistrationv1.OperationType) bool {
	name, sub, _ := strings.Cut(resource, "/")
	return slices.ContainsFunc(h.rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return (slices.Contains(r.Operations, op) || slices.Contains(r.Operations, admissionregistrationv1.OperationAll)) &&
			(slices.Contains(r.APIGroups, group) || slices.Contains(r.APIGroups, "*")) &&
			slices.ContainsFunc(r.Resources, func(pattern string) bool {
				inName, inSub, hasSub := strings.Cut(pattern, "/")
				if pattern == "*/*" || pattern == "*" && sub == "" {
					return true
				}
				return (inName == name || inName == "*") && (inSub == sub || hasSub && inSub == "*")
			})
	})
}

// sleeping returns the sleeping targets with pods behind the Service, each with its schedule.
func (b backend) sleeping(memory *world.Memory, asleep sleepers, namespace string) []string {
	if len(b.selector) == 0 {
		return nil
	}
	var found []string
	for _, ref := range asleep.behind(memory, namespace, labels.SelectorFromSet(b.selector)) {
		found = append(found, fmt.Sprintf("%s, which %s puts to sleep", ref, asleep[ref]))
	}
	return found
}

// findings returns texts about the consequences of a backend that sleeps or is not ready.
func (h *hook) findings(b backend, refused, sleeping []string) []string {
	then := h.consequence(refused)
	const leaveOut = "leave them out by its namespaceSelector"
	var all []string
	if !b.ready {
		all = append(all, fmt.Sprintf("%s fails closed, and its Service %s/%s has no ready endpoint: %s, so nothing of that sleeps or wakes. "+
			"Mend the backend, or %s", h.name, h.namespace, h.service, then, leaveOut))
	}
	for _, s := range sleeping {
		all = append(all, fmt.Sprintf("%s fails closed, and behind its Service %s/%s is %s: in that time %s, which cannot wake then. "+
			"Exclude the backend from the schedule (target.exclude, excludeNamespaces), or %s", h.name, h.namespace, h.service, s, then, leaveOut))
	}
	return all
}
