package admit

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// review has the parts of an admission request needed for judging. Strings share the memory of the request's body.
type review struct {
	uid         string
	resource    schema.GroupVersionResource
	subresource string
	namespace   string
	name        string
	operation   admissionv1.Operation
	user        string
	userUID     string
	groups      []string
	extra       map[string][]string
	dryRun      bool
	object      gjson.Result
	oldObject   gjson.Result
}

// readReview parses an AdmissionReview of admission.k8s.io/v1. It does not decode the objects in the review.
func readReview(body []byte) (review, error) {
	if !gjson.ValidBytes(body) {
		return review{}, errors.New("read the admission review: it is not JSON")
	}
	root := gjson.ParseBytes(body)
	request := root.Get("request")
	if version := root.Get("apiVersion").Str; version != admissionv1.SchemeGroupVersion.String() || !request.IsObject() {
		return review{}, fmt.Errorf("read the admission review: apiVersion %q with a request of JSON type %s", version, request.Type)
	}
	var r review
	var err error
	request.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "uid":
			r.uid = value.String()
		case "resource":
			r.resource = schema.GroupVersionResource{Group: value.Get("group").String(), Version: value.Get("version").String(),
				Resource: value.Get("resource").String()}
		case "subResource":
			r.subresource = value.String()
		case "namespace":
			r.namespace = value.String()
		case "name":
			r.name = value.String()
		case "operation":
			r.operation = admissionv1.Operation(value.String())
		case "userInfo":
			err = r.readUser(value)
		case "dryRun":
			r.dryRun = value.Bool()
		case "object":
			r.object = presence(value)
		case "oldObject":
			r.oldObject = presence(value)
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
func (r *review) readUser(info gjson.Result) error {
	r.user, r.userUID = info.Get("username").String(), info.Get("uid").String()
	claims := 0
	counted := func() bool { claims++; return claims <= maxClaims }
	info.Get("groups").ForEach(func(_, g gjson.Result) bool {
		r.groups = append(r.groups, g.String())
		return counted()
	})
	info.Get("extra").ForEach(func(key, values gjson.Result) bool {
		if r.extra == nil {
			r.extra = map[string][]string{}
		}
		values.ForEach(func(_, v gjson.Result) bool {
			r.extra[key.String()] = append(r.extra[key.String()], v.String())
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
func presence(value gjson.Result) gjson.Result {
	if !value.IsObject() {
		return gjson.Result{}
	}
	return value
}

// metadata is the part of an object that selection uses.
type metadata struct {
	name, generateName string
	uid                string
	deleting           bool
	labels             workload.Pairs
	annotations        workload.Pairs
}

// readMetadata parses the metadata of an object, with only the wanted annotations.
func readMetadata(object gjson.Result, wanted []string) metadata {
	if !object.Exists() {
		return metadata{}
	}
	// On an error the result has everything that could be read. The API server has already checked the types.
	kept, _ := workload.NewMetadata(workload.NewInterner(), wanted...).Project([]byte(object.Raw))
	return metadata{
		name: kept.Name, generateName: object.Get("metadata.generateName").String(), uid: kept.UID,
		deleting: kept.Deleting, labels: kept.Labels, annotations: kept.Annotations,
	}
}
