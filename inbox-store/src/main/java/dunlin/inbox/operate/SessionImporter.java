package dunlin.inbox.operate;

import dunlin.inbox.ConnectionId;
import dunlin.inbox.Connections;
import dunlin.inbox.InboxClient;
import dunlin.inbox.QuotaExceededException;
import dunlin.inbox.SessionExports.Allowed;
import dunlin.inbox.SessionExports.Begun;
import dunlin.inbox.SessionExports.Ended;
import dunlin.inbox.SessionExports.Imported;
import dunlin.inbox.SessionExports.OfGroup;
import dunlin.inbox.SessionExports.Part;
import dunlin.inbox.SessionExports.Subscribed;
import dunlin.inbox.SessionExports.Waiting;
import dunlin.inbox.SessionRef;
import dunlin.inbox.StaleSessionException;
import dunlin.inbox.between.OtherRange;
import dunlin.inbox.between.OtherRange.Taken;
import dunlin.inbox.propose.TenantSessions;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.rows.SessionKey;
import dunlin.inbox.state.SessionState;
import dunlin.model.Publication;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Makes sessions of the parts of an export. While a session is imported, it belongs to a connection of this importer, which is like that of a client: it gets its messages
 * first, then its subscriptions by the way of a SUBSCRIBE, and then the connection ends, with the Session Expiry Interval that is left.
 */
public final class SessionImporter implements Connections {
  /*
   * Owner: imports run on threads that may block, a virtual one for each session; turn() on the timer; pushes come from any thread.
   * Bounds: AT_A_TIME sessions of one call at once, and BEGUN_MAX that have begun and not ended. A command has COMMAND_BYTES or one message, and COMMAND_MESSAGES.
   * Failure: until its end, a session expires LEFT_SECONDS after its connection is lost: at IDLE without another part, or with the leadership. So no session stays that
   * lacks a part. A client that connects in between takes the session over as it is, and what follows is refused.
   */
  /** The id that the connections have instead of a node's; no node has it. */
  private static final String FRONTEND = new UUID(0, 0).toString();

  private static final long LEFT_SECONDS = 1;
  private static final int AT_A_TIME = 32;
  private static final int BEGUN_MAX = 1_024;
  private static final Duration IDLE = Duration.ofMinutes(2);
  private static final long PATIENCE_SECONDS = 30;
  private static final int COMMAND_BYTES = 128 * 1_024;
  private static final int COMMAND_MESSAGES = 256;
  private static final int SUBSCRIPTIONS_AT_ONCE = 256;
  private static final int GROUP_MESSAGES_AT_ONCE = 256;

  /** Reasons of refusals that are no bounds. */
  private static final String TAKEN_OVER = "taken-over";
  private static final String NOT_BEGUN = "not-begun";
  private static final String TOO_MANY_AT_ONCE = "too-many-at-once";
  private static final String INBOX_FULL = "inbox-full";
  private static final String NO_MEMBERS = "no-members";

  /** The session was there before; no refusal. */
  private static final String EXISTING = "existing";

  private final Ranges ranges;
  private final InboxClient client;
  private final TenantSessions tenants;
  private final Attaching attaching;
  private final Consumer<Publication> offline;
  private final InstantSource clock;
  private final long incarnation;
  private final AtomicLong connections = new AtomicLong();
  private final Map<SessionKey, Lease> begun = new ConcurrentHashMap<>();
  private volatile @Nullable CompletableFuture<Void> attached;

  /**
   * What it needs of the ranges.
   *
   * @param has whether a session is in one of them; others are imported where they are
   * @param present answers the session that is there, or null
   * @param propose to the range of a session
   * @param hasGroups whether messages of groups are imported here, wherever their members are
   * @param toGroup finds a range with members of a group, led here or elsewhere
   * @param lost has a connection count as lost if it still has its session
   */
  public record Ranges(
      Predicate<SessionKey> has, Function<SessionKey, @Nullable SessionState> present, BiFunction<SessionKey, SessionCommand, CompletableFuture<Outcome>> propose,
      boolean hasGroups, Function<GroupKey, CompletableFuture<Optional<OtherRange>>> toGroup, BiConsumer<SessionKey, ConnectionId> lost) {}

  /** Has connections served as those of a frontend in one of its lives. */
  @FunctionalInterface
  public interface Attaching {
    CompletableFuture<Void> attach(String frontend, long incarnation, Connections connections);
  }

  /** A session that is being imported. */
  private static final class Lease {
    private final ConnectionId connection;
    private volatile long touched;

    Lease(ConnectionId connection) {
      this.connection = connection;
    }
  }

  /**
   * @param client subscribes sessions, as for frontends
   * @param offline counts a message of QoS 0 for a session that is being imported
   */
  public SessionImporter(Ranges ranges, InboxClient client, TenantSessions tenants, Attaching attaching, Consumer<Publication> offline, InstantSource clock) {
    this.ranges = ranges;
    this.client = client;
    this.tenants = tenants;
    this.attaching = attaching;
    this.offline = offline;
    this.clock = clock;
    incarnation = clock.millis();
  }

  /** Whether a connection is that of an import. */
  static boolean has(@Nullable ConnectionId owner) {
    return owner != null && owner.frontend().equals(FRONTEND);
  }

  private boolean isOurs(@Nullable ConnectionId owner) {
    return has(owner) && owner != null && owner.incarnation() == incarnation;
  }

  /** Whether a session is left of an import that was given up, or whose leader was lost. It ends soon. */
  private boolean isLeft(SessionState session) {
    ConnectionId owner = session.owner();
    return owner == null ? session.expirySeconds() == LEFT_SECONDS : has(owner) && !isOurs(owner);
  }

  /** Ends sessions for which nothing has come for long. */
  public void turn() {
    long now = System.nanoTime();
    begun.forEach((session, lease) -> {
      if (now - lease.touched > IDLE.toNanos()) giveUp(session, lease);
    });
  }

  private void giveUp(SessionKey session, Lease lease) {
    if (begun.remove(session, lease)) ranges.lost().accept(session, lease.connection);
  }

  /** What became of some parts. */
  private static final class Tally {
    private int sessions;
    private int existing;
    private int unfinished;
    private int messages;
    private int expired;
    private final Map<String, Integer> refused = new HashMap<>();

    void refuse(String reason, int count) {
      if (count > 0) refused.merge(reason, count, Integer::sum);
    }

    void add(Tally other) {
      sessions += other.sessions;
      existing += other.existing;
      unfinished += other.unfinished;
      messages += other.messages;
      expired += other.expired;
      other.refused.forEach(this::refuse);
    }
  }

  /** Parts of one session that follow one another. */
  private static final class Run {
    private final SessionKey session;
    private final boolean last;
    private @Nullable Begun begins;
    private final List<InboxMessage> messages = new ArrayList<>();
    private final List<InboxClient.Subscription> subscriptions = new ArrayList<>();
    private @Nullable Ended ends;

    /** @param last whether more of it may follow in another call */
    Run(SessionKey session, boolean last) {
      this.session = session;
      this.last = last;
    }
  }

  Imported importAll(String tenant, List<Part> parts, Allowed allowed) {
    await(attach());
    List<Run> runs = new ArrayList<>();
    List<OfGroup> ofGroups = new ArrayList<>();
    for (int from = 0; from < parts.size(); ) {
      int to = from + 1;
      while (to < parts.size() && isSame(parts.get(from), parts.get(to))) to++;
      List<Part> some = parts.subList(from, to);
      if (some.getFirst() instanceof OfGroup) some.forEach(part -> ofGroups.add((OfGroup) part));
      else if (ranges.has().test(new SessionKey(tenant, some.getFirst().clientId()))) runs.add(run(tenant, some, to == parts.size()));
      from = to;
    }
    Tally all = new Tally();
    for (Tally each : importRuns(runs, allowed)) all.add(each);
    if (ranges.hasGroups()) importOfGroups(tenant, ofGroups, all);
    return new Imported(all.sessions, all.existing, all.unfinished, all.messages, all.expired, all.refused);
  }

  /** A part that begins a session is never of the one before. */
  private static boolean isSame(Part first, Part next) {
    return next.clientId().equals(first.clientId()) && !(next instanceof Begun);
  }

  private static Run run(String tenant, List<Part> parts, boolean last) {
    Run run = new Run(new SessionKey(tenant, parts.getFirst().clientId()), last);
    for (Part part : parts) {
      switch (part) {
        case Begun begins -> run.begins = begins;
        case Waiting(_, var message) -> run.messages.add(message);
        case Subscribed(_, var filter, var options) -> run.subscriptions.add(new InboxClient.Subscription(filter, options));
        case Ended ends -> run.ends = ends;
        case OfGroup _ -> throw new IllegalArgumentException("a message of a group within a session");
      }
    }
    return run;
  }

  private CompletableFuture<Void> attach() {
    CompletableFuture<Void> present = attached;
    if (present != null && !present.isCompletedExceptionally()) return present;
    synchronized (this) {
      present = attached;
      if (present == null || present.isCompletedExceptionally()) attached = present = attaching.attach(FRONTEND, incarnation, this);
      return present;
    }
  }

  private List<Tally> importRuns(List<Run> runs, Allowed allowed) {
    List<Callable<Tally>> tasks = runs.stream().<Callable<Tally>>map(run -> () -> importRun(run, allowed)).toList();
    List<Tally> tallies = new ArrayList<>();
    try (var importing = Executors.newFixedThreadPool(AT_A_TIME, Thread.ofVirtual().name("dunlin-import-", 0).factory())) {
      for (Future<Tally> each : importing.invokeAll(tasks)) tallies.add(each.get());
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("sessions were not imported: interrupted", stopped);
    } catch (ExecutionException failure) {
      throw new IllegalStateException(failure.getCause() == null ? failure.getMessage() : failure.getCause().getMessage(), failure);
    }
    return tallies;
  }

  private Tally importRun(Run run, Allowed allowed) {
    Tally tally = new Tally();
    SessionState present = ranges.present().apply(run.session);
    ConnectionId owner = present == null ? null : present.owner();
    if (present != null && !isOurs(owner)) {
      boolean was = begun.remove(run.session) != null;
      if (was && run.begins == null) tally.refuse(TAKEN_OVER, 1);
      else if (isLeft(present)) tally.refuse(NOT_BEGUN, run.begins != null || run.ends != null ? 1 : 0);
      else if (run.begins != null) tally.existing++;
      return tally; // further parts belong to one that was there before
    }
    if (present == null && run.begins == null) {
      if (run.ends != null) tally.refuse(NOT_BEGUN, 1);
      return tally;
    }
    Lease lease = lease(run.session, owner);
    if (lease == null) {
      tally.refuse(TOO_MANY_AT_ONCE, 1);
      return tally;
    }
    String user = present != null ? present.user : run.begins == null ? "" : run.begins.user();
    var request =
        new InboxClient.Connect(run.session.tenant(), run.session.clientId(), user, lease.connection, false, true, LEFT_SECONDS, null);
    String refusal = refusal(run, present, request, allowed);
    if (refusal.isEmpty()) refusal = importParts(run, request, lease, tally);
    if (!refusal.isEmpty()) {
      tally.messages = 0;
      if (refusal.equals(EXISTING)) tally.existing++;
      else tally.refuse(refusal, 1);
    } else if (run.ends != null) {
      tally.sessions++;
    } else if (!run.last) {
      tally.unfinished++;
    } else {
      return tally; // the next call goes on with it
    }
    if (run.ends == null || !refusal.isEmpty()) giveUp(run.session, lease);
    else begun.remove(run.session, lease);
    return tally;
  }

  /** Why the session is refused before anything of it is done; empty when it is not. */
  private String refusal(Run run, @Nullable SessionState present, InboxClient.Connect request, Allowed allowed) {
    String refused = allowed.refused().get(run.session.clientId());
    if (refused != null) return refused;
    // An import from the beginning repeats those that are there.
    int before = present == null || run.begins != null ? 0 : present.subscriptionCount();
    long filters = run.subscriptions.stream().map(InboxClient.Subscription::filter).distinct().count();
    if (before + filters > allowed.subscriptionsMax()) return label(QuotaExceededException.Kind.SUBSCRIPTIONS);
    return tenants.refusal(request).map(SessionImporter::label).orElse("");
  }

  /** Null when there are too many. */
  private @Nullable Lease lease(SessionKey session, @Nullable ConnectionId owner) {
    Lease present = begun.get(session);
    if (present == null) {
      if (begun.size() >= BEGUN_MAX) return null;
      present = new Lease(owner != null ? owner : new ConnectionId(FRONTEND, incarnation, connections.incrementAndGet()));
      present.touched = System.nanoTime();
      Lease other = begun.putIfAbsent(session, present);
      if (other != null) present = other;
    }
    present.touched = System.nanoTime();
    return present;
  }

  /** Answers why the session was refused; empty when it was not. */
  private String importParts(Run run, InboxClient.Connect request, Lease lease, Tally tally) {
    SessionRef session = null;
    List<Integer> received = run.begins == null ? List.of() : run.begins.received();
    for (List<InboxMessage> messages : commands(unexpired(run.messages, tally))) {
      Outcome outcome = await(ranges.propose().apply(run.session, new SessionCommand.Import(clock.millis(), request, received, messages)));
      lease.touched = System.nanoTime();
      switch (outcome) {
        case Outcome.Imported(var ref, var stored, var refused) -> {
          session = ref;
          tally.messages += stored;
          tally.refuse(INBOX_FULL, refused);
        }
        case Outcome.Full _ -> {
          return label(QuotaExceededException.Kind.SESSIONS);
        }
        case Outcome.AllFull _ -> {
          return label(QuotaExceededException.Kind.MEMORY);
        }
        case Outcome.Stale _ -> {
          return session == null && run.begins != null ? EXISTING : TAKEN_OVER;
        }
        case Outcome.Done _, Outcome.Fenced _, Outcome.Repeated _, Outcome.Existed _, Outcome.OtherUser _, Outcome.Connected _, Outcome.Appended _, Outcome.Picked _ ->
            throw unexpected(outcome);
      }
    }
    if (session == null) throw new IllegalStateException("no command for " + run.session);
    try {
      for (int from = 0; from < run.subscriptions.size(); from += SUBSCRIPTIONS_AT_ONCE) {
        await(client.subscribe(session, run.subscriptions.subList(from, Math.min(run.subscriptions.size(), from + SUBSCRIPTIONS_AT_ONCE))));
        lease.touched = System.nanoTime();
      }
    } catch (QuotaExceededException full) {
      return label(full);
    } catch (StaleSessionException taken) {
      return TAKEN_OVER;
    }
    Ended ends = run.ends;
    if (ends == null) return "";
    // What came since it has subscriptions was sent to no connection, so this one was handed nothing.
    Outcome ended = await(ranges.propose().apply(run.session, new SessionCommand.Disconnect(clock.millis(), session, false, ends.expirySeconds(), 0)));
    return ended instanceof Outcome.Done ? "" : TAKEN_OVER;
  }

  private List<InboxMessage> unexpired(List<InboxMessage> messages, Tally tally) {
    long now = clock.millis();
    List<InboxMessage> lasting = messages.stream().filter(each -> each.delivered() || !each.message().expired(now)).toList();
    tally.expired += messages.size() - lasting.size();
    return lasting;
  }

  /** Messages as commands take them: at least one command. */
  private static List<List<InboxMessage>> commands(List<InboxMessage> messages) {
    List<List<InboxMessage>> commands = new ArrayList<>();
    List<InboxMessage> some = new ArrayList<>();
    long bytes = 0;
    for (InboxMessage message : messages) {
      int length = message.message().encodedLength();
      if (!some.isEmpty() && (bytes + length > COMMAND_BYTES || some.size() == COMMAND_MESSAGES)) {
        commands.add(some);
        some = new ArrayList<>();
        bytes = 0;
      }
      some.add(message);
      bytes += length;
    }
    commands.add(some);
    return commands;
  }

  /** The messages of one call for a group go to one range, and keep their order. */
  private void importOfGroups(String tenant, List<OfGroup> messages, Tally tally) {
    long now = clock.millis();
    Map<GroupKey, Optional<OtherRange>> ranged = new HashMap<>();
    for (int from = 0; from < messages.size(); from += GROUP_MESSAGES_AT_ONCE) {
      List<CompletableFuture<Taken>> answers = new ArrayList<>();
      for (OfGroup each : messages.subList(from, Math.min(messages.size(), from + GROUP_MESSAGES_AT_ONCE))) {
        var range = ranged.computeIfAbsent(new GroupKey(tenant, each.group()), group -> await(ranges.toGroup().apply(group)));
        if (each.message().expired(now)) tally.expired++;
        else if (range.isEmpty()) tally.refuse(NO_MEMBERS, 1);
        else answers.add(range.get().store(new SessionCommand.AppendToGroup(now, each.group(), each.message(), null)));
      }
      for (CompletableFuture<Taken> answer : answers) {
        switch (await(answer)) {
          case YES -> tally.messages++;
          case NO -> tally.refuse(NO_MEMBERS, 1);
          case FULL -> tally.refuse(INBOX_FULL, 1);
        }
      }
    }
  }

  private static IllegalStateException unexpected(Outcome outcome) {
    return new IllegalStateException("the session range answered " + outcome);
  }

  private static String label(QuotaExceededException full) {
    return label(full.kind());
  }

  private static String label(QuotaExceededException.Kind kind) {
    return switch (kind) {
      case SESSIONS -> "sessions";
      case SUBSCRIPTIONS -> "subscriptions";
      case MEMORY -> "memory";
      case ROUTES -> "routes";
      case GROUPS -> "groups";
      case PATTERNS -> "patterns";
      case TENANT_SESSIONS -> "tenant-sessions";
      case TENANT_SUBSCRIPTIONS -> "tenant-subscriptions";
      case TENANT_ROUTES -> "tenant-routes";
    };
  }

  /**
   * Waits for an answer.
   *
   * @throws QuotaExceededException when the answer is that
   * @throws StaleSessionException when the answer is that
   * @throws IllegalStateException when there is none, or it is any other failure
   */
  private static <T> T await(CompletableFuture<T> answer) {
    try {
      return answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException failed) {
      switch (failed.getCause()) {
        case QuotaExceededException full -> throw full;
        case StaleSessionException taken -> throw taken;
        case null, default -> throw new IllegalStateException("sessions were not imported: " + (failed.getCause() == null ? failed : failed.getCause()).getMessage(), failed);
      }
    } catch (TimeoutException late) {
      throw new IllegalStateException("sessions were not imported: no answer within %d s".formatted(PATIENCE_SECONDS), late);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("sessions were not imported: interrupted", stopped);
    }
  }

  @Override
  public void push(ConnectionId connection, InboxMessage message) {
    if (message.sequence() == 0) offline.accept(message.message()); // others are stored
  }

  @Override
  public void behind(ConnectionId connection) {
    // all that is stored waits for the client
  }

  @Override
  public void displaced(ConnectionId connection) {
    // the next command is refused
  }

  @Override
  public void dismissed(ConnectionId connection) {
    begun.forEach((session, lease) -> {
      if (lease.connection.equals(connection)) giveUp(session, lease);
    });
  }

  @Override
  public CompletableFuture<Void> settled(ConnectionId connection) {
    return CompletableFuture.completedFuture(null);
  }
}
