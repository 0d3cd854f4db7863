package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/workload"
)

// conflict is an object of a GitOps tool that applies fields that Flyball is going to change, with the targets of these
// fields.
type conflict struct {
	by workload.Ref
	// unknown is true if the object of the GitOps tool was not read. Its settings are not known in this case.
	unknown bool
	// unsure is the reason why it is not known whether the tool leaves the fields alone; empty: known.
	unsure  string
	targets []workload.Ref
	// fields are the JSON pointers of the applied fields.
	fields []string
}

func (c *conflict) compare(d *conflict) int {
	return cmp.Or(c.by.Compare(d.by), strings.Compare(c.unsure, d.unsure))
}

func (c *conflict) add(target workload.Ref, fields []string) {
	if !slices.Contains(c.targets, target) {
		c.targets = append(c.targets, target)
	}
	for _, f := range fields {
		if !slices.Contains(c.fields, f) {
			c.fields = append(c.fields, f)
		}
	}
}

// text returns the finding with its remedy. The parameter why is the reason why objects of GitOps tools were not read,
// or "".
func (c *conflict) text(why string) string {
	slices.SortFunc(c.targets, workload.Ref.Compare)
	slices.Sort(c.fields)
	targets := c.targets[0].String()
	if more := len(c.targets) - 1; more > 0 {
		targets += " and " + workload.Count(more, "further target")
	}
	name := c.by.Kind + " " + strings.TrimPrefix(c.by.Namespace+"/"+c.by.Name, "/")
	if c.unknown {
		if why == "" {
			why = "its object was not found"
		}
		return fmt.Sprintf("%s applies %s of %s; %s, so its settings are not known. Needed is %s", name,
			strings.Join(c.fields, ", "), targets, why, c.remedy())
	}
	if c.unsure != "" {
		return fmt.Sprintf("%s applies %s of %s; not checked whether it leaves them to Flyball, because %s. Enough is %s", name,
			strings.Join(c.fields, ", "), targets, c.unsure, c.remedy())
	}
	return fmt.Sprintf("%s applies %s of %s, and so takes Flyball's changes back. Set %s", name, strings.Join(c.fields, ", "), targets,
		c.remedy())
}

// remedy returns the setting that makes the GitOps tool leave the fields to Flyball.
func (c *conflict) remedy() string {
	paths := "[" + strings.Join(c.fields, ", ") + "]"
	var kinds []string
	for _, t := range c.targets {
		if !slices.Contains(kinds, t.Kind) {
			kinds = append(kinds, t.Kind)
		}
	}
	kind := strings.Join(kinds, "|")
	switch c.by.GroupKind {
	case applicationKind:
		return `spec: {ignoreDifferences: [{group: "*", kind: "*", managedFieldsManagers: [flyball]}], ` +
			`syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}}`
	case kustomizationKind:
		return fmt.Sprintf("spec: {ignore: [{paths: %s, target: {kind: %s}}]} (from Flux 2.9 on), "+
			"or take the fields out of Git while the targets sleep", paths, kind)
	}
	return fmt.Sprintf("spec: {driftDetection: {ignore: [{paths: %s, target: {kind: %s}}]}}", paths, kind)
}
