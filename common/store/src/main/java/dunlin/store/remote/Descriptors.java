package dunlin.store.remote;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dunlin.store.RangeDescriptor;
import dunlin.store.remote.wire.Wire;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.UUID;

/** Descriptors and node ids between nodes. */
final class Descriptors {
  private Descriptors() {}

  static byte[] bytes(UUID id) {
    return ByteBuffer.allocate(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
  }

  static UUID id(ByteString bytes) {
    if (bytes.size() != 16) throw new FrameException("id of " + bytes.size() + " bytes");
    var in = bytes.asReadOnlyByteBuffer();
    return new UUID(in.getLong(), in.getLong());
  }

  static Wire.Descriptor toWire(RangeDescriptor descriptor) {
    var out =
        Wire.Descriptor.newBuilder()
            .setRange(ByteString.copyFrom(bytes(descriptor.range())))
            .setEpoch(descriptor.epoch())
            .setFrom(ByteString.copyFrom(descriptor.from()));
    if (descriptor.to() != null) out.setTo(ByteString.copyFrom(descriptor.to())).setHasTo(true);
    for (var peer : descriptor.peers())
      out.addPeers(
          Wire.Peer.newBuilder().setNode(ByteString.copyFrom(bytes(peer.node()))).setHost(peer.host()).setPort(peer.port()));
    if (descriptor.leader() != null) out.setLeader(ByteString.copyFrom(bytes(descriptor.leader())));
    return out.build();
  }

  static RangeDescriptor read(ByteBuffer in) {
    try {
      var wire = Wire.Descriptor.parseFrom(in);
      var peers = new ArrayList<RangeDescriptor.Peer>();
      for (var peer : wire.getPeersList()) peers.add(new RangeDescriptor.Peer(id(peer.getNode()), peer.getHost(), peer.getPort()));
      return new RangeDescriptor(
          id(wire.getRange()),
          wire.getEpoch(),
          wire.getFrom().toByteArray(),
          wire.getHasTo() ? wire.getTo().toByteArray() : null,
          peers,
          wire.getLeader().isEmpty() ? null : id(wire.getLeader()));
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      throw new FrameException("descriptor that cannot be read", e);
    }
  }
}
