package scene

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
)

// CreateMany creates n Deployments of some replicas.
func CreateMany(namespace, prefix string, n int, replicas int32) {
	GinkgoHelper()
	for i := range n {
		Create(Deployment(namespace, fmt.Sprintf("%s-%d", prefix, i), replicas))
	}
}
