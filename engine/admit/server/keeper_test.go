package server

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"flyball.dev/flyball/engine/admit/credential"
	"flyball.dev/flyball/engine/admit/registration"
)

// A manager has no right to recreate its deleted Secret. The log and the readiness name the Secret and the remedy.
func TestMissingSecretIsNamed(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), "", nil)
	})
	k := &keeper{
		secrets: client.CoreV1().Secrets("flyball-system"), secret: types.NamespacedName{Namespace: "flyball-system",
			Name: "flyball-webhook-cert"},
		hooks:    &registration.Hooks{Client: client.AdmissionregistrationV1().ValidatingWebhookConfigurations()},
		rotation: credential.Rotation{Hosts: []string{"localhost"}, Life: time.Hour, Overlap: time.Minute, Issue: credential.Issue},
		log:      testr.New(t),
	}
	_, err := k.sync(t.Context(), time.Now())
	for place, got := range map[string]error{"log": err, "readiness": k.ready()} {
		if got == nil || !strings.Contains(got.Error(), "flyball-webhook-cert is missing") || !strings.Contains(got.Error(), "helm upgrade") {
			t.Errorf("the %s says %v", place, got)
		}
	}
}
