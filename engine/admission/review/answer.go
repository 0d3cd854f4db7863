package review

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// uidWithin is the number of bytes at the beginning of a review that contain the UID, which is the first field of the
// request.
const uidWithin = 1 << 10

var uidPattern = regexp.MustCompile(`"uid":\s*"([0-9A-Za-z-]{1,64})"`)

// uidOf returns the UID of an unparsed review, or "" if it is not at its usual place.
func uidOf(body []byte) string {
	if found := uidPattern.FindSubmatch(body[:min(len(body), uidWithin)]); found != nil {
		return string(found[1])
	}
	return ""
}

// reasonOf returns the API status reason of an HTTP status code.
func reasonOf(code int) metav1.StatusReason {
	switch code {
	case http.StatusRequestEntityTooLarge:
		return metav1.StatusReasonRequestEntityTooLarge
	case http.StatusTooManyRequests:
		return metav1.StatusReasonTooManyRequests
	case http.StatusBadRequest:
		return metav1.StatusReasonBadRequest
	default:
		return metav1.StatusReasonInternalError
	}
}

// MaxRefusal is the maximum size of a refusal in bytes.
const MaxRefusal = 4 << 10

// Answer is the answer to the API server.
type Answer struct {
	Allowed  bool
	Code     int32
	Reason   metav1.StatusReason
	Message  string
	Warnings []string
	Audit    map[string]string
	// Patch is a JSON Patch of the object. Empty means no change.
	Patch []byte
}

// AsWarning returns a denial as an answer that admits the change with a warning, and other answers unchanged.
func (a Answer) AsWarning() Answer {
	if a.Allowed || a.Message == "" {
		return a
	}
	return Answer{Allowed: true, Audit: a.Audit, Warnings: append(a.Warnings, "dry run of Flyball: this would be refused: "+a.Message)}
}

// Write sends the answer to a review. The error is a lost connection.
func (a Answer) Write(w http.ResponseWriter, uid string) error {
	response := &admissionv1.AdmissionResponse{UID: types.UID(uid), Allowed: a.Allowed, Warnings: a.Warnings, AuditAnnotations: a.Audit}
	if !a.Allowed {
		response.Result = &metav1.Status{Status: metav1.StatusFailure, Code: a.Code, Reason: a.Reason, Message: a.Message}
	}
	if len(a.Patch) > 0 {
		response.Patch, response.PatchType = a.Patch, new(admissionv1.PatchTypeJSONPatch)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: response,
	})
	if err != nil {
		return fmt.Errorf("encode the answer to the admission review: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // so that a long answer is not sent in chunks
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("send the answer to the admission review: %w", err)
	}
	return nil
}
