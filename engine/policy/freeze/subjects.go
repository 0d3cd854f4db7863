package freeze

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// judged has the subjects whose changes a rule judges: only limits them, and not excludes some.
type judged struct{ only, not subjectSet }

// subjectSet is a set of users and groups. A service account is in it by its name as a user.
type subjectSet struct{ users, groups sets.Set[string] }

// everybody reports whether the changes of all users are judged.
func (j *judged) everybody() bool { return j.only.isEmpty() && j.not.isEmpty() }

// text returns the judged users and groups in words; empty: everybody.
func (j *judged) text() string {
	switch {
	case j.everybody():
		return ""
	case j.not.isEmpty():
		return j.only.text()
	case j.only.isEmpty():
		return "all but " + j.not.text()
	}
	return j.only.text() + ", but not " + j.not.text()
}

// text returns the names of the set, at most three.
func (s *subjectSet) text() string {
	var names []string
	for _, of := range []struct {
		kind string
		in   sets.Set[string]
	}{{"user", s.users}, {"group", s.groups}} {
		for _, name := range sets.List(of.in) {
			names = append(names, of.kind+" "+name)
		}
	}
	if n := len(names); n > 3 {
		names = append(names[:2], fmt.Sprintf("%d more", n-2))
	}
	return strings.Join(names, ", ")
}

// judges reports whether the changes of a user are judged.
func (j *judged) judges(user string, groups []string) bool {
	return (j.only.isEmpty() || j.only.has(user, groups)) && !j.not.has(user, groups)
}

func (s *subjectSet) isEmpty() bool { return len(s.users)+len(s.groups) == 0 }

func (s *subjectSet) has(user string, groups []string) bool {
	return s.users.Has(user) || len(s.groups) > 0 && s.groups.HasAny(groups...)
}

// subjects compiles both lists of subjects.
func subjects(rules v1alpha1.FreezeRules, at *field.Path) (j judged, errs field.ErrorList) {
	var es field.ErrorList
	j.only, errs = subjectsOf(rules.Subjects, at.Child("subjects"))
	j.not, es = subjectsOf(rules.ExcludeSubjects, at.Child("excludeSubjects"))
	return j, append(errs, es...)
}

func subjectsOf(list []v1alpha1.FreezeSubject, at *field.Path) (s subjectSet, errs field.ErrorList) {
	if len(list) == 0 {
		return s, nil
	}
	s = subjectSet{users: sets.New[string](), groups: sets.New[string]()}
	for i, of := range list {
		errs = append(errs, policy.OneOf(at.Index(i).Child("kind"), of.Kind, "User", "Group", "ServiceAccount")...)
		if (of.Namespace != "") != (of.Kind == "ServiceAccount") {
			errs = append(errs, field.Invalid(at.Index(i).Child("namespace"), of.Namespace,
				"a ServiceAccount has a namespace, and User and Group have none"))
		}
		switch of.Kind {
		case "Group":
			s.groups.Insert(of.Name)
		case "ServiceAccount":
			s.users.Insert(fmt.Sprintf("system:serviceaccount:%s:%s", of.Namespace, of.Name))
		default:
			s.users.Insert(of.Name)
		}
	}
	return s, errs
}
