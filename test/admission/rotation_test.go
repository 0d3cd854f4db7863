package admission_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/test/harness"
)

// Two replicas share a Secret and rotate authorities and certificates every few seconds, under constant requests of the
// API server. No request fails, and the configuration trusts every replica at every moment.
func TestRotationUnderLoad(t *testing.T) {
	first := options(t, adapters(t))
	rotateFast(&first)
	second := first
	second.Port = harness.FreePort(t)
	servers := []*serve.Server{}
	for _, opts := range []serve.Options{first, second} {
		server, err := serve.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		serving(t, server, opts)
		servers = append(servers, server)
	}
	for _, server := range servers {
		eventually(t, "ready", func() error { return server.Ready(&http.Request{}) })
	}
	active(t)

	load := harness.StartLoad(200, broken(t))
	authorities := map[string]bool{}
	overlaps := 0
	eventually(t, "two rotations, with moments at which two authorities are trusted", func() error {
		live, err := configurations().Get(t.Context(), first.OwnConfiguration, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		bundle := live.Webhooks[0].ClientConfig.CABundle
		known, err := certutil.ParseCertsPEM(bundle)
		if err != nil {
			t.Fatal(err)
		}
		if len(known) > 1 {
			overlaps++
		}
		for _, ca := range known {
			authorities[ca.SerialNumber.String()] = true
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(bundle)
		for _, opts := range []serve.Options{first, second} {
			if err := shake(fmt.Sprintf("127.0.0.1:%d", opts.Port), roots); err != nil {
				t.Errorf("the replica on port %d is not trusted by the configuration: %v", opts.Port, err)
			}
		}
		if len(authorities) < 3 || overlaps == 0 {
			return fmt.Errorf("%d authorities and %d moments with two of them", len(authorities), overlaps)
		}
		return nil
	})
	failures, summary := load.Stop()
	t.Logf("%s, %d authorities", summary, len(authorities))
	for _, f := range failures {
		t.Errorf("want the validator's refusal, got: %v", f.Err)
	}
}

// rotateFast sets certificates that live 30 s and are replaced after 10 s. In a cluster they live for a year.
func rotateFast(o *serve.Options) { o.CertificateLifetime = 30 * time.Second }

// broken returns a function that requests an Adapter which only the validator refuses.
func broken(t *testing.T) func(context.Context) error {
	user := as(t, "admin")
	return func(ctx context.Context) error {
		bad := read(t, "deployments.apps", `{target: {group: apps, kind: Deployment, versions: [v1]}, scale: [{name: a, replicas: "..x"}]}`)
		if err := user.Create(ctx, bad, client.DryRunAll); !apierrors.IsInvalid(err) {
			return errors.Join(errors.New("not refused by the validator"), err)
		}
		return nil
	}
}
