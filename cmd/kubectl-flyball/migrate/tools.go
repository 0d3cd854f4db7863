package migrate

// Tools returns the tools, in the order in which their objects are printed.
func Tools() []Tool {
	return []Tool{
		lightsOut(), downscaler(), kubeGreen(), kubeFreeze(), smartHPA(), tortoise(), podDeletionCost(), kedaCron(), argoSyncWindows(),
	}
}
