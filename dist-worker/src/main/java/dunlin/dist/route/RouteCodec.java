package dunlin.dist.route;

import dunlin.dist.route.RouteCommand.Add;
import dunlin.dist.route.RouteCommand.PurgeBefore;
import dunlin.dist.route.RouteCommand.Remove;
import dunlin.model.ShardId;
import dunlin.store.CommandCodec;
import dunlin.store.CommandKind;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The encoding of route commands in the log. */
public final class RouteCodec implements CommandCodec<RouteCommand> {
  /*
   * 1 Add:    incarnation (8) | handle (4) | key of the row
   * 2 Remove: incarnation (8) | key of the row
   * 3 Purge:  incarnation (8) | limit (4) | shard kind (1) | length of the name (2) | name | cursor, to the end
   */
  private static final byte ADD = 1;
  private static final byte REMOVE = 2;
  private static final byte PURGE = 3;

  @Override
  public CommandKind kind(RouteCommand command) {
    return switch (command) {
      case Add _ -> CommandKind.CALL;
      case Remove _, PurgeBefore _ -> CommandKind.RELEASE;
    };
  }

  /** The tenant of a route; a purge is of all. */
  @Override
  public @Nullable String source(RouteCommand command) {
    return switch (command) {
      case Add(Route route) -> route.tenant();
      case Remove(var tenant, _, _, _) -> tenant;
      case PurgeBefore _ -> null;
    };
  }

  @Override
  public int encodedLength(RouteCommand command) {
    return switch (command) {
      case Add(Route route) -> 1 + 8 + 4 + RouteRows.key(route).length;
      case Remove(var tenant, var filter, var shard, _) -> 1 + 8 + RouteRows.key(tenant, filter, shard).length;
      case PurgeBefore(var shard, _, var cursor, _) -> 1 + 8 + 4 + 1 + 2 + name(shard).length + cursor.length;
    };
  }

  @Override
  public void encode(RouteCommand command, ByteBuffer out) {
    switch (command) {
      case Add(Route route) ->
          out.put(ADD).putLong(route.incarnation()).putInt(route.handle()).put(RouteRows.key(route));
      case Remove(var tenant, var filter, var shard, long incarnation) ->
          out.put(REMOVE).putLong(incarnation).put(RouteRows.key(tenant, filter, shard));
      case PurgeBefore(var shard, long incarnation, var cursor, int limit) -> {
        byte[] name = name(shard);
        out.put(PURGE).putLong(incarnation).putInt(limit).put((byte) shard.kind().code());
        out.putShort((short) name.length).put(name).put(cursor);
      }
    }
  }

  @Override
  public RouteCommand decode(ByteBuffer in) {
    byte kind = need(in, 1).get();
    return switch (kind) {
      case ADD -> {
        need(in, 8 + 4);
        yield new Add(RouteRows.route(in, in.getLong(), in.getInt()));
      }
      case REMOVE -> {
        long incarnation = need(in, 8).getLong();
        Route route = RouteRows.route(in, incarnation, 0);
        yield new Remove(route.tenant(), route.filter(), route.shard(), incarnation);
      }
      case PURGE -> purge(in);
      default -> throw new IllegalStateException("a change of routes of unknown kind " + kind);
    };
  }

  private static PurgeBefore purge(ByteBuffer in) {
    long incarnation = need(in, 8 + 4 + 1 + 2).getLong();
    int limit = in.getInt();
    var kind = ShardId.Kind.of(in.get());
    byte[] name = new byte[Short.toUnsignedInt(in.getShort())];
    need(in, name.length).get(name);
    byte[] cursor = new byte[in.remaining()];
    in.get(cursor);
    var shard = new ShardId(kind, new String(name, StandardCharsets.UTF_8));
    // Any limit is valid, since the purge continues where a step ends: no entry of the log may stop the replica.
    return new PurgeBefore(shard, incarnation, cursor, Math.clamp(limit, 1, PurgeBefore.LIMIT_MAX));
  }

  private static byte[] name(ShardId shard) {
    return shard.name().getBytes(StandardCharsets.UTF_8);
  }

  private static ByteBuffer need(ByteBuffer in, int bytes) {
    if (in.remaining() < bytes) throw new IllegalStateException("a change of routes is truncated");
    return in;
  }
}
