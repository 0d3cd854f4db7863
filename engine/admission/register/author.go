package register

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

// describedBy is the annotation with the release that wrote a configuration.
const describedBy = "flyball.dev/described-by"

// injects is the prefix of annotations that ask cert-manager to set the caBundle of a configuration. The server sets it
// instead.
const injects = "cert-manager.io/inject-"

// Author writes whole configurations. Every replica writes them, and replicas of one release write the same content.
// While replicas of two releases run, only the leader's release writes; otherwise each release would undo the other's
// writes forever. The lead passes to the surviving release, so the newest release wins both in an upgrade and in a
// rollback.
type Author struct {
	// Release identifies the content of the configurations. Empty means a single release.
	Release string
	// Leads is closed when the replica leads. nil means always.
	Leads <-chan struct{}
}

// ReleaseOf returns a hash of everything that a release describes: the configuration of Flyball's own kinds, and the
// configuration of freezes for an example with every feature. The error is a configuration that cannot be encoded as
// JSON.
func ReleaseOf(own *admissionregistrationv1.ValidatingWebhookConfiguration, scope FreezeScope) (string, error) {
	scope.Namespaces = admissionregistrationv1.Fail
	rules := []FreezeRule{{Group: "g", Resource: "r", Versions: []string{"v"}, Subresources: []string{"s"}, Actions: workload.ChangeScale,
		Governs: true}}
	rules = append(rules, FreezeRule{Group: "g", Resource: "n", Namespaces: []string{"n"}, Versions: []string{"v"},
		Actions: workload.ChangeCreate})
	freezes := FreezeConfiguration(own.Webhooks[0].ClientConfig, rules, scope)
	text, err := json.Marshal([]any{own.Webhooks, freezes.Webhooks})
	if err != nil {
		return "", fmt.Errorf("encode the webhook configurations: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

func (a Author) leads() bool {
	if a.Leads == nil {
		return true
	}
	select {
	case <-a.Leads:
		return true
	default:
		return false
	}
}

// yields reports whether a configuration belongs to another release, so this replica must not write it.
func (a Author) yields(live *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	mark := live.Annotations[describedBy]
	return a.Release != "" && mark != "" && mark != a.Release && !a.leads()
}

// sign sets the release in a configuration.
func (a Author) sign(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for key := range config.Annotations {
		if strings.HasPrefix(key, injects) {
			delete(config.Annotations, key)
		}
	}
	if a.Release == "" {
		return
	}
	if config.Annotations == nil {
		config.Annotations = map[string]string{}
	}
	config.Annotations[describedBy] = a.Release
}

// corrected returns an existing configuration with the wanted content, or nil if nothing has to be written.
func (a Author) corrected(live,
	want *admissionregistrationv1.ValidatingWebhookConfiguration) *admissionregistrationv1.ValidatingWebhookConfiguration {
	if a.yields(live) {
		return nil
	}
	next := live.DeepCopy()
	next.Webhooks = want.Webhooks
	if len(want.OwnerReferences) > 0 {
		next.OwnerReferences = want.OwnerReferences
	}
	a.sign(next)
	if equality.Semantic.DeepEqual(live.Webhooks, next.Webhooks) && equality.Semantic.DeepEqual(live.OwnerReferences, next.OwnerReferences) &&
		equality.Semantic.DeepEqual(live.Annotations, next.Annotations) {
		return nil
	}
	return next
}

// notifyLead notifies at the start of the replica's lead, unless the replica already leads.
func (a Author) notifyLead(done <-chan struct{}, notify chan<- struct{}) {
	if a.leads() {
		return
	}
	go func() {
		select {
		case <-done:
			return
		case <-a.Leads:
		}
		workers.Poke(notify)
	}()
}
