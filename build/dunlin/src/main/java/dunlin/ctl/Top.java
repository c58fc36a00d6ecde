package dunlin.ctl;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import dunlin.admin.api.Endpoint;
import dunlin.admin.api.Endpoints;
import dunlin.admin.api.Parameter;
import java.io.IOException;
import java.io.PrintStream;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** {@code dunlinctl top}: shows what keeps a node busy, again after each interval. */
final class Top {
  /*
   * Bounds: at most LIMIT_MAX rows in each table; six requests for a picture, and two for a sample, one after the other. Of replicas a page of REPLICAS_MAX is compared.
   * Failure: a part that the node refuses, such as the sessions that another node leads, has the reason in its place. A node that does not
   * answer ends it.
   */
  static final String NAME = "top";

  private static final String BY = "--by";
  private static final String SESSIONS_BY = "--sessions-by";
  private static final String LANES_BY = "--lanes-by";
  private static final String INTERVAL = "--interval";
  private static final String COUNT = "--count";
  private static final String LIMIT = "--limit";
  private static final String SAMPLE = "--sample";
  private static final int INTERVAL_MAX = 3_600;
  private static final int COUNT_MAX = 1_000_000;
  private static final int LIMIT_MAX = 100;
  private static final int REPLICAS_MAX = 1_000;
  private static final int FIRST_RATE_SECONDS = 1;
  private static final String CLEAR = "\u001b[H\u001b[2J";
  private static final String RATE = "commitsPerSecond";
  private static final List<String> PUBLISHED_BY = Endpoints.TOP_MESSAGES.parameters().getFirst().choices();
  private static final List<String> CLIENT_COLUMNS =
      List.of("clientId", "user", "address", "queued", "queuedBytes", "inFlight", "socketBytes", "subscriptions", "oldestMillis", "perSecond");
  private static final List<String> SESSION_COLUMNS = List.of("clientId", "connected", "messages", "bytes", "subscriptions", "oldestMillis");
  private static final List<String> LANE_COLUMNS = List.of("lane", "perSecond", "oldestMillis", "messages", "bytes", "heldConnections");
  private static final List<String> QUEUE_COLUMNS = List.of("name", "waiting", "bytes", "oldestMillis");
  private static final List<String> SAMPLE_COLUMNS = List.of("name", "perSecond", "sharePercent", "sampled", "payloadBytes");
  private static final List<String> REPLICA_COLUMNS = List.of("name", "role", RATE, "oldestMillis", "queued", "applyLag", "logBytes");

  private final ApiClient client;
  private final Output output;
  private final PrintStream out;
  private final boolean terminal;

  /** The committed index of each replica at the last picture, and when that was. */
  private final Map<String, Long> committed = new HashMap<>();

  private long pictureNanos;

  /** @param terminal whether a picture may take the place of the one before */
  Top(ApiClient client, Output output, PrintStream out, boolean terminal) {
    this.client = client;
    this.output = output;
    this.out = out;
    this.terminal = terminal;
  }

  static CommandSpec command() {
    CommandSpec command = CommandSpec.create().mixinStandardHelpOptions(true);
    command
        .usageMessage()
        .description(
            "Shows what keeps the node busy: the clients that have most of something, the sessions that most waits for, the lanes that are busiest, the queues in"
                + " which something has waited longest, the replicas that commit most, and on request the topics and clients that publish most."
                + " Needs a token of the role viewer, and with --sample of the role operator.");
    command.addOption(choice(BY, Endpoints.TOP_CLIENTS, "What clients are compared by"));
    command.addOption(choice(SESSIONS_BY, Endpoints.TOP_SESSIONS, "What sessions are compared by"));
    command.addOption(choice(LANES_BY, Endpoints.TOP_LANES, "What lanes are compared by"));
    command.addOption(number(INTERVAL, "SECONDS", "2", "Time between two pictures"));
    command.addOption(number(COUNT, "PICTURES", "0", "How many pictures are shown; 0 for any number, until it is interrupted"));
    command.addOption(number(LIMIT, "ROWS", "10", "The most rows of a table"));
    command.addOption(
        OptionSpec.builder(SAMPLE)
            .type(boolean.class)
            .arity("0")
            .description("Follows published messages for two seconds before each picture, to show the busiest topics and clients.")
            .build());
    return command;
  }

  private static OptionSpec choice(String name, Endpoint endpoint, String description) {
    Parameter by = endpoint.parameters().getFirst();
    return OptionSpec.builder(name)
        .type(String.class)
        .paramLabel("FIGURE")
        .defaultValue(by.preset())
        .completionCandidates(by.choices())
        .description(description + ": " + String.join(", ", by.choices()) + "; ${DEFAULT-VALUE} if it is not given.")
        .build();
  }

  private static OptionSpec number(String name, String label, String preset, String description) {
    return OptionSpec.builder(name).type(int.class).paramLabel(label).defaultValue(preset).description(description + "; ${DEFAULT-VALUE} if it is not given.").build();
  }

  /** Why the options cannot be meant so; empty when they can. */
  static String problem(ParseResult given) {
    for (var each : Map.of(BY, Endpoints.TOP_CLIENTS, SESSIONS_BY, Endpoints.TOP_SESSIONS, LANES_BY, Endpoints.TOP_LANES).entrySet()) {
      List<String> choices = each.getValue().parameters().getFirst().choices();
      if (!choices.contains(text(given, each.getKey()))) return "%s is one of %s".formatted(each.getKey(), String.join(", ", choices));
    }
    for (var each : Map.of(INTERVAL, INTERVAL_MAX, LIMIT, LIMIT_MAX, COUNT, COUNT_MAX).entrySet()) {
      int least = each.getKey().equals(COUNT) ? 0 : 1;
      int value = integer(given, each.getKey());
      if (value < least || value > each.getValue()) return "%s is from %d to %d".formatted(each.getKey(), least, each.getValue());
    }
    return "";
  }

  private static String text(ParseResult given, String option) {
    return given.commandSpec().findOption(option).getValue();
  }

  private static int integer(ParseResult given, String option) {
    Integer value = given.commandSpec().findOption(option).getValue();
    return value;
  }

  void show(ParseResult given) throws IOException, ApiClient.RefusedException {
    int count = integer(given, COUNT);
    String limit = Integer.toString(integer(given, LIMIT));
    var _ = rated(replicas()); // a rate takes two readings
    if (!pause(FIRST_RATE_SECONDS)) return;
    for (int shown = 0; count == 0 || shown < count; shown++) {
      if (shown > 0 && !pause(integer(given, INTERVAL))) return;
      JsonObject picture = new JsonObject();
      picture.add("status", client.call(Endpoints.STATUS, Map.of()));
      picture.add("clients", part(Endpoints.TOP_CLIENTS, Map.of("by", text(given, BY), Endpoints.LIMIT, limit)));
      picture.add("sessions", part(Endpoints.TOP_SESSIONS, Map.of("by", text(given, SESSIONS_BY), Endpoints.LIMIT, limit)));
      picture.add("lanes", part(Endpoints.TOP_LANES, Map.of("by", text(given, LANES_BY), Endpoints.LIMIT, limit)));
      picture.add("queues", longest(part(Endpoints.QUEUES, Map.of()), integer(given, LIMIT)));
      picture.add("replicas", busiest(rated(replicas()), integer(given, LIMIT)));
      if (given.hasMatchedOption(SAMPLE)) {
        for (String by : PUBLISHED_BY) {
          picture.add(published(by), part(Endpoints.TOP_MESSAGES, Map.of("by", by, Endpoints.LIMIT, limit)));
        }
      }
      if (output == Output.JSON) output.one(picture, out);
      else draw(picture);
    }
  }

  /** Waits; false when it was interrupted. */
  private static boolean pause(int seconds) {
    try {
      TimeUnit.SECONDS.sleep(seconds);
      return true;
    } catch (InterruptedException ended) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** The rows of a listing, or the sentence by which the node refuses it. */
  private JsonElement part(Endpoint endpoint, Map<String, String> values) throws IOException {
    try {
      return Ctl.items(client.call(endpoint, values));
    } catch (ApiClient.RefusedException refused) {
      return new JsonPrimitive(refused.getMessage());
    }
  }

  /** The queues in which something waits, those with the oldest first. */
  private static JsonElement longest(JsonElement queues, int max) {
    if (!(queues instanceof JsonArray rows)) return queues;
    JsonArray longest = new JsonArray();
    rows.asList().stream()
        .map(JsonElement::getAsJsonObject)
        .filter(row -> number(row, "waiting") > 0)
        .sorted(Comparator.<JsonObject>comparingLong(row -> number(row, "oldestMillis")).thenComparingLong(row -> number(row, "waiting")).reversed())
        .limit(max)
        .forEach(longest::add);
    return longest;
  }

  private JsonElement replicas() throws IOException {
    return part(Endpoints.REPLICAS, Map.of(Endpoints.LIMIT, Integer.toString(REPLICAS_MAX)));
  }

  /** The replicas that commit most, and behind them those with most to do. */
  private static JsonElement busiest(JsonElement replicas, int max) {
    if (!(replicas instanceof JsonArray rows)) return replicas;
    JsonArray busiest = new JsonArray();
    rows.asList().stream()
        .map(JsonElement::getAsJsonObject)
        .sorted(
            Comparator.<JsonObject>comparingLong(row -> row.has(RATE) ? number(row, RATE) : 0)
                .thenComparingLong(row -> number(row, "queued") + number(row, "applyLag"))
                .reversed()
                .thenComparing(row -> row.getAsJsonPrimitive("name").getAsString()))
        .limit(max)
        .forEach(busiest::add);
    return busiest;
  }

  private static long number(JsonObject row, String name) {
    return row.getAsJsonPrimitive(name).getAsLong();
  }

  /** Adds how many entries were committed a second since the last picture. */
  private JsonElement rated(JsonElement replicas) {
    if (!(replicas instanceof JsonArray rows)) return replicas;
    long now = System.nanoTime();
    double seconds = (now - pictureNanos) / 1e9;
    for (JsonElement each : rows) {
      JsonObject row = each.getAsJsonObject();
      String name = row.getAsJsonPrimitive("name").getAsString();
      long index = row.getAsJsonPrimitive("committed").getAsLong();
      Long before = committed.put(name, index);
      if (before != null) row.addProperty(RATE, Math.round(Math.max(0, index - before) / seconds));
    }
    pictureNanos = now;
    return rows;
  }

  /** The member of a picture with the sample by topic or client. */
  private static String published(String by) {
    return "publishedBy" + Character.toUpperCase(by.charAt(0)) + by.substring(1);
  }

  private void draw(JsonObject picture) {
    if (terminal) out.print(CLEAR);
    JsonObject status = picture.getAsJsonObject("status");
    out.printf(
        "Node %s: %s; connections %s, sessions %s, retained messages %s, heap %d of %d MiB%n",
        word(status, "node"), word(status, "readiness"), word(status, "connections"), word(status, "sessions"), word(status, "retained"),
        status.getAsJsonPrimitive("heapUsedBytes").getAsLong() >> 20, status.getAsJsonPrimitive("heapMaxBytes").getAsLong() >> 20);
    table("Clients", picture.get("clients"), CLIENT_COLUMNS);
    table("Sessions", picture.get("sessions"), SESSION_COLUMNS);
    table("Lanes", picture.get("lanes"), LANE_COLUMNS);
    table("Queues", picture.get("queues"), QUEUE_COLUMNS);
    table("Replicas", picture.get("replicas"), REPLICA_COLUMNS);
    for (String by : PUBLISHED_BY) {
      if (picture.has(published(by))) table("Published by " + by, picture.get(published(by)), SAMPLE_COLUMNS);
    }
  }

  private static String word(JsonObject object, String name) {
    return Output.cell(object.get(name));
  }

  private void table(String title, JsonElement part, List<String> columns) {
    out.println();
    if (!(part instanceof JsonArray rows)) out.println(title + ": " + Output.cell(part));
    else if (rows.isEmpty()) out.println(title + ": none");
    else output.rows(rows, columns, out);
  }
}
