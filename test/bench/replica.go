package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/test/harness"
)

// deletionReview is the API server's review of a deletion of the frozen Deployment.
const deletionReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"DELETE","namespace":"default","name":"` + frozenName + `",
"resource":{"group":"apps","version":"v1","resource":"deployments"},"userInfo":{"username":"alice"},"dryRun":true,"oldObject":{"metadata":{"name":"` + frozenName + `"}}}}`

// replica is one of several managers that elect a leader and all serve the webhook, as in production.
type replica struct {
	port   int
	url    string
	client *http.Client
	cancel context.CancelFunc
	done   chan error
}

// replicas starts two managers and waits until both are ready. The API server calls the first.
func (s *stage) replicas(ctx context.Context) ([]*replica, error) {
	all := make([]*replica, 2)
	ports, err := freePorts(2 * len(all))
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i] = s.replica(ports[2*i], ports[2*i+1], ports[0])
	}
	for i, r := range all {
		if err := r.ready(ctx, ports[2*i+1]); err != nil {
			err = fmt.Errorf("wait for replica %d: %w", i, err)
			for _, r := range all {
				err = errors.Join(err, r.stop())
			}
			return nil, err
		}
	}
	return all, nil
}

// replica starts one manager that listens on two ports of this machine. The webhook does not judge its changes, because
// the manager has an account of its own.
func (s *stage) replica(port, health, asked int) *replica {
	ctx, cancel := context.WithCancel(context.Background())
	r := &replica{
		port: port, url: fmt.Sprintf("https://127.0.0.1:%d%s", port, register.JudgePath), cancel: cancel, done: make(chan error, 1),
		// The certificate is for the API server, which is not measured here.
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}},
	}
	go func() {
		r.done <- app.Run(ctx, s.env.Cluster.Impersonate("flyball", "system:masters"), app.Options{
			MetricsAddress: "0", HealthAddress: fmt.Sprintf("127.0.0.1:%d", health), Namespace: harness.Namespace, LeaderElection: true,
			Workers: s.writers, QPS: -1, ShutdownTimeout: 10 * time.Second, Log: logr.Discard(), Registry: prometheus.NewRegistry(),
			Webhook: app.WebhookOptions{Enabled: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", asked),
				Secret: "flyball"},
		})
	}()
	return r
}

// ready waits until the manager is ready and returns a verdict.
func (r *replica) ready(ctx context.Context, health int) error {
	return harness.Poll(ctx, harness.Patience, func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", health), nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("it is not ready: status %d", resp.StatusCode)
		}
		return allAllow(ctx, []*replica{r})
	})
}

// askDeletion sends the review of a deletion of the frozen Deployment to the replica, as the API server does.
func (r *replica) askDeletion(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(deletionReview))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(resp.Body)
	return answer, errors.Join(err, resp.Body.Close())
}

func (r *replica) stop() error {
	r.cancel()
	if err := <-r.done; err != nil {
		return fmt.Errorf("a replica ended: %w", err)
	}
	return nil
}

// freePorts returns reserved ports of this machine.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		var err error
		if ports[i], err = harness.Port(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}
