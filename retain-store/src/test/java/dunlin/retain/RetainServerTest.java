package dunlin.retain;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import dunlin.model.Publication;
import dunlin.model.Publisher;
import dunlin.model.QoS;
import dunlin.model.ReasonCode;
import dunlin.retain.RetainClient.Cursor;
import dunlin.retain.RetainClient.Page;
import dunlin.runtime.memory.HeapGuard;
import dunlin.store.StoreException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class RetainServerTest {
  private static final int ALL = 1 << 20;

  private final AtomicLong nowMillis = new AtomicLong(1000);
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final ScheduledExecutorService scheduler = Executors.newSingleThreadScheduledExecutor();
  private final List<FakeRange<RetainCommand, RetainResult>> ranges = new ArrayList<>();
  private final RetainServer server = server(new RetainSettings(Messages.atMost(200_000), Duration.ofMillis(1), 100));
  private final FakeRange<RetainCommand, RetainResult> range = ranges.getFirst();

  private RetainServer server(RetainSettings settings) {
    return new RetainServer(
        FakeRange.openedInto(ranges), List.of(), settings, meters, () -> Instant.ofEpochMilli(nowMillis.get()), scheduler);
  }

  @AfterEach
  void close() {
    server.close();
    scheduler.shutdownNow();
  }

  private ReasonCode set(Publication message) {
    List<ReasonCode> answers = new ArrayList<>();
    server.set(message, answers::add);
    assertThat(answers).as("answers to %s", message).hasSize(1);
    return answers.getFirst();
  }

  @Test
  void onAFullHeapOnlyTopicsThatHaveAMessageGetOne() {
    assertThat(set(Messages.message("first", "1"))).isEqualTo(ReasonCode.SUCCESS);
    var heap = new HeapGuard(() -> new HeapGuard.Found(0.9, HeapGuard.Found.EXACT, 0), 80);
    heap.look();
    server.guard(heap);

    assertThat(set(Messages.message("second", "1"))).isEqualTo(ReasonCode.QUOTA_EXCEEDED);
    var added = new ArrayList<Optional<ReasonCode>>();
    server.add(Messages.message("third", "1"), added::add);
    assertThat(added).containsExactly(Optional.of(ReasonCode.QUOTA_EXCEEDED));
    assertThat(set(Messages.message("first", "2"))).isEqualTo(ReasonCode.SUCCESS);
  }

  private Page page(String filter, @Nullable Cursor after, int messagesMax, int bytesMax) {
    return server.find(Messages.TENANT, filter, after, messagesMax, bytesMax).join();
  }

  private List<String> topics(String filter) {
    List<String> topics = new ArrayList<>();
    Cursor cursor = null;
    do {
      Page page = page(filter, cursor, ALL, ALL);
      page.messages().forEach(message -> topics.add(message.topic()));
      cursor = page.next();
    } while (cursor != null);
    return topics;
  }

  private double count(String meter, String... tags) {
    return meters.get(meter).tags(tags).counter().count();
  }

  @Test
  @Tag("MQTT-3.3.1-5")
  @Tag("MQTT-3.3.1-6")
  @Tag("MQTT-3.3.1-7")
  void aMessageIsFoundUntilItIsReplacedOrCleared() {
    assertThat(set(Messages.message("a/b", "1"))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(Messages.message("a/b", "2"))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(Messages.message("a/c", "3"))).isEqualTo(ReasonCode.SUCCESS);

    List<Publication> found = page("a/+", null, ALL, ALL).messages();
    assertThat(found).extracting(Publication::topic).containsExactly("a/b", "a/c");
    assertThat(found).extracting(Messages::payload).containsExactly("2", "3");
    assertThat(found).allMatch(Publication::retain);

    assertThat(set(Messages.message("a/b", ""))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(set(Messages.message("a/b", ""))).isEqualTo(ReasonCode.SUCCESS);
    assertThat(topics("a/+")).containsExactly("a/c");
    assertThat(range.rows().size()).isEqualTo(1);
    assertThat(meters.get("dunlin.retain.messages").gauge().value()).isEqualTo(1);
    assertThat(count("dunlin.retain.stored")).isEqualTo(3);
    assertThat(count("dunlin.retain.removed")).isEqualTo(1);
    assertThat(count("dunlin.retain.found")).isEqualTo(3);
  }

  /** A subscriber may already have received a pending message live: a page that it then requests must not be older. */
  @Test
  void everyPageWaitsForPendingMessages() {
    set(Messages.message("a", "1"));
    set(Messages.message("b", "1"));
    Cursor afterFirst = page("#", null, 1, ALL).next();
    range.log = FakeRange.Log.HOLDS;
    server.set(Messages.message("b", "2"), _ -> {});

    var second = server.find(Messages.TENANT, "#", afterFirst, 1, ALL);

    assertThat(second).isNotDone();
    range.applyHeld();
    assertThat(second.join().messages()).extracting(Messages::payload).containsExactly("2");
  }

  @Test
  @Tag("MQTT-4.7.2-1")
  void leadingWildcardsDoNotFindTopicsThatBeginWithADollar() {
    for (String topic : List.of("$SYS/x", "a/x", "/x", "x")) set(Messages.message(topic, "1"));

    assertThat(topics("#")).containsExactlyInAnyOrder("a/x", "/x", "x");
    assertThat(topics("+/x")).containsExactlyInAnyOrder("a/x", "/x");
    assertThat(topics("$SYS/#")).containsExactly("$SYS/x");
  }

  @Test
  void oneHundredThousandTopicsComeInPagesOfTheRequestedSize() {
    for (int i = 0; i < 100_000; i++) server.set(Messages.message("site" + i % 100 + "/device" + i, "1"), _ -> {});

    Set<String> met = new HashSet<>();
    Cursor cursor = null;
    int pages = 0;
    do {
      Page page = page("#", cursor, 250, ALL);
      assertThat(page.messages()).hasSizeLessThanOrEqualTo(250);
      for (Publication message : page.messages()) if (!met.add(message.topic())) fail("%s twice", message.topic());
      cursor = page.next();
      pages++;
    } while (cursor != null);

    assertThat(met).hasSize(100_000);
    assertThat(pages).isLessThanOrEqualTo(401);
  }

  @Test
  void aPageEndsAfterTheMessageThatFillsIt() {
    for (int i = 0; i < 10; i++) set(Messages.message("t/" + i, "x".repeat(97)));

    Page page = page("t/#", null, ALL, 250);
    assertThat(page.messages()).hasSize(3);
    assertThat(page.next()).isNotNull();
    assertThat(page("t/#", page.next(), ALL, 700).messages()).hasSize(7);
    assertThat(page("t/#", page.next(), 1, 0).messages()).extracting(Publication::topic).containsExactly("t/3");
  }

  @Test
  void aPageEndsEarlyWhenFewKeysMatchAndItsCursorContinues() {
    // Each branch costs at least one visit, and none of them has the topic.
    for (int i = 0; i < 3 * RetainPages.VISITS_MAX; i++) server.set(Messages.message("b" + i + "/x", "1"), _ -> {});
    set(Messages.message("z/y", "1"));

    Page first = page("+/y", null, ALL, ALL);
    assertThat(first.messages()).isEmpty();
    assertThat(first.next()).isNotNull();
    assertThat(topics("+/y")).containsExactly("z/y");
  }

  @Test
  void pagesHaveEachLastingTopicExactlyOnceWhileOthersChange() throws Exception {
    Set<String> stable = new HashSet<>();
    for (int i = 0; i < 2000; i++) {
      stable.add("t/" + i * 3);
      set(Messages.message("t/" + i * 3, "1"));
    }

    AtomicBoolean done = new AtomicBoolean();
    try (ExecutorService pool = Executors.newFixedThreadPool(2)) {
      range.readers = pool;
      Future<?> writer = pool.submit(() -> {
        for (int i = 0; !done.get(); i++) {
          String payload = i / 6000 % 2 == 0 ? "1" : "";
          if (i % 3 != 0) server.set(Messages.message("t/" + i % 6000, payload), _ -> {});
        }
      });
      try {
        for (int round = 0; round < 5; round++) {
          List<String> met = topics("t/+");
          assertThat(met).doesNotHaveDuplicates().containsAll(stable);
        }
      } finally {
        done.set(true);
      }
      writer.get();
    }
  }

  @Test
  @Tag("MQTT-3.3.2-5")
  void expiredMessagesAreNotFoundAndAreRemovedWhenMet() {
    set(Messages.expiring("a", "1", 1000, 2));
    set(Messages.expiring("b", "1", 1000, 5));
    nowMillis.set(2999);
    assertThat(topics("#")).containsExactly("a", "b");

    nowMillis.set(3000);
    assertThat(topics("#")).containsExactly("b");

    assertThat(range.rows().size()).isEqualTo(1);
    assertThat(count("dunlin.retain.expired")).isEqualTo(1);
  }

  @Test
  void whatIsAddedStaysBehindWhatATopicHas() {
    set(Messages.message("a", "1"));
    set(Messages.expiring("b", "old", 1000, 2));
    List<Optional<ReasonCode>> answers = new ArrayList<>();
    nowMillis.set(3000);

    for (String topic : List.of("a", "b", "c", "a\u0000b")) server.add(Messages.message(topic, "added"), answers::add);

    assertThat(answers)
        .containsExactly(
            Optional.empty(), Optional.of(ReasonCode.SUCCESS), Optional.of(ReasonCode.SUCCESS), Optional.of(ReasonCode.TOPIC_NAME_INVALID));
    assertThat(page("#", null, ALL, ALL).messages()).extracting(Messages::payload).containsExactly("1", "added", "added");
  }

  @Test
  void whatCannotBeAddedIsAnsweredWithTheReason() {
    List<Optional<ReasonCode>> answers = new ArrayList<>();
    range.log = FakeRange.Log.FAILS;

    server.add(Messages.message("a", "1"), answers::add);

    assertThat(answers).containsExactly(Optional.of(ReasonCode.UNSPECIFIED_ERROR));
    assertThat(count("dunlin.retain.refused", "reason", "failed")).isEqualTo(1);
  }

  @Test
  void theSweepRemovesExpiredMessagesWithoutRequests() {
    for (int i = 0; i < 1000; i++) set(Messages.expiring("t/" + i, "1", 1000, 2 + i % 2));
    set(Messages.message("stays", "1"));

    nowMillis.set(3000);
    sweepAll();
    assertThat(range.rows().size()).isEqualTo(501);
    nowMillis.set(4000);
    sweepAll();
    assertThat(range.rows().size()).isEqualTo(1);

    assertThat(topics("#")).containsExactly("stays");
    assertThat(count("dunlin.retain.expired")).isEqualTo(1000);
  }

  /** Sweeps a thousand messages, a hundred at a time; twice, since the sweep may be anywhere. */
  private void sweepAll() {
    for (int i = 0; i < 24; i++) server.tick();
  }

  @Test
  void theSweepRetriesWhenTheLogOrTheReadersAreBusy() {
    for (int i = 0; i < 300; i++) set(Messages.expiring("t/" + i, "1", 1000, 1));
    AtomicLong refusals = new AtomicLong();
    range.log = FakeRange.Log.FULL;
    nowMillis.set(9000);
    sweepAll();

    range.readers = _ -> {
      refusals.incrementAndGet();
      throw new RejectedExecutionException("the test wants it to be full");
    };
    sweepAll();
    assertThat(refusals).hasValue(24);
    range.readers = Runnable::run;
    // More failures than the limit of pending removals: each releases its place.
    range.log = FakeRange.Log.FAILS;
    sweepAll();
    sweepAll();
    assertThat(range.rows().size()).isEqualTo(300);
    range.log = FakeRange.Log.APPLIES;

    sweepAll();
    assertThat(range.rows().size()).isZero();
  }

  @Test
  void messagesThatAFullQueueRefusesWaitInOrder() {
    range.log = FakeRange.Log.FULL;
    List<ReasonCode> answers = new ArrayList<>();
    server.set(Messages.message("a", "1"), answers::add);
    server.set(Messages.message("a", ""), answers::add);
    server.set(Messages.message("b", "2"), answers::add);
    range.log = FakeRange.Log.APPLIES;
    server.set(Messages.message("b", "3"), answers::add);
    assertThat(answers).as("nothing is stored yet").isEmpty();
    assertThat(meters.get("dunlin.retain.waiting").gauge().value()).isEqualTo(4);

    range.hasRoom();

    assertThat(answers).hasSize(4).containsOnly(ReasonCode.SUCCESS);
    assertThat(topics("#")).containsExactly("b");
    assertThat(Messages.payload(page("b", null, 1, ALL).messages().getFirst())).isEqualTo("3");
    assertThat(count("dunlin.retain.refused", "reason", "busy")).isZero();
    assertThat(meters.get("dunlin.retain.waiting").gauge().value()).isZero();
  }

  @Test
  void aFailedProposalIsAnsweredWithAnError() {
    range.log = FakeRange.Log.FAILS;

    assertThat(set(Messages.message("a", "1"))).isEqualTo(ReasonCode.UNSPECIFIED_ERROR);

    assertThat(count("dunlin.retain.refused", "reason", "failed")).isEqualTo(1);
  }

  @Test
  void topicsBeyondTheLimitAreRefused() {
    server.close();
    RetainServer small = server(new RetainSettings(Messages.atMost(1), Duration.ofSeconds(1), 1));
    List<ReasonCode> answers = new ArrayList<>();
    small.set(Messages.message("a", "1"), answers::add);
    small.set(Messages.message("b", "1"), answers::add);
    small.set(Messages.message("a", "2"), answers::add);

    assertThat(answers).containsExactly(ReasonCode.SUCCESS, ReasonCode.QUOTA_EXCEEDED, ReasonCode.SUCCESS);
    assertThat(count("dunlin.retain.refused", "reason", "messages")).isEqualTo(1);
  }

  @Test
  @Tag("MQTT-4.7.3-2")
  void aTopicWithANullCharacterIsRefused() {
    set(Messages.message("a/b", "1"));
    Publication hostile =
        Publication.of(new Publisher(Messages.TENANT, "c"), "a\0b", QoS.AT_MOST_ONCE, true, 0, "2".getBytes(UTF_8));

    assertThat(set(hostile)).isEqualTo(ReasonCode.TOPIC_NAME_INVALID);

    assertThat(Messages.payload(page("a/b", null, 1, ALL).messages().getFirst())).isEqualTo("1");
    assertThat(count("dunlin.retain.refused", "reason", "invalid")).isEqualTo(1);
  }

  @Test
  void busyReadersFailThePage() {
    set(Messages.message("a", "1"));
    range.readers = _ -> {
      throw new RejectedExecutionException("the test wants it to be full");
    };

    assertThatThrownBy(() -> topics("#")).hasCauseInstanceOf(StoreException.class);
    assertThat(count("dunlin.retain.refused", "reason", "page")).isEqualTo(1);
  }

  @Test
  void aPageWithoutTopicsNeedsNoReader() {
    for (String topic : List.of("a/b", "b/b", "c/d")) set(Messages.message(topic, "1"));
    set(Messages.message("a", "1"));
    set(Messages.message("a", ""));
    range.readers =
        _ -> {
          throw new AssertionError("a reader is asked");
        };

    for (String filter : List.of("a", "a/c", "b/b/c", "+/c", "+/+/x", "d/#", "$x/#")) assertThat(topics(filter)).as(filter).isEmpty();
    assertThat(count("dunlin.retain.pages")).isEqualTo(7);
  }

  @Test
  void aTopicBehindManyOthersIsFoundByAReader() {
    for (int i = 0; i < 100; i++) set(Messages.message("%02d/a".formatted(i), "1"));
    set(Messages.message("99/b", "1"));

    assertThat(topics("+/b")).containsExactly("99/b");
    assertThat(topics("+/c")).isEmpty();
  }

  @Test
  void aPageWithoutTopicsWaitsForPendingMessages() {
    range.log = FakeRange.Log.HOLDS;
    server.set(Messages.message("a", "1"), _ -> {});
    var page = server.find(Messages.TENANT, "a", null, ALL, ALL);
    assertThat(page).isNotDone();

    range.applyHeld();

    assertThat(page.join().messages()).extracting(Publication::topic).containsExactly("a");
  }

  @Test
  void aDamagedRowFailsThePageAndNotTheCaller() {
    set(Messages.message("a", "1"));
    range.rows().put(TopicKeys.of(Messages.message("a", "")), new byte[] {9, 9});

    assertThatThrownBy(() -> topics("#"))
        .hasCauseInstanceOf(StoreException.class)
        .hasRootCauseMessage("stored message of unknown format 9");
  }

  @Test
  void invalidPagesAreRefusedAtOnce() {
    assertThatThrownBy(() -> page("a/#/b", null, 1, ALL)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> page("a", null, 0, ALL)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void aForeignOrInvalidCursorFindsNoOtherTenantsMessages() {
    server.set(Messages.message("other", "secret", "1"), _ -> {});
    server.set(Messages.message("zzz", "secret", "1"), _ -> {});
    set(Messages.message("a", "1"));

    assertThat(page("#", new Cursor(new byte[0]), ALL, ALL).messages()).hasSize(1);
    for (byte first : new byte[] {0, 1, 127, -1}) {
      Page page = page("#", new Cursor(new byte[] {first, 3, 'z'}), ALL, ALL);
      assertThat(page.messages()).extracting(Publication::topic).doesNotContain("secret");
    }
  }
}
