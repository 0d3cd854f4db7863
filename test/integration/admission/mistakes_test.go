package admission

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/test/mistakes"
)

// The command line gives the same answers: see TestErrorsOfTypicalMistakesNameTheField of its package source.
var _ = Describe("A typical mistake", func() {
	for _, m := range mistakes.Mistakes {
		It("is named with its field: "+m.Kind+" "+m.Spec, func() {
			err := env.Client.Create(ctx, object(m.Kind, "mistaken", m.Spec), client.DryRunAll, client.FieldValidation("Strict"))
			Expect(err).To(MatchError(And(ContainSubstring(m.Field), ContainSubstring(m.Says), Not(ContainSubstring("anyOf")),
				Not(ContainSubstring("should match")))))
		})
	}
})
