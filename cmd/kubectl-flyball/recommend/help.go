package recommend

import (
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/history"
	"flyball.dev/flyball/engine/usage/recorded"
)

const examples = `  kubectl flyball recommend deployment/web --usage web.csv
  kubectl flyball recommend deployment/web --offline -f manifests/ --usage web.csv
  kubectl flyball recommend deployment/web --offline -f manifests/ --usage web.jsonl --profile Lean -o json`

// long is the help of the verb, before its flags.
const long = `Says what requests, bounds by hour and target utilisation a workload should have, with the reasons of every number. Nothing is
changed, and nothing has to be installed. The workload and its autoscaler come from manifests (--offline -f) or from the cluster; what it
used comes from files (--usage) or from a Prometheus server (--prometheus). The history is replayed through the manager's own code, as if a
Tortoise in mode Auto had been there since the first sample: the numbers are those that it would have arrived at. A Tortoise that selects the
workload says how it is tuned, and flags that are given go before it. The profile Tortoise has the formulas of mercari/tortoise instead; what
its VPA would recommend is made of the same samples.

The back-test takes the numbers as they were after two thirds of the history, and plays the rest of it through the autoscaler's rules: with the
setting that there is, as recommended then, and with the best setting that is the same at all hours. Cores are those of the scaled container;
a violation is a minute in which demand was above 85 % of what the ready pods request. There is none for less than three days, or without an
autoscaler for CPU.

The columns of files and the queries of Prometheus are below the flags.

Exit codes: 0 success, 1 an error, 2 too little was seen to recommend anything.`

// reference is the text below the flags. It has the default queries, so that a reader can change them.
func reference() string {
	var queries strings.Builder
	for _, name := range history.Queried() {
		queries.WriteString("\n  " + name + "\n    " + recorded.DefaultQueries[name] + "\n")
	}
	return `Each sample is of one container at one instant. Files of comma-separated values name the columns in their first line, and lines that begin
with # are comments. Files of JSON lines have one object a line, with the same names as keys. Empty, or not there, means not known.

  time          needed; RFC 3339 (2037-05-11T18:00:00Z), or seconds of Unix time
  container     needed; its name in the workload
  replicas      needed; pods that were ready
  cpu           mean usage of these pods, in cores: 0.25 or 250m
  memory        largest usage of one of them, in bytes: 268435456 or 256Mi
  throttled     share of the CPU demand that limits kept from being served, from 0 to 1
  oom_kills     kills for lack of memory since the sample before; the limit is needed beside it
  memory_limit  the limit, in bytes or as 256Mi

A sample a minute is best: with less, the next minutes are not learnt, and margins are wider.

A Prometheus server is asked with --prometheus http://prometheus.monitoring:9090, at most a week at a time. The queries are these;
--query NAME=PROMQL puts another one in place. Each gives one series a container, by the label container; replicas gives one series.
$namespace, $pods and $step are filled in. cpu is in cores, memory and memory_limit in bytes.
` + queries.String()
}
