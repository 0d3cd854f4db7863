package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Zones returns the zones (topology.kubernetes.io/zone) of the simulated nodes, in turn.
func Zones() []string { return []string{"zone-a", "zone-b", "zone-c"} }

// startWorkloads starts controllers, scheduler and nodes, and waits until a pod could run in the default namespace.
func (c *Cluster) startWorkloads(ctx context.Context) error {
	kwok, err := c.startKWOK()
	if err != nil {
		return err
	}
	for i := range c.opts.Nodes {
		if err := c.createNode(ctx, i); err != nil {
			return err
		}
	}
	storageClass, err := os.ReadFile(filepath.Join(c.bin.share, assetStorageClass))
	if err != nil {
		return fmt.Errorf("read the storage class: %w", err)
	}
	if err := c.client.create(ctx, "/apis/storage.k8s.io/v1/storageclasses", storageClass); err != nil {
		return fmt.Errorf("create the storage class: %w", err)
	}
	manager, err := c.startControllerManager()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.manager = manager
	c.mu.Unlock()
	scheduler, err := c.startScheduler()
	if err != nil {
		return err
	}
	return await(ctx, "nodes and the default service account to be ready", c.checkWorkloads, kwok, manager, scheduler)
}

// StopControllers kills kube-controller-manager: nothing acts on workloads until StartControllers. All other components keep running.
func (c *Cluster) StopControllers() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.manager == nil {
		return errors.New("stop kube-controller-manager: it does not run")
	}
	c.manager.kill()
	c.forget(c.manager)
	c.manager = nil
	return nil
}

// StartControllers starts kube-controller-manager again after StopControllers.
func (c *Cluster) StartControllers() error {
	c.mu.Lock()
	running := c.manager != nil
	c.mu.Unlock()
	if running || c.opts.Level == LevelAPI {
		return errors.New("start kube-controller-manager: it was not stopped")
	}
	manager, err := c.startControllerManager()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.manager = manager
	c.mu.Unlock()
	return nil
}

func (c *Cluster) startControllerManager() (*process, error) {
	kubeconfig, err := c.componentKubeconfig(binControllerManager, "system:"+binControllerManager)
	if err != nil {
		return nil, err
	}
	qps, burst := c.rates()
	args := []string{
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
		"--secure-port", "0",
		"--use-service-account-credentials", "--leader-elect=false",
		"--service-account-private-key-file", c.serviceAccountKeyFile(), "--root-ca-file", c.ca.certFile(),
		"--cluster-signing-cert-file", c.ca.certFile(), "--cluster-signing-key-file", c.ca.keyFile(),
		// Nodes need no pod ranges, but their life cycle controller, which removes the not-ready taint.
		"--controllers", "*,-nodeipam",
		"--kube-api-qps", qps, "--kube-api-burst", burst,
		"--horizontal-pod-autoscaler-sync-period", "2s",
	}
	if c.opts.HighQPS {
		args = append(args, "--concurrent-deployment-syncs", "20", "--concurrent-replicaset-syncs", "20", "--concurrent-statefulset-syncs", "20")
	}
	return c.run(binControllerManager, append(args, c.opts.ExtraControllerManagerArgs...))
}

func (c *Cluster) startScheduler() (*process, error) {
	kubeconfig, err := c.componentKubeconfig(binScheduler, "system:"+binScheduler)
	if err != nil {
		return nil, err
	}
	qps, burst := c.rates()
	return c.run(binScheduler, []string{
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
		"--secure-port", "0", "--leader-elect=false",
		"--kube-api-qps", qps, "--kube-api-burst", burst,
	})
}

// rates returns the request rate and burst of controllers.
func (c *Cluster) rates() (qps, burst string) {
	if c.opts.HighQPS {
		return "500", "1000"
	}
	return "100", "200"
}

func (c *Cluster) startKWOK() (*process, error) {
	// KWOK simulates all kubelets and the volume provisioner.
	kubeconfig, err := c.componentKubeconfig(binKWOK, binKWOK)
	if err != nil {
		return nil, err
	}
	server, err := c.ca.server("kwok-server")
	if err != nil {
		return nil, err
	}
	port, err := c.ports.take()
	if err != nil {
		return nil, err
	}
	args := []string{
		"--kubeconfig", kubeconfig,
		"--manage-all-nodes", "--node-lease-duration-seconds", "40",
		"--cidr", podRange, "--node-ip", "127.0.0.1", "--node-port", fmt.Sprint(port),
		"--server-address", loopback(port),
		"--tls-cert-file", server.certFile, "--tls-private-key-file", server.keyFile,
	}
	configs, err := c.writeKWOKConfigs()
	if err != nil {
		return nil, err
	}
	for _, file := range configs {
		args = append(args, "--config", file)
	}
	return c.run(binKWOK, args)
}

// createNode creates one Node; KWOK does the work of its kubelet.
func (c *Cluster) createNode(ctx context.Context, index int) error {
	name := fmt.Sprintf("node-%d", index+1)
	resources := map[string]string{"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"}
	node := map[string]any{
		"apiVersion": "v1",
		"kind":       "Node",
		"metadata": map[string]any{
			"name": name,
			"labels": map[string]string{
				"kubernetes.io/arch":            "amd64",
				"kubernetes.io/hostname":        name,
				"kubernetes.io/os":              "linux",
				"topology.kubernetes.io/region": "local",
				"topology.kubernetes.io/zone":   Zones()[index%len(Zones())],
			},
			"annotations": map[string]string{
				"metrics.k8s.io/resource-metrics-path": "/metrics/nodes/" + name + "/metrics/resource",
			},
		},
		"status": map[string]any{
			"allocatable": resources,
			"capacity":    resources,
			"nodeInfo": map[string]string{
				"architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": KubernetesVersion,
				"bootID": "", "containerRuntimeVersion": "kwok://" + KWOKVersion, "kernelVersion": "", "kubeProxyVersion": "",
				"machineID": "", "osImage": "", "systemUUID": "",
			},
		},
	}
	raw, err := json.Marshal(node)
	if err != nil {
		return fmt.Errorf("encode node %s: %w", name, err)
	}
	if err := c.client.create(ctx, "/api/v1/nodes", raw); err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	return nil
}

// checkWorkloads returns nil if all nodes accept pods and the default namespace has its service account, without which
// no pod is admitted.
func (c *Cluster) checkWorkloads(ctx context.Context) error {
	var nodes struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct{ Taints []struct{ Key string } }
			Status   struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := c.client.get(ctx, "/api/v1/nodes?resourceVersion=0", &nodes); err != nil {
		return err
	}
	if len(nodes.Items) < c.opts.Nodes {
		return fmt.Errorf("%d of %d nodes exist", len(nodes.Items), c.opts.Nodes)
	}
	for _, n := range nodes.Items {
		if len(n.Spec.Taints) > 0 {
			return fmt.Errorf("node %s has the taint %s", n.Metadata.Name, n.Spec.Taints[0].Key)
		}
		ready := false
		for _, condition := range n.Status.Conditions {
			ready = ready || condition.Type == "Ready" && condition.Status == "True"
		}
		if !ready {
			return fmt.Errorf("node %s is not ready", n.Metadata.Name)
		}
	}
	err := c.client.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
	if err != nil {
		return errors.Join(errors.New("the default service account does not exist"), err)
	}
	return nil
}

// componentKubeconfig writes the kubeconfig file of a component with the token of its user.
func (c *Cluster) componentKubeconfig(component, user string) (string, error) {
	file := c.pki(component + ".kubeconfig")
	return file, writeKubeconfig(file, c.URL(), c.ca, c.tokens[user])
}
