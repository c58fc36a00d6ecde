package dunlin.inbox.server;

import dunlin.inbox.InboxClient.Appended;
import dunlin.inbox.SessionRef;
import dunlin.inbox.propose.Proposals;
import dunlin.inbox.range.SessionResult.Outcome;
import dunlin.inbox.rows.SessionCommand;
import dunlin.model.Publication;
import dunlin.model.SubscriptionOptions;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Appends a page of retained messages to an inbox, in as many commands as its size requires. */
final class RetainedAppends {
  /*
   * Owner: any thread; the commands of one page are applied in its order.
   * Bounds: a command has at most BYTES_MAX bytes or one message, and at most MESSAGES_MAX messages. Stateless.
   */
  private static final int BYTES_MAX = 128 * 1024;
  private static final int MESSAGES_MAX = 256;

  private final Proposals proposals;
  private final InstantSource clock;

  RetainedAppends(Proposals proposals, InstantSource clock) {
    this.proposals = proposals;
    this.clock = clock;
  }

  CompletableFuture<Appended> append(SessionRef session, SubscriptionOptions options, long from, List<Publication> retained) {
    var parts = new ArrayList<CompletableFuture<Appended>>();
    var part = new ArrayList<Publication>();
    long bytes = 0;
    for (Publication message : retained) {
      int length = message.body().length;
      boolean full = bytes + length > BYTES_MAX || part.size() == MESSAGES_MAX;
      if (full && !part.isEmpty()) {
        parts.add(appendPart(session, options, from, List.copyOf(part)));
        part.clear();
        bytes = 0;
      }
      part.add(message);
      bytes += length;
    }
    if (!part.isEmpty()) parts.add(appendPart(session, options, from, List.copyOf(part)));
    if (parts.size() == 1) return parts.getFirst();
    var all = new CompletableFuture<Appended>();
    Proposals.follow(
        CompletableFuture.allOf(parts.toArray(CompletableFuture[]::new)),
        all,
        () -> {
          var each = parts.stream().map(CompletableFuture::join).toList();
          // The next page is read after all of these messages.
          all.complete(new Appended(each.stream().flatMap(one -> one.taken().stream()).toList(), each.getLast().next()));
        });
    return all;
  }

  private CompletableFuture<Appended> appendPart(
      SessionRef session, SubscriptionOptions options, long from, List<Publication> part) {
    var answer = new CompletableFuture<Appended>();
    proposals.call(
        session,
        new SessionCommand.AppendTo(clock.millis(), session, options, from, part),
        answer,
        (outcome, _) -> {
          if (outcome instanceof Outcome.Appended(var appended)) answer.complete(appended);
          else answer.completeExceptionally(Proposals.unexpected(outcome));
        });
    return answer;
  }
}
