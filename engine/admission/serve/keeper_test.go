package serve

import (
	"context"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/admission/register"
)

// A manager has no right to recreate its deleted Secret. The log and the readiness name the Secret and the remedy.
func TestMissingSecretIsNamed(t *testing.T) {
	client := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(corev1.Resource("secrets"), "", nil)
		},
	}).Build()
	k, err := newKeeper(Options{Keeper: &register.Registrar{WithWatch: client, Log: testr.New(t)},
		Secret:   types.NamespacedName{Namespace: "flyball-system", Name: "flyball-webhook-cert"},
		Endpoint: register.Endpoint{URL: "https://localhost:1"}, CertificateLifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	err = k.sync(t.Context(), time.Now())
	for place, got := range map[string]error{"log": err, "readiness": k.ready()} {
		if got == nil || !strings.Contains(got.Error(), "flyball-webhook-cert is missing") || !strings.Contains(got.Error(), "helm upgrade") {
			t.Errorf("the %s says %v", place, got)
		}
	}
}
