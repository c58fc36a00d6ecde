package dunlin;

import dunlin.node.SessionLayout;
import dunlin.dist.DistSettings;
import dunlin.dist.DistWorker;
import dunlin.inbox.InboxSettings;
import dunlin.inbox.InboxSettings.Layout;
import dunlin.inbox.repair.DividedRows;
import dunlin.inbox.repair.InboxRepair;
import dunlin.inbox.repair.StoredSessions;
import dunlin.inbox.server.InboxServer;
import dunlin.model.Publisher;
import dunlin.retain.RetainRepair;
import dunlin.runtime.LogText;
import dunlin.store.RangeReader;
import dunlin.store.StoreException;
import dunlin.store.disk.StoredRows;
import dunlin.store.raft.RangeStore;
import dunlin.store.settings.StoreSettings;
import dunlin.tiers.DistRoutes;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;

/** {@code bin/dunlin repair}: lists what is large in a data directory that no node is using, and removes items by name. */
final class Repair {
  /*
   * Listing only reads rows, and needs the memory for one row and a few names. Removing starts the ranges as a node
   * does, without peers, clients or timers: the log is replayed and the removal is a new command, so that the next
   * start finds both.
   *
   * Failure: exit codes are 0 for done, 1 for failed with one sentence on standard error, 2 for wrong arguments, 3 for
   * an unknown name. There are no prompts.
   */
  static final int DONE = 0;
  static final int CANNOT = 1;
  static final int USAGE = 2;
  static final int NOT_THERE = 3;

  private static final String HOW =
      """
      Usage: bin/dunlin repair DATA_DIR list [--top N]
             bin/dunlin repair DATA_DIR remove-session CLIENT_ID [--tenant TENANT] [--dry-run]
             bin/dunlin repair DATA_DIR remove-message CLIENT_ID SEQUENCE [--tenant TENANT] [--dry-run]
             bin/dunlin repair DATA_DIR remove-retained TOPIC [--tenant TENANT] [--dry-run]
      The node must be stopped. Characters that do not print are written \\uXXXX, as the list shows them.""";

  private static final Duration STALL_MAX = Duration.ofMinutes(10);
  private static final int TOP = 10;
  private static final int TOP_MAX = 10_000;

  private final Path directory;
  private final Layout layout;
  private final PrintStream out;

  private Repair(Path directory, Layout layout, PrintStream out) {
    this.directory = directory;
    this.layout = layout;
    this.out = out;
  }

  /** The arguments do not make sense. */
  private static final class UsageException extends RuntimeException {
    private static final long serialVersionUID = 1;

    UsageException(String message) {
      super(message);
    }
  }

  public static void main(String[] args) {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    PrintStream err = new PrintStream(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(List.of(args), out, err));
  }

  static int run(List<String> arguments, PrintStream out, PrintStream err) {
    try {
      return run(Words.of(arguments), out);
    } catch (UsageException e) {
      err.println("dunlin repair: " + e.getMessage());
      err.println(HOW);
      return USAGE;
    } catch (StoreException e) {
      err.println("dunlin repair: " + e.getMessage());
      return CANNOT;
    } catch (CompletionException e) {
      err.println("dunlin repair: " + (e.getCause() == null ? e : e.getCause()).getMessage());
      return CANNOT;
    }
  }

  private static int run(Words words, PrintStream out) {
    StoredRows.requireDataDirectory(words.directory());
    // Without a layout there are no sessions yet.
    Layout layout = SessionLayout.read(words.directory()).orElse(InboxSettings.defaults().layout());
    Repair repair = new Repair(words.directory(), layout, out);
    return switch (words.verb()) {
      case "list" -> {
        words.end();
        yield repair.list(words.top);
      }
      case "remove-session" -> {
        String client = words.name("a client identifier");
        words.end();
        yield words.dryRun ? repair.drySession(words.tenant, client) : repair.removeSession(words.tenant, client);
      }
      case "remove-message" -> {
        String client = words.name("a client identifier");
        long sequence = words.sequence();
        words.end();
        yield words.dryRun
            ? repair.dryMessage(words.tenant, client, sequence)
            : repair.removeMessage(words.tenant, client, sequence);
      }
      case "remove-retained" -> {
        String topic = words.name("a topic name");
        words.end();
        yield words.dryRun ? repair.dryRetained(words.tenant, topic) : repair.removeRetained(words.tenant, topic);
      }
      default -> throw new UsageException("unknown command: " + words.verb());
    };
  }

  /** The arguments, taken one after the other. */
  private static final class Words {
    private final ArrayDeque<String> left = new ArrayDeque<>();
    private String tenant = Publisher.DEFAULT_TENANT;
    private int top = TOP;
    private boolean dryRun;
    private final Path directory;
    private final String verb;

    private Words(List<String> arguments) {
      var all = new ArrayDeque<>(arguments);
      while (!all.isEmpty()) {
        String word = all.remove();
        switch (word) {
          case "--dry-run" -> dryRun = true;
          case "--tenant" -> tenant = spelled(next(all, "--tenant"));
          case "--top" -> top = (int) number(next(all, "--top"), 1, TOP_MAX, "--top");
          case "--" -> {
            left.addAll(all);
            all.clear();
          }
          default -> {
            if (word.startsWith("--")) throw new UsageException("unknown option " + word + "; put -- in front of names that begin with --");
            left.add(word);
          }
        }
      }
      if (tenant.isEmpty() || tenant.indexOf(0) >= 0) throw new UsageException("the name of a tenant has at least one character, and no U+0000");
      try {
        directory = Path.of(next(left, "DATA_DIR"));
      } catch (InvalidPathException e) {
        throw new UsageException("not a path: " + e.getInput());
      }
      verb = next(left, "what to do");
    }

    static Words of(List<String> arguments) {
      return new Words(arguments);
    }

    Path directory() {
      return directory;
    }

    String verb() {
      return verb;
    }

    String name(String what) {
      String name = spelled(next(left, what));
      if (name.isEmpty() || name.indexOf(0) >= 0) throw new UsageException(what + " has at least one character, and no U+0000");
      if (name.getBytes(StandardCharsets.UTF_8).length > 65_535) throw new UsageException(what + " has at most 65535 bytes");
      return name;
    }

    long sequence() {
      return number(next(left, "the sequence of a message"), 0, Long.MAX_VALUE, "SEQUENCE");
    }

    void end() {
      if (!left.isEmpty()) throw new UsageException("unexpected argument: " + left.getFirst());
    }

    private static String next(ArrayDeque<String> words, String what) {
      if (words.isEmpty()) throw new UsageException("missing: " + what);
      return words.remove();
    }

    private static long number(String text, long least, long most, String what) {
      try {
        long number = Long.parseLong(text);
        if (number >= least && number <= most) return number;
      } catch (NumberFormatException _) {
        // reported below
      }
      throw new UsageException(what + " is a number from " + least + " to " + most + ", not " + LogText.escaped(text));
    }
  }

  private int list(int top) {
    try (StoredRows rows = StoredRows.open(directory)) {
      out.println(
          "The rows of %s, as of log entry %s of the sessions and %d of the retained messages. Later entries of the logs are not included."
              .formatted(directory, applied(rows), rows.applied(RetainRepair.RANGE)));
      var sessions = StoredSessions.read(sessions(rows), top);
      out.println(
          "sessions: %s; subscriptions: %s; messages waiting: %s with %s bytes"
              .formatted(
                  number(sessions.sessions()), number(sessions.subscriptions()), number(sessions.messages()), number(sessions.bytes())));
      part("Summaries with wrong counts (a start reads only the summaries)", sessions.wrong(), wrong -> wrong);
      part("Largest inboxes", sessions.largest(), inbox -> messages(inbox) + ": " + owner(inbox));
      part("Largest messages", sessions.largestMessages(), Repair::text);
      part("Most subscriptions", sessions.mostSubscriptions(), inbox -> number(inbox.subscriptions()) + ": " + owner(inbox));
      part(
          "Longest topic filters",
          sessions.longestFilters(),
          filter ->
              "%s characters: \"%s\" of %s"
                  .formatted(
                      number(filter.text().length()), LogText.escaped(filter.text()), client(filter.tenant(), filter.clientId())));
      var retained = RetainRepair.read(rows.of(RetainRepair.RANGE), top);
      out.println("retained messages: %s with %s bytes".formatted(number(retained.messages()), number(retained.bytes())));
      part("Largest retained messages", retained.largest(), Repair::text);
      part("Longest topics", retained.longestTopics(), stored -> number(stored.topic().length()) + " characters: " + text(stored));
    }
    return DONE;
  }

  private RangeReader sessions(StoredRows rows) {
    return new DividedRows(layout.rangeIds().stream().map(rows::of).toList());
  }

  /** One figure for each range. */
  private String applied(StoredRows rows) {
    return layout.rangeIds().stream().map(range -> Long.toString(rows.applied(range))).collect(Collectors.joining(", "));
  }

  private interface Text<T> {
    String of(T one);
  }

  private <T> void part(String title, List<T> ones, Text<T> text) {
    if (ones.isEmpty()) return;
    out.println(title + ":");
    for (T one : ones) out.println("  " + text.of(one));
  }

  private static String owner(StoredSessions.Inbox inbox) {
    String kind = inbox.group() ? "group" : "client";
    return "%s \"%s\" of tenant %s%s%s"
        .formatted(
            kind, shown(inbox.name()), shown(inbox.tenant()), user(inbox), inbox.present() ? "" : ", which has ended; the node deletes this");
  }

  /** The user of a session as text; empty if it has none. */
  private static String user(StoredSessions.Inbox session) {
    return session.user().isEmpty() ? "" : ", user \"" + shown(session.user()) + "\"";
  }

  private static String messages(StoredSessions.Inbox inbox) {
    return number(inbox.bytes()) + " bytes in " + number(inbox.messages()) + " messages";
  }

  private static String text(StoredSessions.Message message) {
    return "%s bytes: sequence %d of %s \"%s\" of tenant %s"
        .formatted(
            number(message.bytes()),
            message.sequence(),
            message.group() ? "group" : "client",
            shown(message.name()),
            shown(message.tenant()));
  }

  private static String text(RetainRepair.Stored stored) {
    return "%s bytes: topic \"%s\" of tenant %s".formatted(number(stored.bytes()), shown(stored.topic()), shown(stored.tenant()));
  }

  private static String number(long figure) {
    return String.format(Locale.ROOT, "%,d", figure);
  }

  private static String client(String tenant, String clientId) {
    return "client \"%s\" of tenant %s".formatted(shown(clientId), shown(tenant));
  }

  private int drySession(String tenant, String client) {
    try (StoredRows rows = StoredRows.open(directory)) {
      var found = StoredSessions.session(sessions(rows), tenant, client);
      if (found.isEmpty()) return notInRows(client(tenant, client));
      out.println("Would remove " + text(found.get()));
      return DONE;
    }
  }

  private static String text(StoredSessions.Inbox session) {
    return "the session of %s%s: %s subscriptions, %s"
        .formatted(client(session.tenant(), session.name()), user(session), number(session.subscriptions()), messages(session));
  }

  private int removeSession(String tenant, String client) {
    try (Ranges ranges = new Ranges()) {
      var found = StoredSessions.session(ranges.inbox.rows(), tenant, client);
      if (found.isEmpty()) return notThere(client(tenant, client));
      ranges.inbox.removeSession(tenant, client, (shard, of, filter) -> ranges.routes.remove(shard, of, filter).join());
      out.println("Removed " + text(found.get()) + ". If it had a will, the node publishes that when it starts.");
      return DONE;
    }
  }

  private int dryMessage(String tenant, String client, long sequence) {
    try (StoredRows rows = StoredRows.open(directory)) {
      var bytes = StoredSessions.message(sessions(rows), tenant, client, sequence);
      if (bytes.isEmpty()) return notInRows("message " + sequence + " of " + client(tenant, client));
      out.println("Would remove message %d of %s: %s bytes".formatted(sequence, client(tenant, client), number(bytes.get())));
      return DONE;
    }
  }

  private int removeMessage(String tenant, String client, long sequence) {
    try (Ranges ranges = new Ranges()) {
      var bytes = StoredSessions.message(ranges.inbox.rows(), tenant, client, sequence);
      if (bytes.isEmpty()) return notThere("message " + sequence + " of " + client(tenant, client));
      ranges.inbox.removeMessage(tenant, client, sequence);
      out.println(
          "Removed message %d of %s: %s bytes. The client never gets it.".formatted(sequence, client(tenant, client), number(bytes.get())));
      return DONE;
    }
  }

  private int dryRetained(String tenant, String topic) {
    try (StoredRows rows = StoredRows.open(directory)) {
      var found = RetainRepair.find(rows.of(RetainRepair.RANGE), tenant, topic);
      if (found.isEmpty()) return notInRows("retained message of topic \"" + shown(topic) + "\" of tenant " + shown(tenant));
      out.println("Would remove the retained message of " + text(found.get()));
      return DONE;
    }
  }

  private int removeRetained(String tenant, String topic) {
    try (Ranges ranges = new Ranges()) {
      var found = RetainRepair.find(ranges.retain.rows(), tenant, topic);
      if (found.isEmpty() || !ranges.retain.remove(tenant, topic))
        return notThere("retained message of topic \"" + shown(topic) + "\" of tenant " + shown(tenant));
      out.println("Removed the retained message of " + text(found.get()));
      return DONE;
    }
  }

  private int notThere(String what) {
    out.println("There is no " + what + ". Nothing was removed.");
    return NOT_THERE;
  }

  private int notInRows(String what) {
    out.println("There is no " + what + " in the rows; later entries of the log were not looked at.");
    return NOT_THERE;
  }

  /** The ranges of a broker, started without clients. */
  private final class Ranges implements AutoCloseable {
    private final RangeStore store;
    private final DistRoutes routes;
    private final InboxRepair inbox;
    private final RetainRepair retain;

    Ranges() {
      var meters = new SimpleMeterRegistry();
      store = RangeStore.open(settings(), directory, meters);
      try {
        var dist = DistWorker.create(store, DistSettings.defaults(Runtime.getRuntime().maxMemory()), who -> InboxServer.shardOf(layout.shards(), who.tenant(), who.clientId()), meters);
        routes = new DistRoutes(dist, new LongAdder());
        inbox = new InboxRepair(store, layout);
        retain = new RetainRepair(store);
        store.start(STALL_MAX);
      } catch (RuntimeException e) {
        store.close();
        throw e;
      }
    }

    /** Settings without a limit of free space: making room must be possible on a full disk. */
    private static StoreSettings settings() {
      var usual = StoreSettings.defaults();
      return new StoreSettings(
          true,
          usual.cluster(),
          usual.memoryBytes(),
          new StoreSettings.Disk(1, 0),
          usual.queue(),
          usual.entries(),
          usual.snapshots(),
          usual.reads());
    }

    @Override
    public void close() {
      store.close();
    }
  }

  /** The whole name, escaped to fit on one line. */
  static String shown(String name) {
    var shown = new StringBuilder();
    for (int i = 0; i < name.length(); ) {
      char c = name.charAt(i);
      String escaped = c == '\\' ? "\\u005c" : LogText.escaped(name.substring(i, i + 1));
      boolean pair = Character.isHighSurrogate(c) && i + 1 < name.length() && Character.isLowSurrogate(name.charAt(i + 1));
      shown.append(pair ? name.substring(i, i + 2) : escaped);
      i += pair ? 2 : 1;
    }
    return shown.toString();
  }

  /** Undoes {@link #shown}. */
  static String spelled(String shown) {
    var text = new StringBuilder(shown.length());
    int at = 0;
    while (at < shown.length()) {
      boolean escaped = shown.startsWith("\\u", at) && at + 6 <= shown.length() && isHex(shown.substring(at + 2, at + 6));
      if (escaped) text.append((char) Integer.parseInt(shown.substring(at + 2, at + 6), 16));
      else text.append(shown.charAt(at));
      at += escaped ? 6 : 1;
    }
    return text.toString();
  }

  private static boolean isHex(String four) {
    return four.chars().allMatch(c -> Character.digit(c, 16) >= 0);
  }
}
