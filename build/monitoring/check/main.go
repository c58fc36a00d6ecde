// Command check reads the files of this folder as Prometheus does: the alerts with the parser of "promtool check rules",
// the queries of the dashboard with that of PromQL, and, if a file with an answer of /metrics is given, its metrics with
// the linter of "promtool check metrics". It prints what is wrong, and then exits with 1.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

type panel struct {
	Title   string
	Targets []struct{ Expr string }
}

type dashboard struct{ Panels []panel }

// Grafana replaces these before Prometheus sees a query.
var variables = regexp.MustCompile(`\$__rate_interval|\$__range`)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: check FOLDER [FILE]")
		os.Exit(2)
	}
	wrong := checkRules(filepath.Join(os.Args[1], "dunlin-alerts.yaml"))
	wrong += checkDashboard(filepath.Join(os.Args[1], "dunlin-dashboard.json"))
	if len(os.Args) == 3 {
		wrong += checkMetrics(os.Args[2])
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

func checkRules(file string) int {
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.NewTextHandler(os.Stderr, nil)))
	for _, err := range errs {
		fmt.Printf("%s: %v\n", file, err)
	}
	if groups != nil {
		rules := 0
		for _, group := range groups.Groups {
			rules += len(group.Rules)
		}
		fmt.Printf("%s: %d rules\n", file, rules)
	}
	return len(errs)
}

func checkDashboard(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	var board dashboard
	if err := json.Unmarshal(text, &board); err != nil {
		fmt.Printf("%s: %v\n", file, err)
		return 1
	}
	wrong, queries := 0, 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries++
			query := variables.ReplaceAllString(target.Expr, "5m")
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(query); err != nil {
				fmt.Printf("%s: %s: %v\n", file, panel.Title, err)
				wrong++
			}
		}
	}
	fmt.Printf("%s: %d queries\n", file, queries)
	return wrong
}

// checkMetrics leaves out what is not Dunlin's own: Micrometer's metrics of the process.
func checkMetrics(file string) int {
	metrics, err := os.Open(file)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer metrics.Close()
	problems, err := promlint.New(metrics).Lint()
	if err != nil {
		fmt.Printf("%s: %v\n", file, err)
		return 1
	}
	wrong := 0
	for _, problem := range problems {
		if strings.HasPrefix(problem.Metric, "dunlin_") {
			fmt.Printf("%s: %s: %s\n", file, problem.Metric, problem.Text)
			wrong++
		}
	}
	return wrong
}
