package dunlin.load.client;

import dunlin.load.count.Book;
import dunlin.load.count.SharedBook;
import dunlin.load.plan.Audience;
import dunlin.load.plan.Audience.Receiver;
import dunlin.load.plan.StreamNumbers;
import dunlin.load.plan.Subscribing;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The messages lost in a run, counted at its end.
 *
 * @param lost by the QoS of the delivery: sent, not refused, and never received
 * @param losses the largest, by publisher and receiver
 */
public record Tally(long[] lost, List<Loss> losses) {
  public static final int LOSSES_MAX = 100;

  /** The loss of one receiver or shared group from one publisher's topic. */
  public record Loss(String publisher, String topic, String receiver, int qos, long sent, long lost) {}

  /** Finds a client. */
  interface Clients {
    LoadClient client(int pool, int number);
  }

  public long total() {
    return lost[0] + lost[1] + lost[2];
  }

  /** The sum of both. */
  public Tally plus(Tally other) {
    long[] sum = lost.clone();
    for (int qos = 0; qos < sum.length; qos++) sum[qos] += other.lost[qos];
    var both = new ArrayList<>(losses);
    both.addAll(other.losses);
    shorten(both);
    return new Tally(sum, List.copyOf(both));
  }

  static Tally of(
      RunContext context, Audience audience, IntFunction<@Nullable Sent> sent, Clients clients, List<LoadClient> all, long[] lostBefore) {
    long[] lost = lostBefore.clone();
    var losses = new ArrayList<Loss>();
    for (int id = 0; id < context.numbers().count(); id++) {
      Sent stream = sent.apply(id);
      if (stream == null || stream.messages() == 0) continue;
      StreamNumbers.Place place = context.numbers().place(id);
      String topic = place.topic();
      audience.of(
          topic,
          number -> {
            Receiver receiver = audience.receiver(number);
            long missing = missing(context, clients, stream, receiver);
            if (missing == 0) return;
            int qos = Math.min(place.qos(), receiver.qos());
            lost[qos] += missing;
            losses.add(new Loss(place.publisher(), topic, name(clients, receiver), qos, stream.messages(), missing));
            if (losses.size() > 2 * LOSSES_MAX) shorten(losses);
          });
    }
    others(context, all, lost);
    shorten(losses);
    return new Tally(lost, List.copyOf(losses));
  }

  private static void shorten(List<Loss> losses) {
    losses.sort(Comparator.comparingLong(Loss::lost).reversed());
    if (losses.size() > LOSSES_MAX) losses.subList(LOSSES_MAX, losses.size()).clear();
  }

  private static String name(LoadClient client) {
    return client.pool().who(client.number()).clientId();
  }

  private static String name(Clients clients, Receiver receiver) {
    return switch (receiver) {
      case Receiver.Alone(int pool, int client, _) -> name(clients.client(pool, client));
      case Receiver.Group(String filter, _, _) -> filter;
    };
  }

  private static long missing(RunContext context, Clients clients, Sent stream, Receiver receiver) {
    long key = context.key(stream.stream());
    switch (receiver) {
      case Receiver.Alone(int pool, int number, _) -> {
        if (!context.share().has(number)) return 0;
        LoadClient client = clients.client(pool, number);
        if (client.since() == Integer.MAX_VALUE) return 0;
        Book book = client.book();
        return book == null ? sentSince(stream, client.since()) : missing(book, key, stream, client.since());
      }
      case Receiver.Group(String filter, _, _) -> {
        // A group in several processes is counted in GroupUnion.
        if (!(context.groups().get(filter) instanceof SharedBook book) || book.since() == Integer.MAX_VALUE) return 0;
        return book.read(key, stripe -> missing(stripe, key, stream, book.since()));
      }
    }
  }

  /** All messages of a stream since a step, except the exempt ones. */
  private static long sentSince(Sent stream, int since) {
    long from = stream.firstOf(since);
    long missing = stream.messages() - from;
    for (long number : stream.exempt()) if (number >= from) missing--;
    return missing;
  }

  private static long missing(Book book, long key, Sent stream, int since) {
    int at = book.find(key);
    if (at < 0) return sentSince(stream, since);
    long from = Math.min(stream.firstOf(since), book.first(at));
    long missing = book.first(at) - from + book.missingBetween(at) + stream.messages() - book.next(at);
    for (long number : stream.exempt()) if (number >= from && book.isMissing(at, number)) missing--;
    return missing;
  }

  /** Counts the losses of other runs' streams, of which only gaps are known. */
  private static void others(RunContext context, List<LoadClient> all, long[] lost) {
    for (LoadClient client : all) {
      Book book = client.book();
      if (book != null) lost[granted(client)] += gapsOfOthers(context, book);
    }
    // A group's members may be in several pools; the first one found decides the QoS.
    var seen = new HashSet<String>();
    for (LoadClient client : all) {
      List<Subscribing> subscriptions = client.pool().subscriptions();
      if (subscriptions.isEmpty() || !subscriptions.getFirst().isShared()) continue;
      String filter = client.pool().filter(0, client.pool().who(client.number()));
      if (context.groups().get(filter) instanceof SharedBook group && seen.add(filter)) lost[granted(client)] += group.sum(book -> gapsOfOthers(context, book));
    }
  }

  private static int granted(LoadClient client) {
    return client.pool().subscriptions().stream().mapToInt(Subscribing::qos).max().orElse(0);
  }

  private static long gapsOfOthers(RunContext context, Book book) {
    long gaps = 0;
    for (int i = 0; i < book.streams(); i++) {
      if (context.number(book.key(i)) < 0) gaps += book.missingBetween(i);
    }
    return gaps;
  }
}
