package dunlin.operating;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import dunlin.admin.api.Endpoints;
import dunlin.harness.ApiCalls;
import dunlin.harness.ApiCalls.Answer;
import dunlin.harness.BrokerProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.management.JMException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Long listings by HTTP at a broker with a small heap: followed by their cursors they have each row once and in order, and a page allocates as
 * much when there are many rows as when there are few, and as much at the end of a listing as at its beginning. So the memory that a listing takes does not depend on its length.
 */
class LongListingsIT {
  private static final int FEW = 2_000;
  private static final int MANY = 30_000;
  private static final int SESSIONS_OF_IMPORT = 20_000;
  private static final int MESSAGES_OF_IMPORT = 20_000;

  /** How many pages are weighed together, so that what the broker does beside them weighs little. */
  private static final int WEIGHED = 5;

  private static final int ROUNDS = 2;
  private static final int PAGE_BYTES_MAX = 16 << 20;

  @TempDir private Path directory;

  /**
   * A listing.
   *
   * @param rows the most of a page
   * @param name the member by which rows are ordered
   */
  private record Listing(String path, int rows, String name) {
    String page(String cursor) {
      return path + "?limit=" + rows + "&cursor=" + cursor;
    }
  }

  /** A broker and what it has allocated. */
  private record Weighed(MBeanServerConnection beans, ApiCalls api) {
    long allocated() throws JMException, IOException {
      return (Long) beans.getAttribute(new ObjectName("java.lang:type=Threading"), "TotalThreadAllocatedBytes");
    }

    JsonObject page(Listing listing, String cursor) {
      Answer answer = api.get(listing.page(cursor));
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      return answer.json();
    }

    /** Bytes that a page costs here. */
    long bytesOfPage(Listing listing, String cursor) throws JMException, IOException {
      long before = allocated();
      for (int i = 0; i < WEIGHED; i++) page(listing, cursor);
      return (allocated() - before) / WEIGHED;
    }

    /** The least of some rounds, since what else the broker does can only add to a page. */
    long leastBytesOfPage(Listing listing, String cursor) throws JMException, IOException {
      long least = Long.MAX_VALUE;
      for (int i = 0; i < ROUNDS; i++) least = Math.min(least, bytesOfPage(listing, cursor));
      return least;
    }

    /** Follows a listing to its end, and answers the cursor of its last page that is full. */
    String follow(Listing listing, List<String> names) {
      String last = "";
      String next = "";
      do {
        JsonObject page = page(listing, next);
        List<JsonElement> items = page.getAsJsonArray("items").asList();
        assertThat(items).hasSizeLessThanOrEqualTo(listing.rows);
        if (items.size() == listing.rows) last = next;
        for (JsonElement item : items) names.add(item.getAsJsonObject().get(listing.name).getAsString());
        next = page.get("next").getAsString();
      } while (!next.isEmpty());
      return last;
    }
  }

  @Test
  void sessionsAreListedInConstantMemory() throws Exception {
    Listing sessions = new Listing("/sessions", 1_000, "clientId");
    weigh(
        (api, from, to) -> {
          for (int i = from; i < to; i += SESSIONS_OF_IMPORT) importSessions(api, i, Math.min(to, i + SESSIONS_OF_IMPORT));
        },
        LongListingsIT::client, sessions);
  }

  @Test
  void retainedMessagesAreListedAndExportedInConstantMemory() throws Exception {
    Listing retained = new Listing("/retained", 200, "topic");
    Listing exported = new Listing("/retained/export", 500, "topic");
    weigh(
        (api, from, to) -> {
          for (int i = from; i < to; i += MESSAGES_OF_IMPORT) importRetained(api, i, Math.min(to, i + MESSAGES_OF_IMPORT));
        },
        LongListingsIT::topic, retained, exported);
  }

  private interface Filling {
    void add(ApiCalls api, int from, int to);
  }

  private void weigh(Filling filling, IntFunction<String> named, Listing... listings) throws JMException, IOException {
    try (var broker = BrokerProcess.startWith("-Xmx96m", directory, "dunlin.store.fsync=false", "dunlin.admin.port=0", "java.rmi.server.hostname=127.0.0.1");
        var api = ApiCalls.of(directory);
        var jmx = broker.jmx()) {
      var weighed = new Weighed(jmx.getMBeanServerConnection(), api);
      filling.add(api, 0, FEW);
      List<Long> ofFew = new ArrayList<>();
      for (Listing each : listings) ofFew.add(weighed.leastBytesOfPage(each, ""));

      filling.add(api, FEW, MANY);

      for (int i = 0; i < listings.length; i++) {
        Listing listing = listings[i];
        List<String> names = new ArrayList<>();
        String last = weighed.follow(listing, names);
        assertThat(names).as("each once, and in order").isEqualTo(IntStream.range(0, MANY).mapToObj(named).toList());
        long few = ofFew.get(i);
        long first = weighed.leastBytesOfPage(listing, "");
        long end = weighed.leastBytesOfPage(listing, last);
        String what = "%s: a page of few %,d bytes, the first of many %,d, the last full one %,d".formatted(listing.path, few, first, end);
        assertThat(few).as(what).isLessThan(PAGE_BYTES_MAX);
        assertThat(Math.max(first, end)).as(what).isLessThan(2 * few);
      }
      assertThat(broker.err()).as("nothing such as a heap that is full").isEmpty();
    }
  }

  private static String client(int number) {
    return "meter-%06d".formatted(number);
  }

  private static String topic(int number) {
    return "plant/%06d".formatted(number);
  }

  private static void importSessions(ApiCalls api, int from, int to) {
    String lines =
        IntStream.range(from, to)
            .mapToObj(LongListingsIT::client)
            .map(name -> "{\"session\":{\"clientId\":\"%s\",\"user\":\"\",\"received\":[]}}\n{\"end\":{\"clientId\":\"%s\",\"expirySeconds\":86400}}".formatted(name, name))
            .collect(Collectors.joining("\n", Endpoints.SESSIONS_HEADER + "\n", ""));
    imported(api, "/import/sessions", lines, "sessions", to - from);
  }

  private static void importRetained(ApiCalls api, int from, int to) {
    String lines =
        IntStream.range(from, to)
            .mapToObj(i -> "{\"topic\":\"%s\",\"payload\":\"b24=\"}".formatted(topic(i)))
            .collect(Collectors.joining("\n", Endpoints.EXPORT_HEADER + "\n", ""));
    imported(api, "/retained/import", lines, "imported", to - from);
  }

  private static void imported(ApiCalls api, String path, String lines, String member, int count) {
    JsonObject body = new JsonObject();
    body.addProperty("lines", lines);
    Answer answer = api.post(path, body.toString());
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.json().get(member).getAsInt()).as(answer.text()).isEqualTo(count);
  }
}
