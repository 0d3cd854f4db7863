package registration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"flyball.dev/flyball/engine/poke"
	"flyball.dev/flyball/engine/workload"
)

// describedBy is the annotation that says by which release's description a configuration is as it is.
const describedBy = "flyball.dev/described-by"

// injects begins the annotations by which cert-manager is asked to set the caBundle of a configuration. The server sets it.
const injects = "cert-manager.io/inject-"

// Author writes configurations as a whole. Every replica does, and those of one release describe them alike. While replicas of
// two releases run, the description of the one that leads counts, and the others leave it: each would undo for ever what the
// other does. The lead goes to the release that stays, and so the newest wins in an upgrade, and in a rollback as well.
type Author struct {
	// Release is the same for all that describe configurations alike; empty: there is nobody else.
	Release string
	// Leads is closed once the replica leads; nil: it does.
	Leads <-chan struct{}
}

// ReleaseOf is a mark of all that a release describes: the configuration of Flyball's own kinds, and that of freezes for an example
// that has everything in it.
func ReleaseOf(own *admissionregistrationv1.ValidatingWebhookConfiguration, scope FreezeScope) (string, error) {
	scope.Namespaces, scope.Owner = admissionregistrationv1.Fail, nil
	rules := []FreezeRule{{Group: "g", Resource: "r", Versions: []string{"v"}, Subresources: []string{"s"}, Actions: workload.ChangeScale, Governs: true}}
	rules = append(rules, FreezeRule{Group: "g", Resource: "n", Namespaces: []string{"n"}, Versions: []string{"v"}, Actions: workload.ChangeCreate})
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

// yields says whether a configuration is described by another release, to which this replica leaves it.
func (a Author) yields(live *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	mark := live.Annotations[describedBy]
	return a.Release != "" && mark != "" && mark != a.Release && !a.leads()
}

// sign edits a configuration: it says whose description it is.
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

// corrected is a configuration that exists, brought to what is wanted; nil if nothing is to be written.
func (a Author) corrected(live, want *admissionregistrationv1.ValidatingWebhookConfiguration) *admissionregistrationv1.ValidatingWebhookConfiguration {
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

// tell notifies once the replica leads, if it does not yet.
func (a Author) tell(done <-chan struct{}, notify chan<- struct{}) {
	if a.leads() {
		return
	}
	go func() {
		select {
		case <-done:
			return
		case <-a.Leads:
		}
		poke.Poke(notify)
	}()
}
