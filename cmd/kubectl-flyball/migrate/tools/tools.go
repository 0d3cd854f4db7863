// Package tools converts the objects of other tools to Flyball's objects. It has one file for each tool. The function
// All lists the tools.
package tools

import (
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate/convert"
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate/downscaler"
)

// All returns the tools, in the order in which their objects are printed.
func All() []convert.Tool {
	return []convert.Tool{
		lightsOut(), downscaler.Tool(), kubeGreen(), kubeFreeze(), smartHPA(), tortoise(), podDeletionCost(), kedaCron(), argoSyncWindows(),
	}
}
