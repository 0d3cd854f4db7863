package factory

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"flyball.dev/flyball/engine/admission/evaluate"
)

// User returns the user whose permissions are in question. With a cluster this is the user of the connection, as the
// cluster reports it, including --as. Offline it is the user of --as and --as-group, with the groups
// that a cluster adds.
func (f *Factory) User(ctx context.Context) (evaluate.User, error) {
	if f.Offline() {
		as := &f.Connection.Overrides.AuthInfo
		if name, groups := as.Impersonate, as.ImpersonateGroups; name != "" || len(groups) > 0 {
			return evaluate.Impersonated(name, groups...), nil
		}
		return evaluate.User{}, nil
	}
	config, err := f.RestConfig()
	if err != nil {
		return evaluate.User{}, err
	}
	clients, err := authentication.NewForConfig(config)
	if err != nil {
		return evaluate.User{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	self, err := clients.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return evaluate.User{}, fmt.Errorf("ask the cluster who you are: %w", err)
	}
	return evaluate.User{Name: self.Status.UserInfo.Username, Groups: self.Status.UserInfo.Groups}, nil
}
