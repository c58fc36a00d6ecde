package dunlin.load.page;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.load.Plans;
import dunlin.load.mqtt.Version;
import dunlin.load.page.Events.Event;
import dunlin.load.plan.Plan;
import dunlin.load.plan.Step;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests which requests the page's server answers, and which it refuses. */
@Timeout(180)
class PageTest {
  private static final Plan PLAN =
      Plans.plan(List.of(Plans.pool("all", 3, 1883, Version.V5, List.of(), List.of())), List.of(new Step.Connect("connect", List.of("all"), null)));

  private final Page page = Page.open(PageAddress.parse("0"), PLAN);

  @AfterEach
  void close() {
    page.close();
  }

  private int port() {
    return URI.create(page.url()).getPort();
  }

  private String events() {
    return page.url() + "events";
  }

  private void seconds(int from, int to) {
    for (int second = from; second <= to; second++) page.second(Moments.PHASE, Moments.moment(second));
  }

  private static List<Long> numbers(Event seconds) {
    return seconds.data().list().stream().map(row -> row.list().getFirst().number()).toList();
  }

  private static String prefix(Event event) {
    return event.id().substring(0, event.id().lastIndexOf('-') + 1);
  }

  // ---- events

  @Test
  void anOpenPageGetsNumberedSeconds() throws Exception {
    try (var events = new Events(events(), null)) {
      Event about = events.next("run");
      seconds(1, 1);
      Event first = events.next("seconds");
      Event state = events.next("state");
      seconds(2, 2);
      Event second = events.next("seconds");

      assertThat(about.data().get("name").text()).isEqualTo("test");
      assertThat(about.data().get("clients").number()).isEqualTo(3);
      assertThat(numbers(first)).containsExactly(1L);
      assertThat(numbers(second)).containsExactly(2L);
      assertThat(first.id()).isEqualTo(about.data().get("run").text() + "-1");
      assertThat(second.id()).endsWith("-2");
      assertThat(state.data().get("phase", "name").text()).isEqualTo("publish");
      assertThat(state.data().get("phase", "secondsMax").number()).isEqualTo(60);
      assertThat(state.data().get("published").number()).isEqualTo(7);
      assertThat(state.data().get("outstanding").number()).isEqualTo(5); // 10 of 14 arrived, one of them twice
    }
  }

  @Test
  void aReconnectingPageGetsTheMissedSeconds() throws Exception {
    seconds(1, 50);
    String prefix;
    try (var events = new Events(events(), null)) {
      Event all = events.next("seconds");
      assertThat(numbers(all)).hasSize(50);
      prefix = prefix(all);
    }
    seconds(51, 52);

    try (var browser = new Events(events(), prefix + 48);
        var script = new Events(events() + "?after=" + prefix + 51, null)) {
      assertThat(numbers(browser.next("seconds"))).containsExactly(49L, 50L, 51L, 52L);
      assertThat(numbers(script.next("seconds"))).containsExactly(52L);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"other-3", "-3", "3", "PREFIX", "PREFIXx", "PREFIX-1", "PREFIX99999999999999999999"})
  void anEventIdOfAnotherRunStartsFromTheBeginning(String lastEvent) throws Exception {
    seconds(1, 3);
    String prefix;
    try (var events = new Events(events(), null)) {
      prefix = prefix(events.next("seconds"));
    }

    try (var events = new Events(events(), lastEvent.replace("PREFIX", prefix))) {
      assertThat(numbers(events.next("seconds"))).containsExactly(1L, 2L, 3L);
    }
  }

  @Test
  void anEventIdAheadOfTheRunGetsTheNextSecond() throws Exception {
    seconds(1, 3);
    String prefix;
    try (var events = new Events(events(), null)) {
      prefix = prefix(events.next("seconds"));
    }

    try (var events = new Events(events(), prefix + 1_000)) {
      events.next("pages");
      seconds(4, 4);
      assertThat(numbers(events.next("seconds"))).containsExactly(4L);
    }
  }

  @Test
  void anHourIsSentInABoundedNumberOfRows() throws Exception {
    seconds(1, 3_600);

    try (var events = new Events(events(), null)) {
      List<Long> numbers = numbers(events.next("seconds"));
      assertThat(numbers).hasSizeBetween(Timeline.SECONDS_MAX, Timeline.SECONDS_MAX + Timeline.TOGETHER_MAX).isSorted();
      assertThat(numbers.getLast()).isEqualTo(3_600);
    }
  }

  @Test
  void aRunWithoutAResultHasFailed() throws Exception {
    try (var events = new Events(events(), null)) {
      seconds(1, 1);

      page.close();

      List<Event> rest = events.rest();
      assertThat(rest).extracting(Event::name).contains("seconds").endsWith("end");
      assertThat(rest.getLast().data().get("failed").text()).isEqualTo("true");
    }
  }

  // ---- bounds

  @Test
  void anExcessPageIsAnsweredWith503() throws Exception {
    var open = new ArrayDeque<Events>();
    try (var client = HttpClient.newHttpClient()) {
      for (int i = 0; i < Feed.PAGES_MAX; i++) open.add(new Events(events(), null));

      HttpResponse<String> tooMany = client.send(HttpRequest.newBuilder(URI.create(events())).build(), BodyHandlers.ofString());

      assertThat(tooMany.statusCode()).isEqualTo(503);
      assertThat(tooMany.body()).contains("16 pages are open already");
      seconds(1, 1);
      Event pages = open.getFirst().next("pages");
      while (pages.data().get("open").number() < Feed.PAGES_MAX || pages.data().get("refused").number() == 0) pages = open.getFirst().next("pages");
      assertThat(pages.data().get("refused").number()).isEqualTo(1);
      open.removeLast().close();
      Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
        try (var events = new Events(events(), null)) {
          return events.next() != null;
        } catch (AssertionError full) {
          return false;
        }
      });
    } finally {
      open.forEach(Events::close);
    }
  }

  @Test
  void onlyAPageThatDoesNotReadIsDisconnected() throws Exception {
    var failures = new HashMap<String, Long>();
    for (int i = 0; i < 150; i++) failures.put("a reason that is long ".repeat(20) + i, 1L);
    try (var fast = new Events(events(), null);
        var slow = new Socket()) {
      slow.setReceiveBufferSize(4_096);
      slow.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port()));
      slow.getOutputStream().write("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(ISO_8859_1));
      assertThat(slow.getInputStream().read()).isEqualTo('H');

      int second = 0;
      Event pages;
      do {
        page.second(Moments.PHASE, Moments.moment(++second, failures));
        assertThat(numbers(fast.next("seconds"))).containsExactly((long) second);
        pages = fast.next("pages");
      } while (pages.data().get("cutOff").number() == 0 && second < 1_000);

      assertThat(pages.data().get("cutOff").number()).isEqualTo(1);
      assertThat(second).isGreaterThan(Feed.SECONDS_BEHIND_MAX);
      seconds(second + 1, second + 1);
      assertThat(fast.next("pages").data().get("open").number()).isEqualTo(1);
    }
  }

  @Test
  void connectionsAreBoundedAndIdleOnesAreClosed() throws Exception {
    var idle = new ArrayList<Socket>();
    try {
      for (int i = 0; i <= Page.CONNECTIONS_MAX; i++) idle.add(new Socket(InetAddress.getLoopbackAddress(), port()));

      assertThat(read(idle.removeLast())).isEmpty();
      long before = System.nanoTime();
      for (Socket socket : idle) assertThat(read(socket)).isEmpty();
      assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - before)).isPositive();
      assertThat(raw("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")).startsWith("HTTP/1.1 200 ");
    } finally {
      for (Socket socket : idle) socket.close();
    }
  }

  private static String read(Socket socket) throws IOException {
    try (socket) {
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    } catch (SocketException reset) {
      return "";
    }
  }

  // ---- requests

  /** Sends any text, and returns the response. */
  private String raw(String request) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port());
    socket.getOutputStream().write(request.getBytes(ISO_8859_1));
    return read(socket);
  }

  @ParameterizedTest
  @CsvSource({
    "/, text/html, <!DOCTYPE html>",
    "/page.js, text/javascript, EventSource",
    "/page.css, text/css, prefers-color-scheme",
    "/uplot.js, text/javascript, uPlot",
    "/uplot.css, text/css, .uplot",
    "/icon.svg, image/svg+xml, <svg",
    "/?x=1, text/html, <!DOCTYPE html>",
  })
  void filesAreServedWithAStrictPolicy(String path, String type, String content) throws Exception {
    String answer = raw("GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n".formatted(path, port()));
    String head = raw("HEAD %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n".formatted(path, port()));

    assertThat(answer).startsWith("HTTP/1.1 200 ").contains("content-type: " + type, content);
    assertStrict(answer);
    assertThat(head).startsWith("HTTP/1.1 200 ").endsWith("\r\n\r\n").doesNotContain(content);
    assertThat(head.lines().toList()).isEqualTo(answer.lines().limit(head.lines().count()).toList());
  }

  private static void assertStrict(String answer) {
    String head = answer.substring(0, answer.indexOf("\r\n\r\n"));
    assertThat(head.lines())
        .contains(
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                + "frame-ancestors 'none'",
            "x-content-type-options: nosniff", "referrer-policy: no-referrer", "cross-origin-resource-policy: same-origin", "cache-control: no-store")
        .noneMatch(line -> line.startsWith("access-control-"));
  }

  @Test
  void thePageHasNoExternalResourcesAndNoInlineScript() throws Exception {
    String html = raw("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");

    assertThat(html).doesNotContain("://", "<style", "style=", "onclick=").doesNotContainPattern("<script(?! src=)");
    assertThat(raw("GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n")).doesNotContain("://", "innerHTML", "eval(");
  }

  @ParameterizedTest
  @ValueSource(strings = {"localhost", "LOCALHOST:1", "127.0.0.1", "192.0.2.7:80", "[::1]:8000", "[2001:db8::1]"})
  void hostHeadersWithAnAddressOrLocalhostAreAccepted(String host) throws Exception {
    assertThat(raw("GET / HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(host))).startsWith("HTTP/1.1 200 ");
    assertThat(raw("GET / HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\n\r\n".formatted(host, host))).startsWith("HTTP/1.1 200 ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "[evil", "[evil]", "[::1]x", "127.0.0.1:x", "", "localhost.", "1"})
  void otherHostHeadersAreRefused(String host) throws Exception {
    String answer = raw("GET /events HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(host));

    assertThat(answer).startsWith("HTTP/1.1 403 ").contains("This page answers to an address, localhost or 127.0.0.1 only.");
    assertStrict(answer);
  }

  @ParameterizedTest
  @CsvSource({
    "'GET / HTTP/1.1', 403",
    "'GET / HTTP/1.1|Host: localhost|Host: evil.example', 403",
    "'GET / HTTP/1.0', 403",
    "'GET / HTTP/1.1|Host: localhost|Origin: http://evil.example', 403",
    "'GET / HTTP/1.1|Host: localhost|Origin: null', 403",
    "'GET / HTTP/1.1|Host: localhost|Origin: https://localhost', 403",
    "'GET /events HTTP/1.1|Host: localhost|Sec-Fetch-Site: cross-site', 403",
    "'GET /events HTTP/1.1|Host: localhost|Sec-Fetch-Site: same-site', 403",
    "'GET / HTTP/1.1|Host: localhost|Sec-Fetch-Site: cross-site', 200",
    "'POST / HTTP/1.1|Host: localhost|Content-Length: 0', 405",
    "'DELETE /events HTTP/1.1|Host: localhost', 405",
    "'HEAD /events HTTP/1.1|Host: localhost', 405",
    "'OPTIONS * HTTP/1.1|Host: localhost', 405",
    "'CONNECT localhost:80 HTTP/1.1|Host: localhost', 405",
    "'GET /nothing HTTP/1.1|Host: localhost', 404",
    "'GET /events/ HTTP/1.1|Host: localhost', 404",
    "'GET /../page.css HTTP/1.1|Host: localhost', 404",
    "'GET //page.css HTTP/1.1|Host: localhost', 404",
    "'GET /%2e%2e/page.css HTTP/1.1|Host: localhost', 404",
    "'GET http://localhost/page.css HTTP/1.1|Host: localhost', 404",
    "'GET  HTTP/1.1|Host: localhost', 400",
    "'nonsense', 400",
    "'POST / HTTP/1.1|Host: localhost|Content-Length: 5000', 413",
    "'POST / HTTP/1.1|Host: localhost|Content-Length: x', 400",
  })
  void unsupportedRequestsAreRefused(String request, int status) throws Exception {
    assertThat(raw(request.replace("|", "\r\n") + "\r\n\r\n")).startsWith("HTTP/1.1 %d ".formatted(status));
  }

  @Test
  void theAllowedMethodsAreListed() throws Exception {
    assertThat(raw("PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab")).contains("\r\nallow: GET, HEAD\r\n");
    assertThat(raw("PUT /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")).contains("\r\nallow: GET\r\n");
  }

  @Test
  void tooLongRequestHeadsAreRefused() throws Exception {
    String name = "x".repeat(Page.HEAD_BYTES_MAX);
    assertThat(raw("GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n".formatted(name.substring(0, 2_000)))).startsWith("HTTP/1.1 4");
    assertThat(raw("GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n".formatted(name))).startsWith("HTTP/1.1 4");
  }

  @Test
  void aSecondRequestClosesTheConnection() throws Exception {
    String one = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";

    String answers = raw(one + one);

    assertThat(IntStream.range(0, answers.length()).filter(i -> answers.startsWith("HTTP/1.1 ", i)).count()).isLessThanOrEqualTo(1);
  }

  @Test
  void aTakenAddressGetsAnErrorOfOneSentence() {
    assertThatThrownBy(() -> Page.open(PageAddress.parse(Integer.toString(port())), PLAN))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("the page cannot be served at 127.0.0.1:%d: ".formatted(port()));
    assertThatThrownBy(() -> Page.open(PageAddress.parse("no.such.host.invalid:0"), PLAN)).hasMessage("the host no.such.host.invalid is not known");
  }
}
