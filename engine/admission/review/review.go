package review

import (
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/path/rawjson"
)

// These are lengths in bytes: the limits of Kubernetes for names and namespaces, and the length of the longest name of a
// service account, because user names have no limit.
const (
	MaxName      = 253
	MaxNamespace = 63
	MaxUser      = 339
)

// MaxListed is the maximum number of names in a list of an answer.
const MaxListed = 10

// Review has the parts of an admission request needed for judging. Strings share the memory of the request's body.
type Review struct {
	UID         string
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string
	Name        string
	Operation   admissionv1.Operation
	User        string
	UserUID     string
	Groups      []string
	Extra       map[string][]string
	DryRun      bool
	Object      rawjson.Value
	OldObject   rawjson.Value
}

// Read parses an AdmissionReview of admission.k8s.io/v1. It does not decode the objects in the review. Text that is no
// review, and a user with too many groups and extra values, are errors.
func Read(body []byte) (Review, error) {
	if !rawjson.ValidBytes(body) {
		return Review{}, errors.New("read the admission review: it is not JSON")
	}
	root := rawjson.ParseBytes(body)
	request := root.Get("request")
	if version := root.Get("apiVersion").Str; version != admissionv1.SchemeGroupVersion.String() || !request.IsObject() {
		return Review{}, fmt.Errorf("read the admission review: apiVersion %q with a request of JSON type %s", version, request.Type)
	}
	var r Review
	var err error
	request.ForEach(func(key, value rawjson.Value) bool {
		switch key.Str {
		case "uid":
			r.UID = value.String()
		case "resource":
			r.Resource = schema.GroupVersionResource{Group: value.Get("group").String(), Version: value.Get("version").String(),
				Resource: value.Get("resource").String()}
		case "subResource":
			r.Subresource = value.String()
		case "namespace":
			r.Namespace = value.String()
		case "name":
			r.Name = value.String()
		case "operation":
			r.Operation = admissionv1.Operation(value.String())
		case "userInfo":
			err = r.readUser(value)
		case "dryRun":
			r.DryRun = value.Bool()
		case "object":
			r.Object = presence(value)
		case "oldObject":
			r.OldObject = presence(value)
		}
		return err == nil
	})
	return r, err
}

// maxClaims limits the number of a user's groups and extra values. No authenticator returns as many, and the memory for
// them stays small.
const maxClaims = 4096

// readUser parses the requesting user. Too many groups are an error, because a user with fewer groups would have other
// rights.
func (r *Review) readUser(info rawjson.Value) error {
	r.User, r.UserUID = info.Get("username").String(), info.Get("uid").String()
	claims := 0
	counted := func() bool { claims++; return claims <= maxClaims }
	info.Get("groups").ForEach(func(_, g rawjson.Value) bool {
		r.Groups = append(r.Groups, g.String())
		return counted()
	})
	info.Get("extra").ForEach(func(key, values rawjson.Value) bool {
		if r.Extra == nil {
			r.Extra = map[string][]string{}
		}
		values.ForEach(func(_, v rawjson.Value) bool {
			r.Extra[key.String()] = append(r.Extra[key.String()], v.String())
			return counted()
		})
		return claims <= maxClaims && counted()
	})
	if claims > maxClaims {
		return fmt.Errorf("read the admission review: its user has more than %d groups and extra values", maxClaims)
	}
	return nil
}

// presence treats null as absent.
func presence(value rawjson.Value) rawjson.Value {
	if !value.IsObject() {
		return rawjson.Value{}
	}
	return value
}
