package dunlin.inbox.operate;

import dunlin.inbox.SessionExports;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Exports and imports the sessions of the ranges that a node leads. */
public final class SessionExporter implements SessionExports {
  private final List<SessionPart> ranges;
  private final SessionImporter importer;
  private final InstantSource clock;

  /** @param ranges in the order of their shards */
  public SessionExporter(List<SessionPart> ranges, SessionImporter importer, InstantSource clock) {
    this.ranges = List.copyOf(ranges);
    this.importer = importer;
    this.clock = clock;
  }

  /**
   * The shard at which a page begins.
   *
   * @throws IllegalArgumentException when no page has given this position
   */
  public static int shardOf(byte[] position, int shards) {
    int shard = ExportPosition.decode(position).shard();
    if (shard >= shards) throw ExportPosition.none(null);
    return shard;
  }

  @Override
  public long now() {
    return clock.millis();
  }

  @Override
  public Page page(String tenant, String prefix, byte @Nullable [] from, int partsMax, int bytesMax) {
    return new ExportReading(ranges, tenant, prefix, partsMax, bytesMax, clock.millis()).read(from);
  }

  @Override
  public Imported importAll(String tenant, List<Part> parts, Allowed allowed) {
    return importer.importAll(tenant, parts, allowed);
  }
}
