package cluster

import (
	"os/exec"
	"runtime"
)

// spawner starts processes from one operating system thread that lives until
// close. The kernel ties "end me when my parent ends" to the thread that started
// the child, not to the process, and the Go runtime ends threads as it likes.
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

// start starts the command; it ends when this process ends in whatever way.
func (s *spawner) start(cmd *exec.Cmd) error {
	bindToParent(cmd)
	result := make(chan error)
	s.jobs <- func() { result <- cmd.Start() }
	return <-result
}

// close ends the thread and with it every process that still runs.
func (s *spawner) close() { close(s.jobs) }
