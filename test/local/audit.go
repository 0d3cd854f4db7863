package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Request is one answered request from the API server's audit log.
type Request struct {
	// Verb is the API verb, for example patch or watch.
	Verb string `json:"verb"`
	// Stage is ResponseComplete, ResponseStarted (for running watches) or Panic. An ended watch appears again as
	// ResponseComplete.
	Stage string `json:"stage"`
	// URI is the path and query of the request.
	URI       string `json:"requestURI"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	} `json:"user"`
	// Object is nil for requests without a resource.
	Object *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

// Audit returns all requests answered by the API server so far, in the order of their end. The cluster must have been
// started with Options.Audit.
func (c *Cluster) Audit() ([]Request, error) {
	if c.audit == "" {
		return nil, errors.New("read the audit log: the cluster was started without Options.Audit")
	}
	raw, err := os.ReadFile(c.audit)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	var requests []Request
	for line := range bytes.Lines(raw) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // the server is writing it
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("decode line %d of the audit log: %w", len(requests)+1, err)
		}
		requests = append(requests, r)
	}
	return requests, nil
}
