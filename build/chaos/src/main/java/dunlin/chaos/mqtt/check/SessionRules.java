package dunlin.chaos.mqtt.check;

import dunlin.chaos.mqtt.check.Event.Connected;
import dunlin.chaos.mqtt.check.Event.Ended;
import dunlin.chaos.mqtt.check.Event.ReceivedBehind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** D6 and D11: one connection for each client identifier, correct Session Present, and sessions that expire in time. */
public final class SessionRules {
  private static final long SECOND = 1_000_000_000L;
  /** How late a session may end. */
  private static final long LATE_MOST = 20 * SECOND;

  private static final int SESSION_TAKEN_OVER = 0x8E;
  private static final int LEVEL_5 = 5;

  /** What the client can know about its session. */
  private enum Known {
    NONE,
    THERE,
    DOUBTFUL
  }

  private final Facts facts;
  private final List<Violation> violations = new ArrayList<>();

  SessionRules(Facts facts) {
    this.facts = facts;
  }

  List<Violation> check() {
    for (var life : facts.lives.values()) {
      present(life);
      single(life);
      behind(life);
    }
    return violations;
  }

  private void present(List<Event> life) {
    var known = Known.NONE;
    @Nullable Ended ended = null;
    @Nullable Connected before = null;
    for (var event : life) {
      switch (event) {
        case Connected it -> {
          if (it.cleanStart()) {
            if (it.sessionPresent()) violations.add(new Violation("D6", "present after Clean Start", it.toString()));
          } else if (known == Known.NONE) {
            if (it.sessionPresent()) violations.add(new Violation("D6", "present and never made", it.toString()));
          } else if (known == Known.THERE && before != null) {
            lasting(before, Optional.ofNullable(ended), it);
          }
          known = it.expirySeconds() > 0 ? Known.THERE : Known.NONE;
          before = it;
          ended = null;
        }
        case Event.ConnectFailed it -> {
          if (it.cleanStart() || known == Known.NONE) known = Known.DOUBTFUL;
        }
        case Ended it -> ended = it;
        default -> {}
      }
    }
  }

  private void lasting(Connected before, Optional<Ended> ended, Connected now) {
    long expiryNanos = before.expirySeconds() * SECOND;
    long clocksApart = facts.clocksApartNanos(now.nanos());
    if (!now.sessionPresent()) {
      boolean early = ended.isEmpty() || now.nanos() < facts.earliestEnd(before, ended.get()) + expiryNanos - clocksApart;
      if (early) violations.add(new Violation("D11", "session gone early", "%s, ended %s".formatted(now, ended)));
    } else if (ended.isPresent()) {
      long latest = ended.get().nanos() + expiryNanos + LATE_MOST + clocksApart;
      if (now.askedNanos() > latest && !facts.disturbedBetween(ended.get().nanos(), now.nanos()))
        violations.add(new Violation("D11", "session there too long", "%s, ended %s".formatted(now, ended)));
    }
  }

  private void single(List<Event> life) {
    for (int i = 0; i < life.size(); i++) {
      if (!(life.get(i) instanceof Connected first)) continue;
      @Nullable Connected next = null;
      @Nullable Ended end = null;
      for (var event : life.subList(i + 1, life.size())) {
        if (next == null && event instanceof Connected it) next = it;
        if (end == null && event instanceof Ended it && it.connection() == first.connection()) end = it;
      }
      if (next != null && (end == null || end.nanos() > next.nanos())) loser(first, next, Optional.ofNullable(end));
    }
  }

  private void loser(Connected first, Connected next, Optional<Ended> end) {
    long latest = facts.latestEnd(first, next.nanos());
    if (end.isEmpty() ? latest < facts.drainedNanos : end.get().nanos() > latest) {
      violations.add(new Violation("D6", "two connections", first + " and " + next));
    } else if (end.isPresent() && first.level() == LEVEL_5 && end.get().reason() != SESSION_TAKEN_OVER) {
      if (!facts.disturbedBetween(next.askedNanos() - SECOND, end.get().nanos()))
        violations.add(new Violation("D6", "taken over without saying so", end.get().toString()));
    }
  }

  /**
   * What is published once a durable session has moved to another connection must not come over the one before, not even
   * from a broker that does not know of it yet. (Of QoS 0 nothing is promised.)
   */
  private void behind(List<Event> life) {
    for (var event : life) {
      if (!(event instanceof ReceivedBehind it) || it.qos() == 0) continue;
      var message = facts.sent.get(it.id());
      boolean moved =
          message != null
              && life.stream()
                  .anyMatch(
                      each ->
                          each instanceof Connected next && next.connection() > it.connection() && next.expirySeconds() > 0
                              && next.nanos() < message.first.nanos());
      if (moved) violations.add(new Violation("D6", "served behind a takeover", it.toString()));
    }
  }
}
