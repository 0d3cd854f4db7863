package evaluate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// These are names of users and groups in Kubernetes.
const (
	anonymous          = "system:anonymous"
	authenticated      = "system:authenticated"
	unauthenticated    = "system:unauthenticated"
	serviceAccountUser = "system:serviceaccount:"
	serviceAccounts    = "system:serviceaccounts"
)

// Impersonated returns a user with the given groups and those that an API server adds to an impersonated user (Kubernetes 1.37.2,
// k8s.io/apiserver/pkg/endpoints/filters/impersonation).
func Impersonated(name string, groups ...string) User {
	if namespace, _, ok := ServiceAccount(name); ok && len(groups) == 0 {
		groups = []string{serviceAccounts, serviceAccounts + ":" + namespace}
	}
	own := authenticated
	if name == anonymous {
		own = unauthenticated
	}
	if !slices.Contains(groups, own) && !slices.Contains(groups, unauthenticated) {
		groups = append(slices.Clone(groups), own)
	}
	return User{Name: name, Groups: groups}
}

// ServiceAccount returns the namespace and the name of the service account with a user name.
func ServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, serviceAccountUser)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && len(validation.ValidateNamespaceName(namespace, false)) == 0 &&
		len(validation.ValidateServiceAccountName(name, false)) == 0
}
