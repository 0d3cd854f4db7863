package doctor

import (
	"cmp"
	stdpath "path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// Settings are the settings of an Argo CD for all Applications: the ConfigMap argocd-cm. Why is the reason why the
// ConfigMap is not known.
type Settings struct {
	ConfigMap []byte
	Why       string
}

// argoRule is a rule of Argo CD about ignored differences. Group and kind are patterns with wildcards. An empty name or
// namespace matches everything.
type argoRule struct {
	group, kind, name, namespace string
	// body has jsonPointers, jqPathExpressions and managedFieldsManagers.
	body rawjson.Value
	// isSetting is true for a rule of argocd-cm. Argo CD reads managedFieldsManagers of such a rule only for a whole name
	// of a kind, or for all kinds.
	isSetting bool
}

// argoLeaves is leaves for an Application. It evaluates neither jqPathExpressions nor patterns with braces.
func (a applier) argoLeaves(o applied, pointers []string) (leaves bool, unsure string) {
	if a.root.Get("metadata.annotations."+rawjson.Escape("argocd.argoproj.io/skip-reconcile")).Str == "true" {
		return true, ""
	}
	if !a.respects() {
		return false, ""
	}
	var ignored []string
	for _, rule := range a.rules() {
		if strings.ContainsRune(rule.group+rule.kind, '{') {
			unsure = cmp.Or(unsure, "doctor does not evaluate the pattern "+rule.group+"/"+rule.kind+" of a rule")
			continue
		}
		if !rule.selects(o) {
			continue
		}
		if rule.trusts(o) {
			return true, ""
		}
		ignored = append(ignored, texts(rule.body.Get("jsonPointers"))...)
		if len(rule.body.Get("jqPathExpressions").Array()) > 0 {
			unsure = "it has rules with jqPathExpressions, which doctor does not evaluate"
		}
	}
	switch {
	case areIgnored(pointers, ignored):
		return true, ""
	case unsure == "" && a.settings.ConfigMap == nil:
		unsure = cmp.Or(a.settings.Why, "the ConfigMap argocd-cm, with rules for all Applications, was not read")
	}
	return false, unsure
}

// respects reports whether Argo CD does not overwrite ignored fields when it syncs.
func (a applier) respects() bool {
	return slices.Contains(texts(a.root.Get("spec.syncPolicy.syncOptions")), "RespectIgnoreDifferences=true")
}

// isManual reports whether an Application is synced by hand only. A policy suspends an Application in this way.
func (a applier) isManual() bool {
	if source.RefOf([]byte(a.root.Raw)).GroupKind != applicationKind {
		return false
	}
	automated := a.root.Get("spec.syncPolicy.automated")
	return !automated.IsObject() || automated.Get("enabled").Type == rawjson.False
}

// rules returns the rules of an Application, and the rules of argocd-cm for all Applications.
func (a applier) rules() (all []argoRule) {
	for _, rule := range a.root.Get("spec.ignoreDifferences").Array() {
		all = append(all, argoRule{group: rule.Get("group").Str, kind: rule.Get("kind").Str, name: rule.Get("name").Str,
			namespace: rule.Get("namespace").Str, body: rule})
	}
	add := func(of []string, body string) {
		rule := argoRule{kind: of[len(of)-1], body: parseYAML(body), isSetting: true}
		if len(of) > 1 {
			rule.group = of[0]
		}
		all = append(all, rule)
	}
	rawjson.GetBytes(a.settings.ConfigMap, "data").ForEach(func(key, value rawjson.Value) bool {
		kind, isRule := strings.CutPrefix(key.Str, "resource.customizations.ignoreDifferences.")
		switch {
		case kind == "all" && isRule:
			add([]string{"*", "*"}, value.Str)
		case isRule:
			add(strings.SplitN(kind, "_", 2), value.Str)
		case key.Str == "resource.customizations":
			parseYAML(value.Str).ForEach(func(kind, rules rawjson.Value) bool {
				add(strings.SplitN(kind.Str, "/", 2), rules.Get("ignoreDifferences").Str)
				return true
			})
		}
		return true
	})
	return all
}

// parseYAML returns a YAML text as JSON. For an unreadable text it returns nothing: Argo CD then refuses all settings.
func parseYAML(text string) rawjson.Value {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return rawjson.Value{}
	}
	return rawjson.ParseBytes(raw)
}

// selects reports whether a rule is about an object.
func (r argoRule) selects(o applied) bool {
	matches := func(pattern, value string) bool {
		fits, err := stdpath.Match(pattern, value)
		return err == nil && fits
	}
	return matches(r.group, o.ref.Group) && matches(r.kind, o.ref.Kind) && (r.name == "" || r.name == o.ref.Name) &&
		(r.namespace == "" || r.namespace == o.ref.Namespace)
}

// trusts reports whether a rule about an object leaves all fields to Flyball that Flyball manages.
func (r argoRule) trusts(o applied) bool {
	isRead := !r.isSetting || r.group == o.ref.Group && r.kind == o.ref.Kind || r.group == "*" && r.kind == "*"
	return isRead && slices.Contains(texts(r.body.Get("managedFieldsManagers")), workload.FieldManager)
}
