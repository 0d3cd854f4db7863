package suggest

import (
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/engine/tuning/measure"
)

const examplesRequests = `  kubectl flyball suggest requests deployment/web --offline manifests/ --usage web.csv
  kubectl flyball suggest requests deployment/web --offline manifests/ --usage web.jsonl --profile Lean -o json`

// longRequests is the help of the verb, before its flags.
const longRequests = "" +
	`Recommends requests, bounds by hour and target utilisation for a workload, with the reasons of every number. It changes and installs
nothing. The workload and its autoscaler come from manifests (--offline) or from the cluster; its usage comes from files (--usage)
or from a Prometheus server (--prometheus). The manager's own code replays the history as a Tortoise in mode Auto since the first
sample, and the final numbers are printed. The rules are those of the Tortoise that selects the workload, overridden by flags. The
profile Tortoise has the formulas of mercari/tortoise instead; its VPA recommendation is computed from the same samples.

--help -o wide explains the back-test, the columns of files and the queries of Prometheus.

Exit codes: 0 success, 1 an error, 2 too little history for a recommendation.`

// referenceRequests is the text of --help -o wide. It has the default queries, so a reader can change them.
func referenceRequests() string {
	var queries strings.Builder
	for _, name := range analysis.Queried() {
		queries.WriteString("\n  " + name + "\n    " + measure.DefaultQueries[name] + "\n")
	}
	return `The back-test takes the numbers after two thirds of the history, and plays the rest through the autoscaler's rules: with the
present setting, with the recommended one, and with the best constant setting. Cores are those of the scaled container; a violation is a
minute with demand above 85 % of the ready pods' requests. A history of less than three days, or no autoscaler for CPU, has no
back-test.

Each sample is of one container at one instant. Files of comma-separated values name the columns in their first line, and lines that begin
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
