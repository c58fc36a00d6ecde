package dunlin.chaos.history;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dunlin.chaos.history.Checker.Violation;
import dunlin.chaos.history.Checker;
import dunlin.chaos.history.History;
import dunlin.chaos.history.Operation.Outcome;
import dunlin.chaos.history.Operation;
import dunlin.chaos.history.Read;
import dunlin.chaos.history.Row;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the checker with correct histories, and with the same histories with one error. */
public class CheckerTest {
  private final List<Operation> operations = new ArrayList<>();
  private final List<Read> reads = new ArrayList<>();
  private final List<Row> rows = new ArrayList<>();

  private long nextId = 1;
  private long nanos = 1000;

  /** A ledger of writes with all kinds of outcomes, sequential or concurrent. */
  private void someWrites(Random random, int count) {
    long acknowledged = 0;
    while (operations.size() < count) {
      int together = random.nextInt(1, 5);
      long invoked = tick();
      long seen = acknowledged;
      for (int i = 0; i < together; i++) {
        long id = nextId++;
        var outcome =
            switch (random.nextInt(8)) {
              case 0 -> new Outcome.Refused("no leader");
              case 1 -> new Outcome.Unknown("stream broken");
              case 2 -> {
                place(id, seen);
                yield new Outcome.Unknown("stream broken");
              }
              default -> new Outcome.Placed(place(id, seen));
            };
        operations.add(new Operation(id, seen, invoked, tick(), outcome));
        if (outcome instanceof Outcome.Placed(long place)) acknowledged = place;
      }
      reads.add(new Read(tick(), rows.size()));
    }
    Collections.shuffle(operations, random); // they are recorded in the order in which they end, on any thread
  }

  private long tick() {
    nanos += 10;
    return nanos;
  }

  private long place(long id, long seen) {
    rows.add(new Row(rows.size() + 1, id, seen));
    return rows.size();
  }

  private Checker.Findings check() {
    return check(rows, rows);
  }

  private Checker.Findings check(List<Row> one, List<Row> other) {
    return Checker.check(new History(operations, reads), Map.of("n1", one, "n2", other));
  }

  private void finds(Checker.Findings findings, Violation... expected) {
    assertThat(findings.counts().keySet()).as(findings.samples().toString()).isEqualTo(Set.of(expected));
    assertThat(findings.clean()).isFalse();
    assertThat(findings.samples()).isNotEmpty();
  }

  private int anyPlaced(Random random) {
    while (true) {
      int at = random.nextInt(operations.size());
      if (operations.get(at).outcome() instanceof Outcome.Placed) return at;
    }
  }

  private long lastAcknowledged() {
    long last = 0;
    for (var operation : operations)
      if (operation.outcome() instanceof Outcome.Placed(long place)) last = Math.max(last, place);
    return last;
  }

  private void change(int at, Outcome outcome) {
    var old = operations.get(at);
    operations.set(at, new Operation(old.id(), old.seen(), old.invokedNanos(), old.answeredNanos(), outcome));
  }

  private void renumber() {
    for (int i = 0; i < rows.size(); i++) rows.set(i, new Row(i + 1, rows.get(i).id(), rows.get(i).seen()));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void aCorrectHistoryWithAllOutcomesIsClean(long seed) {
    someWrites(new Random(seed), 500);

    var findings = check();

    assertThat(findings.counts()).as(findings.samples().toString()).isEmpty();
    assertThat(findings.acknowledged() + findings.refused() + findings.unknown()).isEqualTo(operations.size());
    assertThat(findings.unknownDone()).isPositive().isLessThan(findings.unknown());
    assertThat(findings.acknowledged() + findings.unknownDone()).isEqualTo(rows.size());
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void aMissingAcknowledgedWriteIsLost(long seed) {
    var random = new Random(seed);
    someWrites(random, 200);
    operations.add(new Operation(nextId, 0, nanos, nanos + 1, new Outcome.Placed(rows.size() + 1)));

    finds(check(), Violation.LOST);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void anAcknowledgedWriteWithAnEmptyPlaceIsLost(long seed) {
    var random = new Random(seed);
    someWrites(random, 200);
    var victim = operations.get(anyPlaced(random));
    rows.removeIf(row -> row.id() == victim.id());

    var findings = check();

    assertThat(findings.count(Violation.LOST)).isEqualTo(1);
    assertThat(findings.counts().keySet()).isSubsetOf(EnumSet.of(Violation.LOST, Violation.GAP));
  }

  @Test
  void writesAfterALostOneAreInTheWrongPlace() {
    someWrites(new Random(1), 200);
    rows.removeFirst();
    renumber();

    assertThat(check().count(Violation.LOST)).isGreaterThan(50);
  }

  @Test
  void aLossOnOneReplicaIsFoundThoughOthersHaveTheWrite() {
    someWrites(new Random(1), 200);
    var fewer = new ArrayList<>(rows);
    long last = lastAcknowledged();
    while (fewer.size() >= last) fewer.removeLast();

    finds(check(rows, fewer), Violation.LOST, Violation.DIFFERENT);
    finds(check(fewer, rows), Violation.LOST, Violation.DIFFERENT);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void aRepeatedWriteIsFound(long seed) {
    var random = new Random(seed);
    someWrites(random, 200);
    var twice = rows.get(random.nextInt(rows.size()));
    place(twice.id(), twice.seen());

    finds(check(), Violation.DOUBLED);
  }

  @Test
  void anUnknownWriteMayBeAppliedAtMostOnce() {
    someWrites(new Random(1), 200);
    long id = nextId++;
    operations.add(new Operation(id, 0, nanos, nanos + 1, new Outcome.Unknown("stream broken")));
    place(id, 0);
    assertThat(check().clean()).isTrue();
    place(id, 0);

    finds(check(), Violation.DOUBLED);
  }

  @Test
  void anUnsentWriteIsInvented() {
    someWrites(new Random(1), 200);
    place(nextId, 0);

    finds(check(), Violation.INVENTED);
  }

  @Test
  void aWriteWithOtherContentIsInvented() {
    someWrites(new Random(1), 200);
    var last = rows.removeLast();
    rows.add(new Row(last.place(), last.id(), last.seen() + 1));

    finds(check(), Violation.INVENTED);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void aRefusedWriteMustNotBeApplied(long seed) {
    var random = new Random(seed);
    someWrites(random, 200);
    change(anyPlaced(random), new Outcome.Refused("not leader"));

    finds(check(), Violation.REFUSED_AND_DONE);
  }

  @Test
  void aLeaderThatHasLostSeenWritesIsFound() {
    someWrites(new Random(1), 200);
    operations.add(new Operation(nextId, rows.size(), nanos, nanos + 1, new Outcome.Behind(rows.size() - 1)));

    finds(check(), Violation.BEHIND);
  }

  @Test
  void aWriteIsAfterThoseAcknowledgedBeforeItBegan() {
    for (long id = 1; id <= 3; id++) operations.add(new Operation(id, 0, id * 10, id * 10 + 5, new Outcome.Placed(4 - id)));
    for (long id = 3; id >= 1; id--) place(id, 0);

    var findings = check();

    finds(findings, Violation.DISORDERED);
    assertThat(findings.count(Violation.DISORDERED)).isEqualTo(2);
  }

  @Test
  void anAppliedUnknownWriteIsAfterThemToo() {
    operations.add(new Operation(1, 0, 10, 11, new Outcome.Placed(2)));
    operations.add(new Operation(2, 0, 20, 21, new Outcome.Unknown("stream broken")));
    place(2, 0);
    place(1, 0);

    finds(check(), Violation.DISORDERED);
  }

  @Test
  void concurrentWritesMayBeInAnyOrder() {
    operations.add(new Operation(1, 0, 10, 30, new Outcome.Placed(2)));
    operations.add(new Operation(2, 0, 20, 40, new Outcome.Placed(1)));
    place(2, 0);
    place(1, 0);

    assertThat(check().clean()).isTrue();
  }

  @Test
  void aReadAfterABarrierShowsEarlierAcknowledgedWrites() {
    someWrites(new Random(1), 200);
    nanos = operations.stream().mapToLong(Operation::answeredNanos).max().orElseThrow();
    long last = lastAcknowledged();
    reads.add(new Read(nanos + 1, last));
    assertThat(check().clean()).isTrue();
    reads.add(new Read(nanos + 2, last - 1));

    finds(check(), Violation.STALE);
  }

  @Test
  void aReadThatBeganBeforeTheAcknowledgementMayMissIt() {
    operations.add(new Operation(1, 0, 10, 30, new Outcome.Placed(1)));
    place(1, 0);
    reads.add(new Read(30, 0));
    assertThat(check().clean()).isTrue();
    reads.add(new Read(31, 0));

    finds(check(), Violation.STALE);
  }

  @Test
  void anEmptyPlaceIsAGap() {
    someWrites(new Random(1), 200);
    place(nextId, 0);
    var last = rows.removeLast();
    rows.add(new Row(last.place() + 1, last.id(), last.seen()));
    operations.add(new Operation(nextId, 0, nanos, nanos + 1, new Outcome.Unknown("stream broken")));

    finds(check(), Violation.GAP);
  }

  @Test
  void differentReplicasAreFoundEvenWithoutAcknowledgements() {
    long id = nextId++;
    operations.add(new Operation(id, 0, 10, 20, new Outcome.Unknown("stream broken")));
    place(id, 0);

    finds(check(rows, List.of()), Violation.DIFFERENT);
  }

  @Test
  void aCheckNeedsAReplica() {
    assertThatThrownBy(() -> Checker.check(new History(List.of(), List.of()), Map.of())).hasMessage("no replica to compare with");
  }

  @Test
  void anIdentifierThatIsUsedTwiceIsAnErrorOfTheSuite() {
    operations.add(new Operation(1, 0, 10, 20, new Outcome.Refused("")));
    operations.add(new Operation(1, 0, 10, 20, new Outcome.Refused("")));
    assertThatThrownBy(this::check).hasMessage("two operations have the id 1");
  }

  @Test
  void theLongestGapCountsAcknowledgementsOnly() {
    for (long time : new long[] {100, 200, 700, 900})
      operations.add(new Operation(nextId++, 0, 0, time, new Outcome.Placed(nextId)));
    operations.add(new Operation(nextId++, 0, 0, 450, new Outcome.Unknown("")));
    var history = new History(operations, reads);

    assertThat(Checker.longestGap(history, 150, 1000)).isEqualTo(500);
    assertThat(Checker.longestGap(history, 650, 1000)).isEqualTo(200);
    assertThat(Checker.longestGap(history, 650, 2000)).as("up to the end").isEqualTo(1100);
    assertThat(Checker.longestGap(history, 300, 400)).as("none at all").isEqualTo(100);
  }
}
