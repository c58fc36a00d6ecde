package dunlin.harness;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** A stream of events of the admin API, as a client reads it. */
public final class ApiEvents implements AutoCloseable {
  private static final long SECONDS_MAX = 60;
  private static final String DATA = "data: ";

  private final HttpResponse<InputStream> answer;
  private final BlockingQueue<JsonObject> events = new LinkedBlockingQueue<>();
  private final CountDownLatch ended = new CountDownLatch(1);

  ApiEvents(HttpResponse<InputStream> answer) {
    this.answer = answer;
    if (answer.statusCode() == 200) Thread.ofVirtual().start(this::read);
  }

  private void read() {
    try (var lines = new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8))) {
      for (String line; (line = lines.readLine()) != null; ) {
        if (line.startsWith(DATA)) events.add(JsonParser.parseString(line.substring(DATA.length())).getAsJsonObject());
      }
    } catch (IOException cut) {
      // ended as well
    } finally {
      ended.countDown();
    }
  }

  public int status() {
    return answer.statusCode();
  }

  public String header(String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  /** The body of a refusal. */
  public String refusal() {
    try (InputStream body = answer.body()) {
      return new String(body.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public JsonObject next() throws InterruptedException {
    JsonObject event = events.poll(SECONDS_MAX, TimeUnit.SECONDS);
    if (event == null) throw new AssertionError("no event came");
    return event;
  }

  /** The events that come until none has come for this time. */
  public List<JsonObject> untilQuiet(Duration time) throws InterruptedException {
    List<JsonObject> all = new ArrayList<>();
    while (true) {
      JsonObject event = events.poll(time.toMillis(), TimeUnit.MILLISECONDS);
      if (event == null) return all;
      all.add(event);
    }
  }

  /** The first event from now on of which this is true. */
  public JsonObject until(Predicate<JsonObject> wanted) throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
    JsonObject event;
    do event = next();
    while (!wanted.test(event) && System.nanoTime() - end < 0);
    if (!wanted.test(event)) throw new AssertionError("the last event was " + event);
    return event;
  }

  /** Whether it ends within a minute. */
  public boolean ends() throws InterruptedException {
    return ended.await(SECONDS_MAX, TimeUnit.SECONDS);
  }

  /** Events that have come and were not looked at. */
  public int left() {
    return events.size();
  }

  @Override
  public void close() {
    try {
      answer.body().close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
