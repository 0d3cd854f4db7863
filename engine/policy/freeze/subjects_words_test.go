package freeze

import (
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
)

func TestJudgedSubjectsInWords(t *testing.T) {
	of := func(kind string, names ...string) (all []v1alpha1.FreezeSubject) {
		for _, name := range names {
			all = append(all, v1alpha1.FreezeSubject{Kind: kind, Name: name})
		}
		return all
	}
	for want, rules := range map[string]v1alpha1.FreezeRules{
		"":                         {},
		"group trainees":           {Subjects: of("Group", "trainees")},
		"all but group on-call":    {ExcludeSubjects: of("Group", "on-call")},
		"group a, but not user b":  {Subjects: of("Group", "a"), ExcludeSubjects: of("User", "b")},
		"user a, user b, 2 more":   {Subjects: of("User", "d", "c", "b", "a")},
		"all but user a, group on": {ExcludeSubjects: append(of("Group", "on"), of("User", "a")...)},
	} {
		j, errs := subjects(rules, nil)
		if got := j.text(); got != want || len(errs) > 0 {
			t.Errorf("got %q %v, want %q", got, errs, want)
		}
	}
}
