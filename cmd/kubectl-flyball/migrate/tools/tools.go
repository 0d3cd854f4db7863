// Package tools says what the objects of other tools mean in Flyball's, a file a tool. A tool is a row of All.
package tools

import (
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate/downscaler"
)

// All lists the tools, in the order in which their objects are printed.
func All() []migrate.Tool {
	return []migrate.Tool{
		lightsOut(), downscaler.Tool(), kubeGreen(), kubeFreeze(), smartHPA(), tortoise(), podDeletionCost(), kedaCron(), argoSyncWindows(),
	}
}
