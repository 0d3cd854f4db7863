package notifications

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Service is a chat or another service with an incoming webhook.
type Service struct {
	url    string
	body   func(text string) ([]byte, error)
	client *http.Client
}

// NewService returns the sender for a service (but not for e-mail). A redirect that keeps the POST is followed, because some services use
// them; each connection is checked. Any other redirect would lose the message. An address that is no URL, and an unknown
// service, are errors.
func NewService(g *Dialer, kind v1alpha1.ServiceType, address string) (*Service, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, UnusableValue{"spec.to.service.urlFrom",
			"the value in the Secret is no URL: write the https:// address of the incoming webhook"}
	}
	body := bodies[kind]
	if body == nil {
		return nil, fmt.Errorf("spec.to.service.type: %s is not known", kind)
	}
	client := &http.Client{Transport: g.Transport(), Timeout: sendTimeout, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if next.Method != http.MethodPost || len(via) >= maxRedirects {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return &Service{url: u.String(), body: body, client: client}, nil
}

// maxRedirects is the number of redirects of one message.
const maxRedirects = 10

// maxDiscord is Discord's limit of a text, in characters.
const maxDiscord = 2000

// bodies make the request of each type of service from a text.
var bodies = map[v1alpha1.ServiceType]func(text string) ([]byte, error){
	v1alpha1.ServiceSlack: func(text string) ([]byte, error) {
		return textOnly(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
	},
	v1alpha1.ServiceMattermost: func(text string) ([]byte, error) { return textOnly(inert(text)) },
	v1alpha1.ServiceRocketChat: func(text string) ([]byte, error) { return textOnly(inert(text)) },
	v1alpha1.ServiceGoogleChat: func(text string) ([]byte, error) { return textOnly(inert(text)) },
	v1alpha1.ServiceDiscord: func(text string) ([]byte, error) {
		if runes := []rune(text); len(runes) > maxDiscord {
			text = string(runes[:maxDiscord-3]) + "..."
		}
		// An empty list stops Discord from notifying anybody about @everyone or <@id> in the name of an object.
		return json.Marshal(map[string]any{"content": text, "allowed_mentions": map[string]any{"parse": []string{}}})
	},
	v1alpha1.ServiceTeams: func(text string) ([]byte, error) {
		return json.Marshal(map[string]any{"type": "message", "attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive",
			"content": map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4",
				"body": []any{map[string]any{"type": "TextBlock", "text": lineBreaks.ReplaceAllString(inert(text), "\n\n"), "wrap": true}}},
		}}})
	},
	v1alpha1.ServiceJSON: func(text string) ([]byte, error) {
		if !json.Valid([]byte(text)) {
			return nil, errors.New("spec.template: the text is no JSON: write {{json .Text}} where a text belongs into it")
		}
		return []byte(text), nil
	},
}

// lineBreaks are replaced by a paragraph in Teams, which shows a single line break as a space.
var lineBreaks = regexp.MustCompile(`\n+`)

// inert returns a text in which a chat finds no mention of users and no link with another text. Tenants choose some names in texts.
func inert(text string) string {
	const space = "\u200b" // of no width
	return strings.NewReplacer("@", "@"+space, "<", "<"+space, "](", "]"+space+"(").Replace(text)
}

func textOnly(text string) ([]byte, error) { return json.Marshal(map[string]string{"text": text}) }

// Send makes one attempt to send a message. The error is the service's refusal, or a lost connection.
func (s *Service) Send(ctx context.Context, e *Envelope) error {
	body, err := s.body(e.Text)
	if err != nil {
		return permanent{err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return permanent{errors.New("the URL in the Secret cannot be used")}
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"flyball"}}
	res, err := s.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxBody)
	return statusError(res)
}
