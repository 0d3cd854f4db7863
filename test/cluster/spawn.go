package cluster

import (
	"os/exec"
	"runtime"
)

// spawner starts processes from one operating system thread that lives until close. The kernel ties the parent death
// signal to the thread that started the child, not to the process, and the Go runtime may end threads at any time.
type spawner struct {
	jobs chan func()
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func())}
	go func() {
		// Never unlocked: the thread ends with this goroutine.
		runtime.LockOSThread()
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

// start starts the command, which ends whenever this process ends, for any reason.
func (s *spawner) start(cmd *exec.Cmd) error {
	bindToParent(cmd)
	result := make(chan error)
	s.jobs <- func() { result <- cmd.Start() }
	return <-result
}

// close ends the thread and with it every running process.
func (s *spawner) close() { close(s.jobs) }
