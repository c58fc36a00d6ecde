package dunlin.load.page;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.load.Bench;
import dunlin.load.BenchProcess;
import dunlin.load.page.Events.Event;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests the page of a run from its beginning to its end. */
@Timeout(120)
class PageOfRunTest {
  private static List<Json> named(List<Event> events, String name) {
    return events.stream().filter(event -> event.name().equals(name)).map(Event::data).toList();
  }

  @Test
  void thePageOfADirectorShowsReasonsAndWorkers(@TempDir Path directory) throws Exception {
    String scenario = Runs.scenario(directory);
    try (var broker = Runs.broker();
        var first = Runs.worker();
        var second = Runs.worker()) {
      String workers = Runs.address(first) + "," + Runs.address(second);
      List<Event> events;
      try (var director = new BenchProcess("director", scenario, "-w", workers, "-p", Integer.toString(broker.port()), "--page", "0")) {
        try (var page = new Events(Runs.pageOf(director) + "events", null)) {
          events = page.rest();
        }
        assertThat(director.rest()).contains("NOT MET  lost: 0");
      }

      assertThat(named(events, "seconds")).hasSizeGreaterThanOrEqualTo(4);
      Json last = named(events, "state").getLast();
      assertThat(last.get("troubles", "connects refused by the broker").number()).isEqualTo(1);
      assertThat(last.get("troubles", "refused connects (5.0): 0x87 not authorized").number()).isEqualTo(1);
      assertThat(last.get("workers").list()).extracting(worker -> worker.get("name").text()).containsExactly("worker " + workers.split(",", -1)[0], "worker " + workers.split(",", -1)[1]);
      assertThat(last.get("workers").list()).extracting(worker -> worker.get("share").text()).containsExactly("1 of 2", "2 of 2");
      assertThat(last.get("workers").list().stream().mapToLong(worker -> worker.get("published").number()).sum()).isEqualTo(last.get("published").number());
      Json result = events.getLast().data();
      assertThat(events.getLast().name()).isEqualTo("end");
      long lost = result.get("messages", "lost").list().get(1).number();
      assertThat(lost).isPositive();
      assertThat(last.get("outstanding").number()).isEqualTo(lost);
      assertThat(result.get("times", "deliver-1", "count").number()).isEqualTo(last.get("received").number());
      assertThat(result.get("expectations").list().getFirst().get("met").text()).isEqualTo("false");
      assertThat(result.get("histograms").isMissing()).isTrue();
    }
  }

  @Test
  void ctrlCIsShownAsAnEarlyEnd(@TempDir Path directory) throws Exception {
    try (var broker = Runs.broker();
        var run = new BenchProcess("run", Runs.scenario(directory), "-p", Integer.toString(broker.port()), "--set", "lasting=100s", "--page", "localhost:0", "--quiet")) {
      String url = Runs.pageOf(run);
      assertThat(url).matches("http://localhost:[1-9][0-9]*/");
      try (var page = new Events(url + "events", null)) {
        Event phase = page.next("state");
        while (!phase.data().get("phase", "name").text().equals("publish")) phase = page.next("state");
        assertThat(phase.data().get("workers").list()).isEmpty();
        assertThat(phase.data().get("phase", "secondsMax").number()).isEqualTo(100);

        run.interrupt();

        Event end = page.next("end");
        assertThat(end.data().get("endedEarly").text()).isEqualTo("true");
        assertThat(page.next()).isNull();
      }
      assertThat(run.rest()).contains("two by two: ", ", ended early");
    }
  }

  @Test
  void aWrongPageAddressGetsAnErrorOfOneSentence() {
    Bench nowhere = Bench.run("conn", "--page", "somewhere", "--duration", "1s");

    assertThat(nowhere.status()).isEqualTo(2);
    assertThat(nowhere.err()).isEqualToIgnoringNewLines("bench: the page is served at PORT or HOST:PORT, and not at \"somewhere\"");
  }
}
