package dunlin.load;

import dunlin.load.count.Count;
import dunlin.load.doctor.Doctor;
import dunlin.load.doctor.Finding;
import dunlin.load.doctor.Wanted;
import dunlin.load.engine.Crew;
import dunlin.load.engine.ProcessWatch;
import dunlin.load.engine.Result;
import dunlin.load.engine.Run;
import dunlin.load.page.Page;
import dunlin.load.page.PageAddress;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Expectation;
import dunlin.load.plan.Offer;
import dunlin.load.plan.Plan;
import dunlin.load.report.CsvReport;
import dunlin.load.report.HtmlReport;
import dunlin.load.report.JsonReport;
import dunlin.load.report.MarkdownReport;
import dunlin.load.report.TextReport;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options for watching a run and for its results. */
final class RunOptions {
  private static final int PRINT_SECONDS_MAX = 30;
  private static final Path PROC = Path.of("/proc");

  @Option(names = "--json", paramLabel = "FILE", description = "Writes the result as JSON, with its histograms.")
  private @Nullable Path json;

  @Option(names = "--csv", paramLabel = "FILE", description = "Writes the result as CSV.")
  private @Nullable Path csv;

  @Option(names = "--markdown", paramLabel = "FILE", description = "Writes the result as Markdown.")
  private @Nullable Path markdown;

  @Option(names = "--html", paramLabel = "FILE", description = "Writes the result as one page with plots.")
  private @Nullable Path html;

  @Option(names = "--page", paramLabel = "PORT|HOST:PORT", description = "Serves a page that shows the run while it lasts; on this machine only, unless a host is given. Port 0 takes a free one.")
  private @Nullable String page;

  @Option(names = "--expect", paramLabel = "NAME=LIMIT", description = "What must hold at the end, for example lost=0 or p99=50ms; else the exit status is 1.")
  private Map<String, String> expectations = new TreeMap<>();

  @Option(names = "--broker-pid", paramLabel = "PID", description = "The broker's process on this machine, to be watched.")
  private @Nullable Long brokerPid;

  @Option(names = "--loops", defaultValue = "0", paramLabel = "N", description = "Event loops. Default: one for each processor")
  private int loops;

  @Option(names = "--quiet", description = "Prints no line each second.")
  private boolean quiet;

  @Option(names = "--before", paramLabel = "COMMAND", description = "A command of the shell before the run, which does not begin when it fails.")
  private @Nullable String before;

  @Option(names = "--after", paramLabel = "COMMAND", description = "A command of the shell when the run has ended, be it good or bad.")
  private @Nullable String after;

  @Option(names = "--force", description = "Runs though the machine is too small.")
  private boolean force;

  int loops() {
    return loops;
  }

  List<Expectation> expectations() {
    var list = new ArrayList<Expectation>();
    expectations.forEach((name, limit) -> list.add(Expectation.parse(name, limit)));
    return list;
  }

  boolean force() {
    return force;
  }

  /** Checks whether this machine's limits are large enough for a plan. */
  void examine(Plan plan, PrintWriter err) {
    boolean stops = false;
    for (Finding finding : Doctor.here().look(Wanted.of(plan, Offer.of(plan, new Audience(plan))))) {
      if (finding.enough()) continue;
      err.println(finding.text());
      stops |= finding.stops();
    }
    if (stops && !force) throw new IllegalArgumentException("this machine is too small for the run, as said above; --force runs it all the same");
  }

  /** Runs a plan, prints and writes its result, and returns the exit status. */
  int execute(Plan plan, Crew.Maker maker, PrintWriter out, PrintWriter err) {
    for (Offer offer : Offer.of(plan, new Audience(plan))) {
      out.println(offer.line());
      if (offer.isTooMuch()) err.println("Warning: more than %,.0f deliveries/s: expect losses from any broker on one machine.".formatted(Offer.DELIVERIES_TOO_MANY));
    }
    ProcessWatch watch = brokerPid == null ? null : new ProcessWatch(PROC, brokerPid);
    if (before != null) Hook.run("before", before);
    var printed = new CountDownLatch(1);
    try (Page live = page == null ? null : Page.open(PageAddress.parse(page), plan)) {
      if (live != null) out.println("The page is at " + live.url());
      var run = new Run(plan, maker, watch, (phase, moment) -> {
        if (!quiet) out.println(TextReport.line(phase.name(), moment.point()));
        if (live != null) live.second(phase, moment);
      });
      var interrupt = new Thread(() -> endInOrder(run, printed), "interrupt");
      Runtime.getRuntime().addShutdownHook(interrupt);
      Result result = run.execute();
      if (live != null) live.end(result);
      out.print(TextReport.table(result));
      out.flush();
      write(json, () -> JsonReport.of(result));
      write(csv, () -> CsvReport.of(result));
      write(html, () -> HtmlReport.of(result));
      write(markdown, () -> MarkdownReport.of(result));
      if (plan.clients() > 0 && result.snapshot().get(Count.CONNECTED) == 0) {
        err.println("bench: no client was connected; is there a broker at %s?".formatted(plan.pools().getFirst().access().endpoints().getFirst()));
        return Main.NOT_GOOD;
      }
      return result.isGood() ? Main.GOOD : Main.NOT_GOOD;
    } finally {
      try {
        if (after != null) Hook.run("after", after);
      } finally {
        printed.countDown();
      }
    }
  }

  private interface Text {
    String get();
  }

  private static void write(@Nullable Path file, Text text) {
    if (file == null) return;
    try {
      Files.writeString(file, text.get());
    } catch (IOException failure) {
      throw new UncheckedIOException("%s cannot be written: %s".formatted(file, failure.getMessage()), failure);
    }
  }

  /** Stops the run on Ctrl-C; the result so far is still printed. */
  private static void endInOrder(Run run, CountDownLatch printed) {
    run.stop();
    try {
      if (!printed.await(PRINT_SECONDS_MAX, TimeUnit.SECONDS)) System.err.println("bench: the run did not end in time");
    } catch (InterruptedException interrupt) {
      Thread.currentThread().interrupt();
    }
  }
}
