package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/test/harness"
)

// ownConfiguration is the ValidatingWebhookConfiguration of Flyball's own kinds.
const ownConfiguration = "flyball"

// failOpen is an edit that admits every change while the webhook does not answer.
const failOpen = `[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`

// restoredTimes deletes and edits the webhook configurations in turn while a freeze exists. It returns the milliseconds
// from each answer until the configuration is restored.
func (s *stage) restoredTimes(ctx context.Context) ([]float64, error) {
	freeze := freezing(harness.Namespace, "restored")
	if err := s.env.Client.Create(ctx, freeze); err != nil {
		return nil, fmt.Errorf("create a freeze: %w", err)
	}
	configurations := s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	var each []float64
	for _, name := range []string{register.FreezeConfigurationName, ownConfiguration} {
		if err := harness.Poll(ctx, harness.Patience, func() error { return s.isClosed(ctx, name) }); err != nil {
			return nil, err
		}
		for i := range 2 * s.frozenTimes {
			// The configuration of a freeze that ended just before may still be on its way out: then the change is tried again.
			take := func() error {
				if i%2 == 0 {
					return configurations.Delete(ctx, name, metav1.DeleteOptions{})
				}
				_, err := configurations.Patch(ctx, name, types.JSONPatchType, []byte(failOpen), metav1.PatchOptions{})
				return err
			}
			if err := harness.Poll(ctx, harness.Patience, take); err != nil {
				return nil, fmt.Errorf("take the configuration %s away: %w", name, err)
			}
			answered := time.Now()
			closed := func() error { return s.isClosed(ctx, name) }
			if err := harness.PollEvery(ctx, time.Millisecond, harness.Patience, closed); err != nil {
				return nil, fmt.Errorf("the configuration %s is not back: %w", name, err)
			}
			each = append(each, time.Since(answered).Seconds()*1000)
		}
	}
	return each, s.thaw(ctx, freeze, func() error { return nil })
}

// isClosed returns an error unless a configuration makes the API server refuse changes while the webhook does not
// answer.
func (s *stage) isClosed(ctx context.Context, name string) error {
	live, err := s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no configuration %s", name)
	case err != nil:
		return err
	case len(live.Webhooks) == 0 || *live.Webhooks[0].FailurePolicy != admissionregistrationv1.Fail:
		return errors.New("it fails open")
	}
	return nil
}
