package main

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
)

// updating measures updates of Deployments through the API server. Our webhook and a webhook that always allows judge
// them in turns. The API server always calls the same address, behind which the webhook is exchanged.
func (b *bench) updating(ctx context.Context) (err error) {
	s, err := b.stage(ctx)
	if err != nil {
		return err
	}
	if err := s.grow(ctx, s.perNamespace); err != nil {
		return err
	}
	judge, err := b.judgeOf(1000)
	if err != nil {
		return err
	}
	front := &switchboard{}
	front.to(allowing())
	server := overTLS(front)
	defer server.Close()
	if err := s.judgedBy(ctx, server); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.judgedByNobody(ctx, front)) }()
	if err := s.awaitJudged(ctx, front, true); err != nil {
		return err
	}
	update := func(webhook http.Handler) func() (durations, error) {
		return func() (durations, error) {
			front.to(webhook)
			return timed(ctx, updaters, updateBlock, s.update)
		}
	}
	var added []float64
	for round := 0; b.again(b.admitRounds, added); round++ {
		mine, bare, err := inTurns(b.updatesJudged/updateBlock, update(judge), update(allowing()))
		if err != nil {
			return err
		}
		if round == 0 {
			continue // connections and caches are warm now
		}
		b.report.say("%d updates, judged: p99 %.2f ms; always allowed: p99 %.2f ms", len(mine.each), mine.p99(), bare.p99())
		added = append(added, mine.p99()-bare.p99())
	}
	b.report.rounds("admit_added_p99_ms", added)
	b.report.figure("admit_added_p99_ms", median(added), "ms")
	return nil
}

// switchboard is a webhook that forwards reviews and counts them.
type switchboard struct {
	handler atomic.Pointer[http.Handler]
	asked   atomic.Int64
}

func (s *switchboard) to(h http.Handler) { s.handler.Store(&h) }

// ServeHTTP implements http.Handler.
func (s *switchboard) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.asked.Add(1)
	(*s.handler.Load()).ServeHTTP(w, req)
}

// update gives one Deployment of the first namespace a new revision.
func (s *stage) update(ctx context.Context, i int) error {
	body := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"bench/turn":"%d-%d"}}}}}`, time.Now().UnixNano(), i)
	_, err := s.clients.AppsV1().Deployments(s.namespaceOf(0)).Patch(ctx, deploymentName(i%s.perNamespace), types.MergePatchType, []byte(body),
		metav1.PatchOptions{FieldManager: "bench"})
	if err != nil && !apierrors.IsConflict(err) { // a conflict means that two workers used the same object
		return fmt.Errorf("update a Deployment: %w", err)
	}
	return nil
}

// awaitJudged waits until the API server calls the webhook for updates, or until it no longer does.
func (s *stage) awaitJudged(ctx context.Context, front *switchboard, judged bool) error {
	return harness.Poll(ctx, harness.Patience, func() error {
		before := front.asked.Load()
		if err := s.update(ctx, 0); err != nil {
			return err
		}
		if asked := front.asked.Load() > before; asked != judged {
			return fmt.Errorf("an update was judged: %t, want %t", asked, judged)
		}
		return nil
	})
}

// judgedBy makes the API server send changes of Deployments to a server on this machine.
func (s *stage) judgedBy(ctx context.Context, server *httptest.Server) error {
	url := server.URL + register.JudgePath
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	rules := []register.FreezeRule{{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: workload.ChangeRollOut}}
	config := register.FreezeConfiguration(admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: bundle}, rules,
		register.FreezeScope{})
	_, err := s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, config, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the webhook configuration: %w", err)
	}
	return nil
}

// judgedByNobody removes the webhook configuration and waits until the API server stops calling it.
func (s *stage) judgedByNobody(ctx context.Context, front *switchboard) error {
	ctx = context.WithoutCancel(ctx)
	err := s.clients.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, register.FreezeConfigurationName,
		metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("delete the webhook configuration: %w", err)
	}
	return s.awaitJudged(ctx, front, false)
}
