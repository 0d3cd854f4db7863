package cluster

import (
	"os/exec"
	"syscall"
)

// bindToParent also puts the child into a process group of its own, so that an
// interrupt typed at a terminal reaches the supervisor only, which then stops
// everything in order.
func bindToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
