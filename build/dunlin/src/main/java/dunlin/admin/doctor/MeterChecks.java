package dunlin.admin.doctor;

import dunlin.admin.doctor.DoctorMXBean.Finding;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the node's own meters say: certificates in use, budgets of memory, and counters that should not have risen. */
final class MeterChecks {
  private static final long MIB = 1 << 20;
  private static final int PERCENT = 100;
  private static final int USED_PERCENT = 90;
  private static final int HEAP_MUCH_PERCENT = 75;
  private static final String LISTENER = "listener";
  private static final String BUDGET = "budget";
  private static final List<String> ON_HEAP = List.of("outgoing", "subscriptions", "requests");
  private static final List<String> BESIDE_HEAP = List.of("sockets", "unfinished", "unauthenticated");

  /** Each of these is 0 unless something failed. */
  static final List<String> FAULTS = List.of("dunlin.frontend.unexpected");

  static final List<String> FAILURES =
      List.of(
          "dunlin.application.events-dropped", "dunlin.cluster.tls.reloads", "dunlin.frontend.disconnects-unsettled", "dunlin.frontend.store-failures",
          "dunlin.inbox.wills-refused", "dunlin.listener.tls.crl-reloads", "dunlin.listener.tls.reloads", "dunlin.routes.repaired",
          "dunlin.store.appends.failed", "dunlin.store.callers.rejected", "dunlin.store.followers.stuck");

  /** A will that access rules deny has not failed: a client without the right causes it at will. */
  private static final String DENIED = "not-authorized";

  /** Clients have met a limit of the node or of the settings. */
  static final List<String> REFUSALS = List.of("dunlin.dist.refused", "dunlin.inbox.subscribes-refused", "dunlin.limits.hit", "dunlin.listener.refused", "dunlin.memory.refused");

  /** Other reasons why a listener refuses a connection, such as a failed TLS handshake, are no limits: a scanner on the Internet causes them all the time. */
  private static final String REFUSED_BY_LISTENER = "dunlin.listener.refused{";
  private static final List<String> LIMITS_OF_LISTENER = List.of("connections", "address", "rate", "process", "accept");

  static final List<String> GAUGES =
      List.of(
          "dunlin.cluster.tls.certificate-seconds", "dunlin.listener.tls.certificate-seconds", "dunlin.listener.tls.client-ca-seconds",
          "dunlin.listener.tls.crl-seconds", "dunlin.memory.limit", "dunlin.memory.used");

  private final NodeMeters meters;
  private final RecentCounts recent;

  MeterChecks(NodeMeters meters) {
    this.meters = meters;
    recent = new RecentCounts(meters, Stream.of(FAULTS, FAILURES, REFUSALS).flatMap(List::stream).toList());
  }

  /** To be called every {@link RecentCounts#LOOK_SECONDS}. */
  void look() {
    recent.look();
  }

  /** The certificates and revocation lists in use; files that were put in their places and cannot be used are found apart. */
  List<Finding> certificates(Instant now) {
    List<Finding> findings = new ArrayList<>();
    meters
        .gauges("dunlin.listener.tls.certificate-seconds", LISTENER)
        .forEach((name, left) -> findings.add(expiry("certificate " + name, left, now, "that " + name + " has in use")));
    meters
        .gauges("dunlin.listener.tls.client-ca-seconds", LISTENER)
        .forEach((name, left) -> findings.add(expiry("client-ca " + name, left, now, "of an authority of clients at " + name)));
    meters
        .gauges("dunlin.cluster.tls.certificate-seconds", "")
        .forEach((_, left) -> findings.add(expiry("certificate between nodes", left, now, "that nodes show each other, or that of their authority,")));
    meters
        .gauges("dunlin.listener.tls.crl-seconds", LISTENER)
        .forEach((name, left) -> findings.add(revocations("revocation-list " + name, left.longValue())));
    return findings;
  }

  private static Finding expiry(String check, double secondsLeft, Instant now, String whose) {
    return NodeChecks.expiry(check, now.plusSeconds((long) secondsLeft), now, whose);
  }

  private static Finding revocations(String check, long secondsLeft) {
    if (secondsLeft >= 0) return Finding.ok(check, "The revocation lists in use are to be replaced in %d hours.".formatted(secondsLeft / 3_600));
    return Finding.warning(
        check, "A revocation list should have been replaced %d hours ago, so certificates that were revoked since are accepted.".formatted(-secondsLeft / 3_600),
        "Put the new list of the authority in place of the file of tls.client-crl; it is read again within seconds.");
  }

  /**
   * What clients may make the node use beside what it has, and what they use.
   *
   * @param heapMax bytes
   * @param directMax bytes
   * @return empty when the node has no clients
   */
  Optional<Finding> budgets(long heapMax, long directMax) {
    String check = "budgets";
    SortedMap<String, Double> limits = meters.gauges("dunlin.memory.limit", BUDGET);
    if (limits.isEmpty()) return Optional.empty();
    if (meters.gauges("dunlin.memory.full", "").containsValue(1.0)) {
      return Optional.of(
          Finding.wrong(
              check, "So much of the heap of %d MiB is live that new sessions, subscriptions and retained topics are refused.".formatted(heapMax / MIB),
              "Give the node a larger heap, or find out what fills it: dunlin.memory.used, dunlin.inbox.memory, dunlin.dist.memory and dunlin.retain.topics.size."));
    }
    long onHeap = sum(limits, ON_HEAP);
    long besideHeap = sum(limits, BESIDE_HEAP);
    String heap = "Messages, subscriptions and unanswered requests of clients may take %d MiB of a heap of %d MiB.".formatted(onHeap / MIB, heapMax / MIB);
    String lower = "Lower dunlin.memory.outgoing-max, dunlin.memory.subscriptions-max and dunlin.memory.requests-max, or give the node a larger heap.";
    if (onHeap >= heapMax) return Optional.of(Finding.wrong(check, heap, lower));
    if (besideHeap > directMax) {
      return Optional.of(
          Finding.wrong(
              check, "What waits at the sockets of clients may take %d MiB, and there are %d MiB for it beside the heap.".formatted(besideHeap / MIB, directMax / MIB),
              "Lower dunlin.memory.sockets-max, unfinished-max or unauthenticated-max, or raise -XX:MaxDirectMemorySize in DUNLIN_JVM_OPTS."));
    }
    List<String> used = used(limits);
    if (!used.isEmpty()) {
      return Optional.of(
          Finding.warning(
              check, "Clients have used up nearly all memory that they may take: %s.".formatted(String.join(", ", used)),
              "See by bin/dunlinctl clients top which clients hold most; raise dunlin.memory.* together with the heap if they may."));
    }
    if (onHeap * PERCENT > heapMax * HEAP_MUCH_PERCENT) return Optional.of(Finding.warning(check, heap, lower));
    return Optional.of(Finding.ok(check, heap));
  }

  private List<String> used(Map<String, Double> limits) {
    return meters.gauges("dunlin.memory.used", BUDGET).entrySet().stream()
        .filter(each -> each.getValue() * PERCENT >= limits.getOrDefault(each.getKey(), Double.MAX_VALUE) * USED_PERCENT)
        .map(each -> "%s %d of %d MiB".formatted(each.getKey(), each.getValue().longValue() / MIB, limits.getOrDefault(each.getKey(), 0.0).longValue() / MIB))
        .toList();
  }

  private static long sum(Map<String, Double> limits, List<String> budgets) {
    return budgets.stream().mapToLong(each -> limits.getOrDefault(each, 0.0).longValue()).sum();
  }

  /** What failed in the node in the last hour. */
  Finding failures() {
    String check = "failures";
    SortedMap<String, Long> faults = recent.risen(FAULTS);
    if (!faults.isEmpty()) {
      return Finding.wrong(
          check, "In the last hour something failed in a way that only a bug in Dunlin can cause: %s.".formatted(text(faults)),
          "Report it with the lines at the level ERROR in the log, and those before them.");
    }
    SortedMap<String, Long> failures = recent.risen(FAILURES);
    failures.keySet().removeIf(each -> hasReason(each, DENIED));
    if (failures.isEmpty()) return Finding.ok(check, "No counter that should stay the same has risen in the last hour.");
    return Finding.warning(
        check, "Counters that should stay the same have risen in the last hour: %s.".formatted(text(failures)),
        "See what docs/metrics.md says about them, and the log at that time.");
  }

  /** What clients were refused in the last hour. */
  Finding refusals() {
    String check = "refusals";
    SortedMap<String, Long> refusals = recent.risen(REFUSALS);
    refusals.keySet().removeIf(each -> each.startsWith(REFUSED_BY_LISTENER) && LIMITS_OF_LISTENER.stream().noneMatch(reason -> hasReason(each, reason)));
    if (refusals.isEmpty()) return Finding.ok(check, "No client has met a limit in the last hour.");
    return Finding.warning(
        check, "Clients have met limits in the last hour: %s.".formatted(text(refusals)),
        "The log dunlin.events names the clients and the settings; raise a setting if the clients are right.");
  }

  /** @param counter its name and tags, which are in the order of their names */
  private static boolean hasReason(String counter, String reason) {
    return counter.endsWith("reason=" + reason + "}");
  }

  private static String text(Map<String, Long> counts) {
    return counts.entrySet().stream().map(each -> each.getKey() + " " + each.getValue()).collect(Collectors.joining(", "));
  }
}
