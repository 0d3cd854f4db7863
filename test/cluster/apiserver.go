package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	serviceRange = "10.96.0.0/16"
	serviceIP    = "10.96.0.1" // the first address of the range: Service kubernetes
	podRange     = "10.244.0.0/16"

	// auditPolicy records the metadata of each request once, without bodies.
	auditPolicy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}
`
)

// etcdSocket is in the cluster's directory, which is the working directory of its components: only this user can open it, and no request to
// etcd is encrypted.
const etcdSocket = "etcd.sock"

// startStorage starts etcd and writes all files that the API server reads at its start.
func (c *Cluster) startStorage(ctx context.Context) error {
	peerPort, err := c.ports.take()
	if err != nil {
		return err
	}
	peer := "http://" + loopback(peerPort)
	etcd, err := c.run(binEtcd, []string{
		"--name", "local", "--data-dir", filepath.Join(c.dir, "etcd"),
		"--listen-client-urls", "unix://" + etcdSocket, "--advertise-client-urls", "unix://" + etcdSocket,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "local=" + peer,
		// The data need not survive a power failure, so etcd does not wait for the disk.
		"--unsafe-no-fsync",
		"--log-level", "warn",
	})
	if err != nil {
		return err
	}
	if err := c.writeAPIServerFiles(); err != nil {
		return err
	}
	return await(ctx, "etcd to listen", func(ctx context.Context) error {
		_, err := os.Stat(filepath.Join(c.dir, etcdSocket))
		return err
	}, etcd)
}

func (c *Cluster) writeAPIServerFiles() error {
	if err := writeSecret(c.auditPolicyFile(), []byte(auditPolicy)); err != nil {
		return err
	}
	if err := serviceAccountKey(c.serviceAccountKeyFile()); err != nil {
		return err
	}
	if _, err := c.ca.server("apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc"); err != nil {
		return err
	}
	_, err := c.front.client("front-proxy-client", "front-proxy-client")
	return err
}

func (c *Cluster) pki(file string) string        { return filepath.Join(c.dir, "pki", file) }
func (c *Cluster) serviceAccountKeyFile() string { return c.pki("service-account.key") }
func (c *Cluster) auditPolicyFile() string       { return filepath.Join(c.dir, "audit-policy.json") }

func (c *Cluster) apiServerArgs() []string {
	args := []string{
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(c.port),
		// Without an address the server takes one from the routing table, and ends on a machine without a default
		// route. This address is reserved for documentation.
		"--advertise-address", "192.0.2.1",
		"--etcd-servers", "unix://" + etcdSocket,
		"--tls-cert-file", c.pki("apiserver.crt"), "--tls-private-key-file", c.pki("apiserver.key"),
		"--client-ca-file", c.ca.certFile(), "--token-auth-file", tokenFile(c.dir),
		"--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file", c.serviceAccountKeyFile(),
		"--service-account-signing-key-file", c.serviceAccountKeyFile(),
		"--service-cluster-ip-range", serviceRange,
		"--allow-privileged",
		// Tests send no more than the server can take. Without its queues a start and a request cost a fifth less.
		"--enable-priority-and-fairness=false", "--max-requests-inflight", "0", "--max-mutating-requests-inflight", "0",
		"--requestheader-client-ca-file", c.front.certFile(), "--requestheader-allowed-names", "front-proxy-client",
		"--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group",
		"--requestheader-extra-headers-prefix", "X-Remote-Extra-",
		"--proxy-client-cert-file", c.pki("front-proxy-client.crt"), "--proxy-client-key-file", c.pki("front-proxy-client.key"),
	}
	if !c.opts.Level.includes(LevelWorkloads) {
		// The plugin requires service accounts, and no controller creates them.
		args = append(args, "--disable-admission-plugins", "ServiceAccount")
	}
	if c.opts.Audit {
		args = append(args, "--audit-policy-file", c.auditPolicyFile(), "--audit-log-path", c.AuditLog(), "--audit-log-maxsize", "4096")
	}
	return append(args, c.opts.ExtraAPIServerArgs...)
}

// StartAPIServer starts the API server again after StopAPIServer, on the same port and data, and waits until it is
// ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	c.mu.Lock()
	running := c.apiserver != nil
	c.mu.Unlock()
	if running {
		return errors.New("start kube-apiserver: it runs already")
	}
	ctx, cancel := withStartupTimeout(ctx)
	defer cancel()
	p, err := c.run(binAPIServer, c.apiServerArgs())
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.apiserver = p
	c.mu.Unlock()
	return await(ctx, "kube-apiserver to be ready", func(ctx context.Context) error { return c.client.get(ctx, "/readyz", nil) }, p)
}

// StopAPIServer kills the API server: open connections break and new ones are refused until StartAPIServer. All other
// components keep running.
func (c *Cluster) StopAPIServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.apiserver == nil {
		return errors.New("stop kube-apiserver: it does not run")
	}
	c.apiserver.kill()
	c.forget(c.apiserver)
	c.apiserver = nil
	return nil
}
