package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestChartsRoleForChatsOnlyCreatesAndDeletesOverrides checks the rights of the role for chats and pipelines.
func TestChartsRoleForChatsOnlyCreatesAndDeletesOverrides(t *testing.T) {
	role := rules(t, find(t, render(t), "ClusterRole", "flyball-override"))
	if len(role) != 1 || !slices.Equal(role[0].Resources, []string{"overrides"}) ||
		!slices.Equal(role[0].Verbs, []string{"create", "delete"}) {
		t.Errorf("the role of callers: %+v", role)
	}
	for _, obj := range render(t, "--set", "webhook.enabled=false") {
		if obj.GetName() == "flyball-override" {
			t.Error("without the webhook, which checks the right to patch targets, the role would let chats put everything to sleep")
		}
	}
}

// botWakes lets a service account with nothing but the chart's role wake a sleeping namespace and end that. The role does not let it put
// targets to sleep.
func (s *stage) botWakes() {
	const bot = "--as=system:serviceaccount:shop:bot"
	order := func(name, effect string) string {
		file := filepath.Join(s.TempDir(), name+".yaml")
		text := fmt.Sprintf(`{apiVersion: flyball.dev/v1alpha1, kind: Override, metadata: {name: %s, namespace: shop},
spec: {effect: %s, until: "2099-01-01T00:00:00Z", reason: demo}}`, name, effect)
		s.must(os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	wake, sleep := order("bot", "Awake"), order("bot-asleep", "Asleep")
	if out, err := here.tool(s.ctx, "kubectl", "create", "-f", wake, bot); err == nil {
		s.Errorf("without a right: %s", out)
	}
	must(s.T, "kubectl", "create", "rolebinding", "bot-override", "-n", "shop", "--clusterrole=flyball-override", "--serviceaccount=shop:bot")
	eventually(s.T, func() error {
		_, err := here.tool(s.ctx, "kubectl", "create", "-f", wake, bot)
		return err
	})
	s.replicas(3)
	if out, err := here.tool(s.ctx, "kubectl", "create", "-f", sleep, bot); err == nil {
		s.Errorf("puts targets to sleep without the right to patch them: %s", out)
	}
	must(s.T, "kubectl", "delete", "override", "bot", "-n", "shop", bot, "--timeout=60s")
	s.replicas(0)
}
