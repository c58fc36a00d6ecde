package dunlin.inbox.range;

import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxDropReason;
import dunlin.inbox.OverflowPolicy;
import dunlin.inbox.SessionRef;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.GroupKey;
import dunlin.inbox.rows.SessionCommand;
import dunlin.inbox.state.GroupState;
import dunlin.inbox.state.MemberQueues;
import dunlin.model.QoS;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The queues of an ordered group; its members have windows of four messages. */
final class OrderedGroupsTest {
  private static final String JOBS = "$oshare/g/jobs";

  private RangeHarness h = new RangeHarness(RangeHarness.limits(1_000, OverflowPolicy.DROP_OLDEST));

  private void bounded(int messagesMax, OverflowPolicy policy) {
    h = new RangeHarness(RangeHarness.limits(messagesMax, policy));
  }

  private SessionRef member(String clientId) {
    var session = h.connect(clientId).session();
    h.subscribe(session, JOBS, QoS.AT_LEAST_ONCE);
    return session;
  }

  private GroupState group() {
    var group = h.range.state().groups.get(new GroupKey(RangeHarness.TENANT, RangeHarness.filter(JOBS)));
    if (group == null) throw new AssertionError("no group");
    return group;
  }

  private MemberQueues queues() {
    var queues = group().queues;
    if (queues == null) throw new AssertionError("not an ordered group");
    return queues;
  }

  /** A publisher whose messages go to a member; a different one for each number. */
  private String publisherOf(String member, int number) {
    for (int i = 0, found = 0; ; i++) {
      var to = group().ordered("p" + i);
      if (to != null && to.clientId().equals(member) && found++ == number) return "p" + i;
    }
  }

  private Outcome publish(String publisher, String payload) {
    return h.publish(h.message(publisher, "jobs", QoS.AT_LEAST_ONCE, payload), JOBS);
  }

  private void publish(String publisher, int from, int to) {
    for (int i = from; i <= to; i++) publish(publisher, publisher + "-" + i);
  }

  private static List<String> texts(String publisher, int from, int to) {
    var texts = new ArrayList<String>();
    for (int i = from; i <= to; i++) texts.add(publisher + "-" + i);
    return texts;
  }

  /** The publisher of a message. */
  private static String publisher(String text) {
    return text.substring(0, text.indexOf('-'));
  }

  /** Acknowledges all messages of a member until no more arrive. Answers these messages. */
  private List<String> takeAll(SessionRef member) {
    var all = new ArrayList<String>();
    h.settle();
    for (var page = h.fetch(member); !page.messages().isEmpty(); page = h.fetch(member)) {
      page.messages().forEach(message -> all.add(RangeHarness.text(message)));
      h.acknowledge(member, page.messages().stream().mapToLong(message -> message.sequence()).toArray());
      h.settle();
    }
    return all;
  }

  @Test
  void aMemberThatAcknowledgesNothingDelaysOnlyItsOwnPublishers() {
    var silent = member("silent");
    var busy = member("busy");
    String held = publisherOf("silent", 0);
    String free = publisherOf("busy", 0);
    publish(held, 1, 100);
    assertThat(group().waiting()).as("what is beyond the member's window").isEqualTo(96);
    assertThat(group().waitingBytes()).isPositive();
    assertThat(group().dealtSoFar()).isEqualTo(4);

    publish(free, 1, 4);
    assertThat(h.inbox(busy)).isEqualTo(texts(free, 1, 4));
    publish(free, 5, 20);
    h.reopen();
    assertThat(takeAll(busy)).isEqualTo(texts(free, 1, 20));

    assertThat(h.inbox(silent)).isEqualTo(texts(held, 1, 4));
    assertThat(takeAll(silent)).isEqualTo(texts(held, 1, 100));
    h.assertBalance();
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>h") || key.contains("jobs<0><3>"));
  }

  @Test
  void theQueueOfAMemberThatLeavesGoesToOthersInOrderBeforeNewMessages() {
    var goes = member("goes");
    var stays = member("stays");
    String first = publisherOf("goes", 0);
    String second = publisherOf("goes", 1);
    String its = publisherOf("stays", 0);
    publish(first, 1, 10);
    publish(second, 1, 10);
    publish(its, 1, 10);

    h.disconnect(goes, false, 3600);
    publish(first, 11, 15);
    h.reopen();
    publish(second, 11, 15);
    publish(its, 11, 15);

    var all = takeAll(stays);
    for (String publisher : List.of(first, second, its))
      assertThat(all).filteredOn(text -> text.startsWith(publisher + "-")).isEqualTo(texts(publisher, 1, 15));
    assertThat(all).hasSize(45);
    assertThat(h.inbox(h.connect("goes").session())).isEmpty();
    h.assertBalance();
  }

  @Test
  void whenMembersLeaveOneAfterTheOtherTheOldestMessagesComeFirst() {
    var a = member("a");
    var b = member("b");
    String publisher = publisherOf("a", 0);
    publish(publisher, 1, 30);
    h.disconnect(a, false, 3600);
    // Some of the messages have been given to b, and the rest not, when b leaves too.
    h.apply(new SessionCommand.DrainGroup(h.now, group().key, 10));
    h.disconnect(b, false, 3600);
    publish(publisher, 31, 35);
    h.reopen();

    var c = member("c");

    assertThat(takeAll(c)).isEqualTo(texts(publisher, 1, 35));
    h.assertBalance();
  }

  @Test
  void aLoneMemberKeepsItsQueueWhileItIsAway() {
    var alone = member("alone");
    publish("p", 1, 10);
    h.disconnect(alone, false, 3600);
    publish("p", 11, 20);
    h.reopen();

    assertThat(takeAll(h.connect("alone").session())).isEqualTo(texts("p", 1, 20));
    h.assertBalance();
  }

  @Test
  void messagesOfALoneOfflineMemberGoToTheFirstThatConnects() {
    var away = member("away");
    publish("p", 1, 10);
    h.disconnect(away, false, 3600);
    publish("p", 11, 20);

    var here = member("here");

    assertThat(takeAll(here)).isEqualTo(texts("p", 1, 20));
  }

  @Test
  void aMemberThatUnsubscribesKeepsWhatItWasSentAndNoMore() {
    var leaves = member("leaves");
    var stays = member("stays");
    String publisher = publisherOf("leaves", 0);
    publish(publisher, 1, 10);

    h.unsubscribe(leaves, JOBS);

    assertThat(takeAll(stays)).isEqualTo(texts(publisher, 5, 10));
    assertThat(takeAll(leaves)).isEqualTo(texts(publisher, 1, 4));
    h.assertBalance();
  }

  @Test
  void messagesThatWaitWhenTheLastMemberLeavesAreCounted() {
    var a = member("a");
    var b = member("b");
    publish(publisherOf("a", 0), 1, 10);
    publish(publisherOf("b", 0), 1, 10);
    h.disconnect(a, false, 3600);
    h.disconnect(b, false, 3600);
    publish("p", 1, 5);

    h.unsubscribe(h.connect("a").session(), JOBS);
    h.unsubscribe(h.connect("b").session(), JOBS);
    h.reopen();
    h.settle();

    assertThat(h.dropped).containsEntry(InboxDropReason.GROUP_ENDED, 25);
    assertThat(h.range.state().groups).isEmpty();
    assertThat(h.rowKeys()).noneMatch(key -> key.startsWith("default<0>g") || key.startsWith("default<0>h"));
    h.assertBalance();
  }

  @ParameterizedTest
  @EnumSource(OverflowPolicy.class)
  void aFullQueueMeetsThePolicyAndConcernsItsOwnPublishersAlone(OverflowPolicy policy) {
    bounded(10, policy);
    var silent = member("silent");
    var busy = member("busy");
    String held = publisherOf("silent", 0);
    publish(held, 1, 14); // a window and a queue

    var refused = publish(held, "one more");
    var taken = publish(publisherOf("busy", 0), "m");

    assertThat(refused).isInstanceOf(policy == OverflowPolicy.REJECT ? Outcome.Full.class : Outcome.Done.class);
    assertThat(taken).isInstanceOf(Outcome.Done.class);
    assertThat(h.inbox(busy)).containsExactly("m");
    assertThat(h.dropped).hasSize(1).allSatisfy((_, count) -> assertThat(count).isEqualTo(1));
    var all = takeAll(silent);
    assertThat(all).hasSize(14).doesNotHaveDuplicates();
    assertThat(all.contains("one more")).isEqualTo(policy == OverflowPolicy.DROP_OLDEST);
    h.assertBalance();
  }

  @ParameterizedTest
  @EnumSource(OverflowPolicy.class)
  void whatComesBackToAFullQueueIsNotLostUnderReject(OverflowPolicy policy) {
    bounded(10, policy);
    var goes = member("goes");
    var silent = member("silent");
    String its = publisherOf("goes", 0);
    String other = publisherOf("silent", 0);
    publish(its, 1, 14);
    publish(other, 1, 14);

    h.disconnect(goes, false, 3600);
    h.settle();
    publish(other, 15, 15);
    h.reopen();

    assertThat(queues().all()).allSatisfy(queue -> assertThat(queue.count).isLessThanOrEqualTo(14));
    var all = takeAll(silent);
    if (policy == OverflowPolicy.REJECT) {
      assertThat(h.dropped).isEmpty();
      assertThat(all).containsAll(texts(its, 1, 14)).containsAll(texts(other, 1, 15)).hasSize(29);
    } else {
      assertThat(all.size() + h.dropped.values().stream().mapToInt(Integer::intValue).sum()).isEqualTo(29);
    }
    h.assertBalance();
  }

  @Test
  void messagesThatDidNotFitAMembersInboxArriveWhenItHasRoomAgain() {
    bounded(6, OverflowPolicy.REJECT);
    var member = member("member");
    h.subscribe(member, "own", QoS.AT_LEAST_ONCE);
    for (int i = 1; i <= 6; i++) h.publish("own", "own-" + i);
    publish("p", 1, 3);
    h.settle();
    assertThat(h.inbox(member)).hasSize(6);

    h.acknowledge(member, 1, 2);
    h.settle();

    assertThat(h.inbox(member)).containsExactly("own-3", "own-4", "own-5", "own-6", "p-1", "p-2");
    assertThat(takeAll(member)).endsWith("p-1", "p-2", "p-3");
    h.assertBalance();
  }

  @Test
  void expiredMessagesLeaveAQueueWithoutTakingRoom() {
    var member = member("member");
    publish("publisher", 1, 4);
    for (int i = 0; i < 10; i++) h.publish(h.expiring("jobs", "late", 1), JOBS);
    publish("publisher", 5, 5);

    h.now += 1_000;

    assertThat(takeAll(member)).isEqualTo(texts("publisher", 1, 5));
    assertThat(h.dropped).containsEntry(InboxDropReason.EXPIRED, 10);
    h.assertBalance();
  }

  static LongStream seeds() {
    return LongStream.range(0, 40);
  }

  /**
   * No message is lost or processed twice while members leave and join. With an even seed, members join only while no
   * other member is connected, and so take over no publisher of another one: then each publisher's messages are
   * processed in order, by whichever members.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void nothingIsLostOrOvertaken(long seed) {
    var random = new Random(seed);
    bounded(200, OverflowPolicy.REJECT);
    Map<String, SessionRef> members = new TreeMap<>();
    for (String name : List.of("a", "b", "c", "d")) members.put(name, member(name));
    Map<String, Integer> published = new HashMap<>();
    Map<String, Integer> acknowledged = new HashMap<>();

    for (int step = 0; step < 1_500; step++) {
      String at = "seed " + seed + ", step " + step;
      String name = List.of("a", "b", "c", "d").get(random.nextInt(4));
      var session = members.getOrDefault(name, h.connect("nobody").session());
      boolean online = h.state(session).owner != null;
      switch (random.nextInt(24)) {
        case 0 -> {
          if (online) h.disconnect(session, false, 3600);
        }
        case 1, 2 -> {
          if (seed % 2 == 1 || online || group().connected().size() == 0) members.put(name, h.connect(name).session());
        }
        case 3 -> h.reopen();
        case 4, 5, 6 -> h.settle();
        case 7, 8, 9, 10 -> h.apply(new SessionCommand.DrainGroup(h.now, group().key, 1 + random.nextInt(6)));
        case 11, 12, 13, 14 -> {
          if (!online || (name.equals("d") && step < 1_200)) continue; // d acknowledges nothing for a long time
          var page = h.fetch(session).messages();
          for (var message : page.subList(0, Math.min(page.size(), 1 + random.nextInt(4)))) {
            String text = RangeHarness.text(message);
            int number = acknowledged.merge(publisher(text), 1, Integer::sum);
            if (seed % 2 == 0) assertThat(text).as(at).isEqualTo(publisher(text) + "-" + number);
            h.acknowledge(session, message.sequence());
          }
        }
        default -> {
          String publisher = "p" + random.nextInt(12);
          int number = published.getOrDefault(publisher, 0) + 1;
          if (publish(publisher, publisher + "-" + number) instanceof Outcome.Done) published.put(publisher, number);
        }
      }
    }
    members.replaceAll((name, _) -> h.connect(name).session());
    var left = new ArrayList<String>();
    boolean more = true;
    while (more) {
      int before = left.size();
      for (SessionRef session : members.values()) left.addAll(takeAll(session));
      more = left.size() > before;
    }
    for (String text : left) acknowledged.merge(publisher(text), 1, Integer::sum);
    assertThat(acknowledged).as("seed " + seed).isEqualTo(published);
    h.dropped.remove(InboxDropReason.REJECTED);
    assertThat(h.dropped).as("seed " + seed).isEmpty();
    assertThat(queues().all()).isEmpty();
  }
}
