//go:build unix && !linux

package cluster

import (
	"os/exec"
	"syscall"
)

// bindToParent only puts the child into a process group of its own. There is no parent death signal here, so a
// supervisor killed with SIGKILL leaves its children behind.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
