package freezecheck

import (
	"slices"
	"strings"
)

// These are names of users and groups in Kubernetes.
const (
	anonymous          = "system:anonymous"
	authenticated      = "system:authenticated"
	unauthenticated    = "system:unauthenticated"
	serviceAccountUser = "system:serviceaccount:"
	serviceAccounts    = "system:serviceaccounts"
)

// ImpliedGroups returns the groups of an impersonated user: the given ones and those that an API server adds.
func ImpliedGroups(user string, groups []string) []string {
	if namespace, _, ok := ServiceAccount(user); ok && len(groups) == 0 {
		groups = []string{serviceAccounts, serviceAccounts + ":" + namespace}
	}
	own := authenticated
	if user == anonymous {
		own = unauthenticated
	}
	if !slices.Contains(groups, own) {
		groups = append(groups, own)
	}
	return groups
}

// ServiceAccount returns the namespace and the name of the service account with a user name.
func ServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccountUser)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != ""
}
