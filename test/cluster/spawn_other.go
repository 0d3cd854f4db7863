//go:build unix && !linux

package cluster

import (
	"os/exec"
	"syscall"
)

// bindToParent can only give the child a process group of its own: there is no
// parent death signal here, so a supervisor that is killed with SIGKILL leaves
// its children behind.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
