package scene

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/test/harness"
)

// Object is a Flyball object with a spec given in YAML.
func Object(kind, namespace, name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	objs, err := harness.Objects(fmt.Appendf(nil, "{apiVersion: flyball.dev/v1alpha1, kind: %s, metadata: {name: %s}, spec: %s}", kind, name,
		spec))
	Expect(err).NotTo(HaveOccurred())
	objs[0].SetNamespace(namespace)
	return objs[0]
}
