package dunlin.load.plan;

import dunlin.load.count.Stamp;
import java.util.Arrays;

/** Numbers the streams of a plan; a stream is one publisher and one of its topics. All processes of a run use the same numbers. */
public final class StreamNumbers {
  private final Plan plan;
  private final int[] firsts; // the first number of each pool, then the number of all streams

  /** The place of a stream in the plan. */
  public record Place(Pool pool, int client, Publishing publishing) {
    public String topic() {
      return publishing.topic().fill(pool.who(client));
    }

    public int qos() {
      return publishing.qos(client);
    }

    public String publisher() {
      return pool.who(client).clientId();
    }
  }

  public StreamNumbers(Plan plan) {
    this.plan = plan;
    firsts = new int[plan.pools().size() + 1];
    long all = 0;
    for (int p = 0; p < plan.pools().size(); p++) {
      all += (long) plan.pools().get(p).clients() * plan.pools().get(p).publishings().size();
      if (all > Stamp.STREAMS_MAX) throw new IllegalArgumentException("there are more than %,d publishers and topics".formatted(Stamp.STREAMS_MAX));
      firsts[p + 1] = (int) all;
    }
  }

  public int count() {
    return firsts[firsts.length - 1];
  }

  /** The number of a client's first stream; its other streams follow. */
  public int first(int pool, int client) {
    return firsts[pool] + client * plan.pools().get(pool).publishings().size();
  }

  public Place place(int stream) {
    if (stream < 0 || stream >= count()) throw new IllegalArgumentException("there is no stream %d".formatted(stream));
    int at = Arrays.binarySearch(firsts, stream);
    int p = at >= 0 ? at : -at - 2;
    while (firsts[p + 1] == firsts[p]) p++; // skips pools that publish nothing
    Pool pool = plan.pools().get(p);
    int publishings = pool.publishings().size();
    int within = stream - firsts[p];
    return new Place(pool, within / publishings, pool.publishings().get(within % publishings));
  }
}
