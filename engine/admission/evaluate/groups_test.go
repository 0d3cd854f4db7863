package evaluate

import (
	"slices"
	"testing"
)

// The groups are the ones that an API server adds to an impersonated user.
func TestImpersonatedUserGetsOwnGroups(t *testing.T) {
	for _, test := range []struct {
		user         string
		groups, want []string
	}{
		{"alice", nil, []string{"system:authenticated"}},
		{"alice", []string{"sre"}, []string{"sre", "system:authenticated"}},
		{"alice", []string{"system:authenticated"}, []string{"system:authenticated"}},
		{"system:serviceaccount:ci:deployer", nil, []string{"system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"}},
		{"system:serviceaccount:ci:deployer", []string{"sre"}, []string{"sre", "system:authenticated"}},
		{"system:serviceaccount:ci:", nil, []string{"system:authenticated"}},
		{"system:serviceaccount:ci:deployer:x", nil, []string{"system:authenticated"}},
		{"system:serviceaccount:CI:deployer", nil, []string{"system:authenticated"}},
		{"alice", []string{"system:unauthenticated"}, []string{"system:unauthenticated"}},
		{"system:anonymous", nil, []string{"system:unauthenticated"}},
	} {
		if got := Impersonated(test.user, test.groups...).Groups; !slices.Equal(got, test.want) {
			t.Errorf("%s in %v: %v, want %v", test.user, test.groups, got, test.want)
		}
	}
}
