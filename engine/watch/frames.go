package watch

import (
	"errors"
	"fmt"
	"io"
)

const (
	// frameBuffer is the initial size in bytes of a stream's buffer: a few ordinary objects.
	frameBuffer = 32 << 10
	// maxFrame bounds one event in bytes. Objects of an API server are ten times smaller.
	maxFrame = 16 << 20
)

// frames splits a stream into its JSON objects, with any white space between them. It finds the end of an
// object by counting brackets outside of strings, which is an order of magnitude cheaper than parsing; the
// projector parses anyway.
//
// It implements the contract of a frame reader in apimachinery: one Read returns one object, or the part that fits and
// io.ErrShortBuffer.
type frames struct {
	source io.ReadCloser
	buffer []byte
	// buffer[from:to] was read and not returned yet.
	from, to int
	// rest is the rest of the object being returned; it is a part of buffer.
	rest []byte
	// err is the error that ended the source.
	err error
}

func newFrames(source io.ReadCloser) *frames { return &frames{source: source} }

// Close implements io.Closer.
func (f *frames) Close() error { return f.source.Close() }

// Read implements io.Reader. At the end of the source it returns io.EOF between objects and
// io.ErrUnexpectedEOF within an object.
func (f *frames) Read(data []byte) (int, error) {
	if len(f.rest) == 0 {
		object, err := f.next()
		if err != nil {
			return 0, err
		}
		f.rest = object
	}
	n := copy(data, f.rest)
	f.rest = f.rest[n:]
	if len(f.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// next returns the next object. It is valid until the next call.
func (f *frames) next() ([]byte, error) {
	if err := f.begin(); err != nil {
		return nil, err
	}
	var s objectScanner
	for looked := 0; ; {
		n, complete := s.advance(f.buffer[f.from+looked : f.to])
		looked += n
		if complete {
			object := f.buffer[f.from : f.from+looked]
			f.from += looked
			return object, nil
		}
		if looked > maxFrame {
			return nil, fmt.Errorf("split a watch stream: an object has more than %d bytes", maxFrame)
		}
		if err := f.fill(); err != nil {
			return nil, err
		}
	}
}

// begin moves to the start of the next object.
func (f *frames) begin() error {
	for {
		for ; f.from < f.to; f.from++ {
			switch c := f.buffer[f.from]; c {
			case ' ', '\n', '\r', '\t':
			case '{':
				return nil
			default:
				return fmt.Errorf("split a watch stream: %q where an object should begin", c)
			}
		}
		if err := f.fill(); err != nil {
			return err
		}
	}
}

// fill reads more of the source behind the buffered bytes, and makes room if needed.
func (f *frames) fill() error {
	if f.err == nil && f.to == len(f.buffer) {
		f.makeRoom()
	}
	for f.err == nil {
		n, err := f.source.Read(f.buffer[f.to:])
		f.to += n
		f.err = err
		if n > 0 {
			return nil
		}
	}
	if errors.Is(f.err, io.EOF) && f.from < f.to {
		return io.ErrUnexpectedEOF
	}
	return f.err
}

// makeRoom moves the pending bytes to the front, in a larger buffer if they fill most of it.
func (f *frames) makeRoom() {
	pending := f.buffer[f.from:f.to]
	if len(pending) > len(f.buffer)/2 || f.buffer == nil {
		f.buffer = make([]byte, max(frameBuffer, 2*len(f.buffer)))
	}
	f.from, f.to = 0, copy(f.buffer, pending)
}

// objectScanner finds the end of an object that arrives in several pieces.
type objectScanner struct {
	depth    int
	inString bool
	escaped  bool
}

// advance scans the next piece. It returns the number of bytes that belong to the object, and whether the
// object ends there.
func (s *objectScanner) advance(text []byte) (n int, complete bool) {
	for i := 0; i < len(text); i++ {
		if s.inString {
			if i = s.closingQuote(text, i); i >= len(text) {
				break
			}
			s.inString = false
			continue
		}
		switch text[i] {
		case '"':
			s.inString = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

// closingQuote returns the index of the closing quote of a string that continues at i, or the text's length.
func (s *objectScanner) closingQuote(text []byte, i int) int {
	if s.escaped {
		s.escaped = false
		i++
	}
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
			s.escaped = i == len(text)
		}
	}
	return i
}
