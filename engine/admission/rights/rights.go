package rights

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AccessReviewer checks the rights of a user. The SubjectAccessReviewInterface of client-go implements it.
type AccessReviewer interface {
	Create(ctx context.Context, review *authorizationv1.SubjectAccessReview, opts metav1.CreateOptions) (*authorizationv1.SubjectAccessReview,
		error)
}

// May reports whether a user has a right. A review that the API server does not answer is an error.
func May(ctx context.Context, reviews AccessReviewer, user authenticationv1.UserInfo,
	attributes authorizationv1.ResourceAttributes) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for k, values := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(values)
	}
	answer, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra, ResourceAttributes: &attributes,
	}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether user %q may %s %s: %w", user.Username, attributes.Verb, attributes.Resource, err)
	}
	return answer.Status.Allowed, nil
}
