package dunlin.inbox.remote;

import static dunlin.inbox.remote.InboxSides.LINK;
import static dunlin.inbox.remote.InboxSides.ONE;
import static dunlin.inbox.remote.InboxSides.failureOf;
import static dunlin.inbox.remote.InboxSides.kinds;
import static dunlin.inbox.remote.InboxSides.publication;
import static org.assertj.core.api.Assertions.assertThat;

import dunlin.inbox.InboxClient.Page;
import dunlin.model.TopicFilter;
import dunlin.store.NotLeaderException;
import dunlin.store.StoreException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a leader of sessions has only read is answered once it is sure that it leads. */
class LeasedReadsTest {
  private static final Page PAGE = new Page(List.of(), 7, true);

  private final InboxSides sides = new InboxSides(new RemoteInbox.Bounds(10, 1_500, 3_000, 1_000), new RemoteConnections.Bounds(4, 10_000), LINK);
  private final ScriptedInbox tier = sides.tier;
  private final InboxWires wires = sides.wires;
  private final RemoteInbox inbox = sides.inbox;
  private final CompletableFuture<@Nullable Void> proof = new CompletableFuture<>();

  @BeforeEach
  void begin() {
    sides.proof = proof;
  }

  private void answers(Object answer) {
    wires.drain();
    tier.answers.getLast().complete(answer);
    wires.drain();
  }

  private void deposed() {
    proof.completeExceptionally(new NotLeaderException("sessions", Optional.empty()));
    wires.drain();
  }

  @Test
  void aPageWaitsForTheProof() {
    var page = inbox.fetch(ONE, 1, 1, 500);
    answers(PAGE);
    assertThat(page).isNotDone();

    proof.complete(null);
    wires.drain();

    assertThat(page).isCompletedWithValue(PAGE);
  }

  @Test
  void aPageOfADeposedLeaderIsReadAtTheNextOne() {
    var page = inbox.fetch(ONE, 1, 1, 500);
    answers(PAGE);

    deposed();

    assertThat(page).isNotDone();
    assertThat(sides.interrupted).singleElement().asString().contains("is not led here");
    sides.proof = CompletableFuture.completedFuture(null);
    tier.calls.clear();
    inbox.dial(wires::dial);
    wires.drain();
    assertThat(kinds(tier.calls)).isEqualTo("fetch:1");
    answers(new Page(List.of(), 9, true));
    assertThat(page).isCompletedWithValue(new Page(List.of(), 9, true));
  }

  /** A subscriber may have joined the group at a later leader. */
  @Test
  void thatAGroupHasNoMemberIsNotSaidByADeposedLeader() {
    var taken = inbox.appendToGroup(TopicFilter.plain("a"), publication(3), null);
    answers(false);
    assertThat(taken).isNotDone();

    deposed();

    assertThat(failureOf(taken)).isInstanceOf(StoreException.class);
  }

  @Test
  void whatIsInTheLogNeedsNoProof() {
    var taken = inbox.appendToGroup(TopicFilter.plain("a"), publication(3), null);
    answers(true);
    assertThat(taken).isCompletedWithValue(true);

    var subscribed = inbox.subscribe(ONE, List.of());
    answers(List.of());
    assertThat(subscribed).isCompleted();
  }
}
