package dunlin.placement;

import dunlin.placement.ClusterMap.Change.Founded;
import dunlin.placement.ClusterMap.Change.IntentGone;
import dunlin.placement.ClusterMap.Change.IntentIs;
import dunlin.placement.ClusterMap.Change.NodeGone;
import dunlin.placement.ClusterMap.Change.NodeIs;
import dunlin.placement.ClusterMap.Change.RangeIs;
import dunlin.placement.ClusterMap.Change.SettingGone;
import dunlin.placement.ClusterMap.Change.SettingIs;
import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The meta group's rows. A key is a letter followed by the row's identifier: {@code c} the cluster's identity, {@code
 * v} the version, {@code n} a node, {@code r} a range, {@code o} an operation, {@code s} a setting.
 */
final class PlacementRows {
  private static final byte[] CLUSTER = {'c'};
  private static final byte[] VERSION = {'v'};
  private static final int FORMAT = 1;

  private PlacementRows() {}

  static void write(ClusterMap.Change change, long version, RangeWriter out) {
    out.put(VERSION, bytes(row -> row.number(version)));
    switch (change) {
      case Founded(var cluster) -> out.put(CLUSTER, bytes(row -> row.uuid(cluster)));
      case NodeIs(var node) -> out.put(key('n', node.id()), FieldWriter.bytesOf(node::writeTo));
      case NodeGone(var node) -> out.delete(key('n', node));
      case RangeIs(var range) -> out.put(key('r', range.range().id()), FieldWriter.bytesOf(range::writeTo));
      case IntentIs(var intent) -> out.put(key('o', intent.id()), FieldWriter.bytesOf(intent::writeTo));
      case IntentGone(var intent) -> out.delete(key('o', intent));
      case SettingIs(var name, var value) -> out.put(key(name), bytes(row -> row.text(value)));
      case SettingGone(var name) -> out.delete(key(name));
    }
  }

  /** Fills an empty map. */
  static void read(RangeReader state, ClusterMap to) {
    each(state, 'n', (_, value) -> to.put(new NodeIs(FieldReader.read(value, ClusterNode::readFrom))));
    each(state, 'r', (_, value) -> to.put(new RangeIs(FieldReader.read(value, PlacedRange::readFrom))));
    each(state, 'o', (_, value) -> to.put(new IntentIs(FieldReader.read(value, Intent::readFrom))));
    each(
        state,
        's',
        (key, value) -> {
          String name = new String(key, 1, key.length - 1, StandardCharsets.UTF_8);
          to.put(new SettingIs(name, FieldReader.read(value, row -> formatted(row).text())));
        });
  }

  static long version(RangeReader state) {
    byte[] value = state.get(VERSION);
    return value == null ? 0 : FieldReader.read(value, row -> formatted(row).number());
  }

  static @Nullable UUID cluster(RangeReader state) {
    byte[] value = state.get(CLUSTER);
    return value == null ? null : FieldReader.read(value, row -> formatted(row).uuid());
  }

  private interface Row {
    void row(byte[] key, byte[] value);
  }

  private static void each(RangeReader state, char kind, Row visitor) {
    state.scan(
        new byte[] {(byte) kind},
        new byte[] {(byte) (kind + 1)},
        (key, value) -> {
          visitor.row(key, value);
          return true;
        });
  }

  private static byte[] bytes(Consumer<FieldWriter> fields) {
    return FieldWriter.bytesOf(
        out -> {
          out.octet(FORMAT);
          fields.accept(out);
        });
  }

  private static FieldReader formatted(FieldReader row) {
    row.format(FORMAT, "row of the meta group");
    return row;
  }

  private static byte[] key(char kind, UUID id) {
    return ByteBuffer.allocate(17)
        .put((byte) kind)
        .putLong(id.getMostSignificantBits())
        .putLong(id.getLeastSignificantBits())
        .array();
  }

  private static byte[] key(String setting) {
    byte[] name = setting.getBytes(StandardCharsets.UTF_8);
    return ByteBuffer.allocate(1 + name.length).put((byte) 's').put(name).array();
  }
}
