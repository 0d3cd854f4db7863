package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"
)

// Kept is the state of a range of etcd's keys. While it stays the same, so do all keys and values: a new or changed key has a
// revision above all others, so equal keys are as many, and all of them older.
type Kept struct {
	// Keys is the number of keys.
	Keys int
	// Newest is the largest revision of a key, which is the resourceVersion of its object; 0 without keys.
	Newest uint64
}

// storeTimeout is far longer than an answer of etcd takes.
const storeTimeout = time.Minute

// Kept returns the state of each range of keys with a prefix such as "/registry/pods/", all at one instant. It costs far less
// than lists, and needs no API server.
func (c *Cluster) Kept(ctx context.Context, prefixes ...string) ([]Kept, error) {
	type ranged struct {
		Key        []byte `json:"key"`
		End        []byte `json:"range_end"`
		KeysOnly   bool   `json:"keys_only"`
		Limit      int    `json:"limit"`
		SortOrder  string `json:"sort_order"`
		SortTarget string `json:"sort_target"`
	}
	type operation struct {
		Range ranged `json:"request_range"`
	}
	var question struct {
		Success []operation `json:"success"`
	}
	for _, p := range prefixes {
		end := []byte(p)
		end[len(end)-1]++ // the first key behind the range
		question.Success = append(question.Success, operation{ranged{[]byte(p), end, true, 1, "DESCEND", "MOD"}})
	}
	var answer struct {
		Responses []struct {
			Range struct {
				Count int `json:"count,string"`
				KVs   []struct {
					Revision uint64 `json:"mod_revision,string"`
				} `json:"kvs"`
			} `json:"response_range"`
		} `json:"responses"`
	}
	if err := c.askStore(ctx, question, &answer); err != nil {
		return nil, fmt.Errorf("ask etcd: %w", err)
	}
	if len(answer.Responses) != len(prefixes) {
		return nil, fmt.Errorf("ask etcd: %d answers to %d questions", len(answer.Responses), len(prefixes))
	}
	all := make([]Kept, len(prefixes))
	for i, r := range answer.Responses {
		all[i].Keys = r.Range.Count
		if len(r.Range.KVs) > 0 {
			all[i].Newest = r.Range.KVs[0].Revision
		}
	}
	return all, nil
}

// askStore sends a transaction to etcd's gateway, which serves JSON beside gRPC.
func (c *Cluster) askStore(ctx context.Context, question, answer any) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://etcd/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return err
	}
	got, err := c.store.Do(r)
	if err != nil {
		return err
	}
	err = json.NewDecoder(got.Body).Decode(answer)
	if got.StatusCode != http.StatusOK {
		err = errors.New(got.Status)
	}
	return errors.Join(err, got.Body.Close())
}

// newStore returns a client of the etcd in a cluster's directory.
func newStore(dir string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(dir, "etcd.sock"))
	}
	return &http.Client{Timeout: storeTimeout, Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 4}}
}
