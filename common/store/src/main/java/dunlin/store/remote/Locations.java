package dunlin.store.remote;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dunlin.store.remote.wire.Wire;
import dunlin.store.serve.RangeLocation;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.UUID;

/** The wire format of locations and node ids. */
final class Locations {
  private Locations() {}

  static byte[] bytes(UUID id) {
    return ByteBuffer.allocate(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
  }

  static UUID id(ByteString bytes) {
    if (bytes.size() != 16) throw new FrameException("id of " + bytes.size() + " bytes");
    var in = bytes.asReadOnlyByteBuffer();
    return new UUID(in.getLong(), in.getLong());
  }

  static Wire.Location toWire(RangeLocation location) {
    var out =
        Wire.Location.newBuilder()
            .setRange(ByteString.copyFrom(bytes(location.range())))
            .setEpoch(location.epoch())
            .setFrom(ByteString.copyFrom(location.from()));
    if (location.to() != null) out.setTo(ByteString.copyFrom(location.to())).setHasTo(true);
    for (var peer : location.peers())
      out.addPeers(
          Wire.Peer.newBuilder().setNode(ByteString.copyFrom(bytes(peer.node()))).setHost(peer.host()).setPort(peer.port()));
    if (location.leader() != null) out.setLeader(ByteString.copyFrom(bytes(location.leader())));
    return out.build();
  }

  static RangeLocation read(ByteBuffer in) {
    try {
      var wire = Wire.Location.parseFrom(in);
      var peers = new ArrayList<RangeLocation.Peer>();
      for (var peer : wire.getPeersList()) peers.add(new RangeLocation.Peer(id(peer.getNode()), peer.getHost(), peer.getPort()));
      return new RangeLocation(
          id(wire.getRange()),
          wire.getEpoch(),
          wire.getFrom().toByteArray(),
          wire.getHasTo() ? wire.getTo().toByteArray() : null,
          peers,
          wire.getLeader().isEmpty() ? null : id(wire.getLeader()));
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      throw new FrameException("location that cannot be read", e);
    }
  }
}
