package dunlin.load.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dunlin.browser.Chromium;
import dunlin.load.BenchProcess;
import dunlin.load.Plans;
import dunlin.load.mqtt.Version;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Step;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.CleanupMode;
import org.junit.jupiter.api.io.TempDir;
import org.jspecify.annotations.Nullable;

/** Tests the page in a browser. */
class PageInChromiumTest {
  private static final Plan PLAN =
      Plans.plan(List.of(Plans.pool("all", 3, 1883, Version.V5, List.of(), List.of())), List.of(new Step.Connect("connect", List.of("all"), null)));

  private static @Nullable Chromium started;

  @BeforeAll
  static void start(@TempDir(cleanup = CleanupMode.NEVER) Path profile) throws Exception {
    Optional<Path> program = Chromium.find();
    if (program.isPresent()) started = new Chromium(program.get(), profile);
  }

  @AfterAll
  static void stop() {
    if (started != null) started.close();
  }

  @BeforeEach
  void forget() throws Exception {
    assumeTrue(started != null, "There is no Chromium on PATH to try the page in. Install it (chromium), or name it in DUNLIN_CHROMIUM.");
    chromium().forget();
  }

  private static Chromium chromium() {
    if (started == null) throw new AssertionError("not started");
    return started;
  }

  private static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what).atMost(Duration.ofMinutes(2)).until(condition);
  }

  private static int rows() throws Exception {
    return Integer.parseInt(chromium().evaluate("typeof run === 'undefined' ? -1 : rows.length")); // -1 before the script has run
  }

  @Test
  void aRunOfADirectorIsShownToItsEnd(@TempDir Path directory) throws Exception {
    Chromium chromium = chromium();
    String scenario = Runs.scenario(directory);
    try (var broker = Runs.broker();
        var first = Runs.worker();
        var second = Runs.worker()) {
      String workers = Runs.address(first) + "," + Runs.address(second);
      try (var director = new BenchProcess("director", scenario, "-w", workers, "-p", Integer.toString(broker.port()), "--page", "0", "--set", "lasting=8s")) {
        String url = Runs.pageOf(director);
        chromium.open(url);

        await("figures", () -> chromium.text("all-published").matches("[1-9][0-9,]*"));
        String published = chromium.text("all-published");
        await("later figures", () -> !chromium.text("all-published").equals(published));
        await("lines of several seconds", () -> Integer.parseInt(chromium.evaluate("drawn[1].data[0].length")) >= 3);
        assertThat(chromium.evaluate("document.querySelectorAll('.uplot canvas').length")).isEqualTo("4");
        assertThat(chromium.text("name")).isEqualTo("two by two");
        assertThat(chromium.text("status")).startsWith("Runs: phase ");
        assertThat(chromium.text("connected")).isEqualTo("5");
        assertThat(chromium.text("p99")).containsPattern("[0-9] (µs|ms)");
        assertThat(chromium.text("workers-body")).contains("worker " + workers.split(",", -1)[0], "1 of 2", "2 of 2");
        assertThat(chromium.text("troubles-body")).contains("connects refused by the broker", "not authorized");

        await("the end", () -> chromium.text("status").startsWith("The run has ended, after "));
        assertThat(chromium.text("status")).endsWith("It was not good; see the result.");
        assertThat(chromium.text("result-body")).contains("not met: lost: 0", "deliver, QoS 1", "Largest losses");
        assertThat(director.rest()).contains("NOT MET  lost: 0");
        assertThat(chromium.text("status")).startsWith("The run has ended"); // still shown after the tool has ended
        assertThat(chromium.requests()).isNotEmpty().allMatch(request -> request.startsWith(url));
        assertThat(chromium.errors()).isEmpty();
      }
    }
  }

  @Test
  void aReconnectedPageShowsTheMissedSeconds() throws Exception {
    try (var page = Page.open(PageAddress.parse("0"), PLAN);
        var relay = new Relay(URI.create(page.url()).getPort())) {
      page.second(Moments.PHASE, Moments.moment(1));
      chromium().open("http://127.0.0.1:%d/".formatted(relay.port()));
      await("the first second", () -> rows() == 1);

      relay.cut(true);
      await("an error message", () -> chromium().text("status").startsWith("The tool cannot be reached"));
      for (int second = 2; second <= 5; second++) page.second(Moments.PHASE, Moments.moment(second));
      relay.cut(false);

      await("all seconds", () -> rows() == 5);
      assertThat(chromium().evaluate("rows.map(row => row[0])")).isEqualTo("1,2,3,4,5");
      await("the phase", () -> chromium().text("status").equals("Runs: phase 2 of 3, publish."));
    }
  }

  @Test
  void anExcessPageWaitsForItsTurn() throws Exception {
    var others = new ArrayDeque<Events>();
    try (var page = Page.open(PageAddress.parse("0"), PLAN)) {
      for (int i = 0; i < Feed.PAGES_MAX; i++) others.add(new Events(page.url() + "events", null));
      chromium().open(page.url());
      await("an error message", () -> chromium().text("status").contains("serves too many pages already"));

      others.remove().close();
      page.second(Moments.PHASE, Moments.moment(1));

      await("the first second", () -> rows() == 1);
    } finally {
      others.forEach(Events::close);
    }
  }

  @Test
  void theSecondsAreInATableForScreenReaders() throws Exception {
    try (var page = Page.open(PageAddress.parse("0"), PLAN)) {
      page.second(Moments.PHASE, Moments.moment(1, Map.of("<b>refused</b>", 3L)));
      chromium().open(page.url());
      await("the first second", () -> rows() == 1);
      assertThat(chromium().text("troubles-body")).contains("network: <b>refused</b>"); // not as markup

      chromium().evaluate("document.querySelector('summary').focus()");
      chromium().press("Enter");

      await("the table", () -> chromium().text("rows-body").contains("4.00 ms"));
      page.second(Moments.PHASE, Moments.moment(2));
      await("the second row", () -> chromium().evaluate("document.getElementById('rows-body').rows.length").equals("2"));
      assertThat(chromium().evaluate("[...document.querySelectorAll('figure')].every(figure => figure.ariaLabel)")).isEqualTo("true");
    }
  }

  @Test
  void thePageFollowsTheReadersColorScheme() throws Exception {
    try (var page = Page.open(PageAddress.parse("0"), PLAN)) {
      chromium().open(page.url());
      await("the page", () -> chromium().text("status").startsWith("Prepares 3 clients"));

      String light = background("light");

      assertThat(light).isEqualTo("rgb(255, 255, 255)");
      assertThat(background("dark")).isNotEqualTo(light);
    }
  }

  private static String background(String scheme) throws Exception {
    chromium().prefer(scheme);
    return chromium().evaluate("getComputedStyle(document.body).backgroundColor");
  }
}
