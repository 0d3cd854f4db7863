package local_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/test/local"
)

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatalf("make a client: %v", err)
	}
	return client
}

func TestLocalClusterServesAndAudits(t *testing.T) {
	c := local.Start(t, local.Options{Level: local.LevelAPI, Audit: true})
	ctx := t.Context()
	config := c.Config()
	config.UserAgent = "local-test"
	admin := clientFor(t, config)
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"key": "value"}}
	if _, err := admin.CoreV1().ConfigMaps("default").Create(ctx, configMap, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create a config map: %v", err)
	}

	t.Run("the store shows each change of a kind", func(t *testing.T) {
		kept := func() local.Kept {
			all, err := c.Kept(ctx, "/registry/configmaps/default/", "/registry/no-such-kind/")
			if err != nil || len(all) != 2 || all[1] != (local.Kept{}) {
				t.Fatalf("the store answers %v, %v", all, err)
			}
			return all[0]
		}
		before := kept()
		other, err := clientFor(t, c.Config()).CoreV1().ConfigMaps("default").Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if now := kept(); now.Keys != before.Keys+1 || fmt.Sprint(now.Newest) != other.ResourceVersion {
			t.Errorf("after %v the store has %v, and resourceVersion %s was created", before, now, other.ResourceVersion)
		}
		if err := admin.CoreV1().ConfigMaps("default").Delete(ctx, "other", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if now := kept(); now != before {
			t.Errorf("with the same objects as at %v the store has %v", before, now)
		}
	})
	t.Run("a test user is known and has no rights", func(t *testing.T) {
		_, err := clientFor(t, c.ConfigFor("bob")).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("bob lists config maps: error is %v, want forbidden", err)
		}
	})
	t.Run("impersonation keeps the groups", func(t *testing.T) {
		_, err := clientFor(t, c.Impersonate("anyone", "system:masters")).CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Errorf("a member of system:masters lists config maps: %v", err)
		}
	})
	t.Run("an outage keeps the data", func(t *testing.T) {
		if err := c.StopAPIServer(); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err == nil {
			t.Error("a stopped API server answers")
		}
		if err := c.StopAPIServer(); err == nil {
			t.Error("stopping a stopped API server is no error")
		}
		if err := c.StartAPIServer(); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err != nil {
			t.Errorf("get the config map after the outage: %v", err)
		}
	})
	t.Run("requests are audited", func(t *testing.T) {
		requests, err := c.Audit()
		if err != nil {
			t.Fatal(err)
		}
		created := slices.DeleteFunc(requests, func(r local.Request) bool {
			return r.UserAgent != "local-test" || r.Verb != "create"
		})
		if len(created) != 1 || created[0].Object.Name != "kept" || created[0].Response.Code != 201 {
			t.Errorf("creations by this test are %+v, want one of config map kept with code 201", created)
		}
	})
	t.Run("stopped, it is gone", func(t *testing.T) {
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.CoreV1().ConfigMaps("default").Get(ctx, "kept", metav1.GetOptions{}); err == nil {
			t.Error("a stopped cluster answers")
		}
	})
}

func TestUpReportsServerLog(t *testing.T) {
	_, err := local.Up(t.Context(), local.Options{ExtraAPIServerArgs: []string{"--no-such-flag=1"}, Log: t.Output()})
	if err == nil {
		t.Fatal("a cluster starts with a flag that does not exist")
	}
	if want := "unknown flag: --no-such-flag"; !contains(err, want) {
		t.Errorf("error is %v, want one with %q", err, want)
	}
}

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }
