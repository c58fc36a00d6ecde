package dunlin.dist.route;

import dunlin.model.FilterIndex;
import dunlin.model.ShardId;
import dunlin.model.TopicFilter;
import dunlin.store.RangeReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Routes as rows: one for each tenant, filter and shard. */
public final class RouteRows {
  /*
   * Key:   tenant | topic filter | mode (1) | group, unless plain | shard kind (1) | shard name, to the end
   *        texts in UTF-8: the tenant after a length of two bytes, filter and group ended by U+0000, which MQTT allows in neither;
   *        modes: 0 plain, 1 shared, 2 shared and ordered
   * Value: format (1) | incarnation (8) | handle (4)
   *
   * So filters with a common prefix are adjacent, and FilterRanges finds the ranges that a topic may match in. All routes of a
   * filter stay in one range (see together).
   */
  private static final byte FORMAT = 1;
  private static final int VALUE = 1 + 8 + 4;
  private static final int TEXT_MAX = 65_535;

  /** Of one character of Java. */
  private static final int UTF8_BYTES_MAX = 3;

  /** A page ends when its keys have so many bytes. It may be sent to another process. */
  private static final int PAGE_BYTES = 4 << 20;

  private static final int PLAIN = 0;
  private static final int SHARED = 1;
  private static final int ORDERED = 2;
  private static final char END = 0;

  private RouteRows() {}

  /**
   * Why a route is not possible; empty when it is. Checked before a change is proposed and again when it is applied:
   * the log may have entries of an earlier version with other limits.
   */
  public static Optional<String> problem(String tenant, TopicFilter filter, ShardId shard) {
    for (String text : new String[] {tenant, filter.filter(), filter.group(), shard.name()}) {
      // The second look makes a copy, which most texts are too short to need.
      if (text.length() > TEXT_MAX / UTF8_BYTES_MAX && utf8(text).length > TEXT_MAX) return Optional.of("a text of " + text.length() + " characters");
    }
    if (filter.filter().indexOf(END) >= 0 || filter.group().indexOf(END) >= 0) return Optional.of("U+0000 in its filter");
    int levels = filter.levels();
    return levels > FilterIndex.LEVELS_MAX ? Optional.of("a filter of " + levels + " levels") : Optional.empty();
  }

  public static byte[] key(Route route) {
    return key(route.tenant(), route.filter(), route.shard());
  }

  static byte[] key(String tenant, TopicFilter filter, ShardId shard) {
    byte[] tenantBytes = utf8(tenant);
    byte[] filterBytes = utf8(filter.filter());
    byte[] group = utf8(filter.group());
    byte[] name = utf8(shard.name());
    int groupLength = filter.shared() ? group.length + 1 : 0;
    var key = ByteBuffer.allocate(2 + tenantBytes.length + filterBytes.length + 2 + groupLength + 1 + name.length);
    key.putShort((short) tenantBytes.length).put(tenantBytes);
    key.put(filterBytes).put((byte) END);
    key.put((byte) (!filter.shared() ? PLAIN : filter.ordered() ? ORDERED : SHARED));
    if (filter.shared()) key.put(group).put((byte) END);
    key.put((byte) shard.kind().code()).put(name);
    return key.array();
  }

  /** What the keys of all routes of a filter begin with, and no other key. */
  static byte[] start(String tenant, String filter) {
    byte[] ended = utf8(filter + END);
    return prefix(tenant, ended, ended.length);
  }

  public static byte[] value(Route route) {
    return ByteBuffer.allocate(VALUE).put(FORMAT).putLong(route.incarnation()).putInt(route.handle()).array();
  }

  /**
   * The route of a row.
   *
   * @throws IllegalStateException when the format of the bytes is unknown
   */
  static Route route(byte[] key, byte[] value) {
    if (value.length != VALUE || value[0] != FORMAT) {
      throw new IllegalStateException("a route of " + value.length + " bytes, format " + (value.length == 0 ? -1 : value[0]));
    }
    var in = ByteBuffer.wrap(value, 1, VALUE - 1);
    return route(ByteBuffer.wrap(key), in.getLong(), in.getInt());
  }

  /** The route whose key is the rest of a buffer. */
  static Route route(ByteBuffer key, long incarnation, int handle) {
    String tenant = tenant(key);
    String filter = endedText(key);
    byte mode = get(key);
    if (mode < PLAIN || mode > ORDERED) throw new IllegalStateException("a route of mode " + mode);
    String group = mode == PLAIN ? "" : endedText(key);
    var kind = ShardId.Kind.of(get(key));
    byte[] name = new byte[key.remaining()];
    key.get(name);
    var shard = new ShardId(kind, new String(name, StandardCharsets.UTF_8));
    try {
      if (mode != PLAIN && group.isEmpty()) throw new IllegalStateException("a shared route without a group");
      return new Route(tenant, new TopicFilter(filter, group, mode == ORDERED), shard, incarnation, handle);
    } catch (IllegalArgumentException e) {
      throw new IllegalStateException("an invalid route: " + e.getMessage(), e);
    }
  }

  /** Which keys are those of a kind of shards. */
  static Predicate<byte[]> of(ShardId.Kind kind) {
    return key -> key[shardIn(key)] == (byte) kind.code();
  }

  /** Which keys are those of a shard. */
  static Predicate<byte[]> of(ShardId shard) {
    byte[] name = utf8(shard.name());
    byte[] end = ByteBuffer.allocate(1 + name.length).put((byte) shard.kind().code()).put(name).array();
    return key -> Arrays.equals(key, shardIn(key), key.length, end, 0, end.length);
  }

  /** Where a key says its shard. */
  private static int shardIn(byte[] key) {
    int mode = together(key);
    int at = mode < key.length && key[mode] != PLAIN ? behindText(key, mode + 1) : mode + 1;
    if (at >= key.length) throw new IllegalStateException("a route is truncated");
    return at;
  }

  /**
   * Routes in at most this many rows. Routes that are left out of the index are skipped: no change names them. So are those of other shards, which costs little: most rows
   * may be theirs.
   *
   * @param of by their keys
   * @param from the first key to visit
   */
  static RoutePage page(RangeReader rows, Predicate<byte[]> of, byte[] from, int rowsMax) {
    var page =
        new Object() {
          int seen;
          long bytes;
          byte @Nullable [] next;
          final List<Route> routes = new ArrayList<>();
        };
    rows.scan(
        from,
        null,
        (key, value) -> {
          if (page.seen++ == rowsMax || page.bytes > PAGE_BYTES) {
            page.next = key;
            return false;
          }
          page.bytes += key.length;
          if (!of.test(key)) return true;
          Route route = route(key, value);
          if (problem(route.tenant(), route.filter(), route.shard()).isEmpty()) page.routes.add(route);
          return true;
        });
    return new RoutePage(page.routes, page.next);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** The prefix of the keys of all routes of a tenant whose filters begin with these bytes. */
  public static byte[] prefix(String tenant, byte[] filter, int length) {
    byte[] name = utf8(tenant);
    return ByteBuffer.allocate(2 + name.length + length).putShort((short) name.length).put(name).put(filter, 0, length).array();
  }

  /** The first key of the routes of a topic filter, which may be that of a shared subscription or the beginning of a filter. */
  static byte[] first(String tenant, String filter) {
    byte[] plain = utf8(TopicFilter.parse(filter).map(TopicFilter::filter).orElse(filter));
    return prefix(tenant, plain, plain.length);
  }

  /** How many of a key's first bytes are its tenant and filter, whose routes are all in one range. Also of bytes that are no key. */
  static int together(byte[] key) {
    if (key.length < 2) return key.length;
    return behindText(key, Math.min(key.length, 2 + Short.toUnsignedInt(ByteBuffer.wrap(key).getShort())));
  }

  private static int behindText(byte[] key, int from) {
    int at = from;
    while (at < key.length && key[at] != END) at++;
    return Math.min(key.length, at + 1);
  }

  private static byte get(ByteBuffer in) {
    if (!in.hasRemaining()) throw new IllegalStateException("a route is truncated");
    return in.get();
  }

  private static String endedText(ByteBuffer in) {
    int from = in.position();
    byte next = get(in);
    while (next != END) next = get(in);
    byte[] text = new byte[in.position() - 1 - from];
    in.get(from, text);
    return new String(text, StandardCharsets.UTF_8);
  }

  private static String tenant(ByteBuffer in) {
    if (in.remaining() < 2) throw new IllegalStateException("a route is truncated");
    int length = Short.toUnsignedInt(in.getShort());
    if (length > in.remaining()) throw new IllegalStateException("a text of " + length + " bytes in " + in.remaining());
    byte[] text = new byte[length];
    in.get(text);
    return new String(text, StandardCharsets.UTF_8);
  }
}
