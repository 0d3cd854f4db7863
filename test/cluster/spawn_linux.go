package cluster

import (
	"os/exec"
	"syscall"
)

// bindToParent also puts the child into a process group of its own, so that an interrupt from the terminal reaches only
// the supervisor, which then stops everything in order.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
