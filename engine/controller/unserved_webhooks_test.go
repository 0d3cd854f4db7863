package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A replica with a webhook, still running during the update, recreates a removed configuration.
func TestRecreatedConfigurationsAreRemovedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there := map[string]bool{"flyball": true, "flyball-freeze": true}
		comesBack := time.Now().Add(12 * time.Second)
		refusals := 1
		c := &Cleanup{
			Names: []string{"flyball-freeze", "flyball"}, Log: logr.Discard(),
			Delete: func(_ context.Context, name string, _ metav1.DeleteOptions) error {
				if !comesBack.IsZero() && !time.Now().Before(comesBack) {
					there["flyball-freeze"], comesBack = true, time.Time{}
				}
				kind := schema.GroupResource{Resource: "validatingwebhookconfigurations"}
				switch {
				case refusals > 0:
					refusals--
					return apierrors.NewForbidden(kind, name, nil)
				case !there[name]:
					return apierrors.NewNotFound(kind, name)
				}
				there[name] = false
				return nil
			},
		}
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if there["flyball"] || there["flyball-freeze"] {
			t.Errorf("what is left: %v", there)
		}
		began := time.Now()
		if err := c.Start(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("where there is none it takes %s, %v", time.Since(began), err)
		}
	})
}
