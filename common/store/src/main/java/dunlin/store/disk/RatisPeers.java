package dunlin.store.disk;

import dunlin.store.Member;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.proto.RaftProtos.RaftPeerRole;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;

/** Converts the peers of a group between our types and those of Ratis. */
public final class RatisPeers {
  private RatisPeers() {}

  public static RaftPeer voter(Member member, int priority) {
    return RaftPeer.newBuilder()
        .setId(id(member.node()))
        .setAddress(member.address())
        .setStartupRole(RaftPeerRole.FOLLOWER)
        .setPriority(priority)
        .build();
  }

  /** A node without a cluster port. Ratis requires an address, though there is none. */
  public static RaftPeer alone(UUID node) {
    return RaftPeer.newBuilder().setId(id(node)).setAddress("127.0.0.1:0").build();
  }

  public static List<RaftPeer> voters(Collection<Member> members) {
    return members.stream().map(member -> voter(member, 0)).toList();
  }

  /** The peers of a configuration entry of the log. */
  public static List<UUID> nodes(RaftConfigurationProto configuration) {
    return configuration.getPeersList().stream().map(peer -> node(RaftPeerId.valueOf(peer.getId()))).toList();
  }

  public static Member member(RaftPeer peer) {
    return Member.of(node(peer.getId()), peer.getAddress());
  }

  public static RaftPeerId id(UUID node) {
    return RaftPeerId.valueOf(node.toString());
  }

  public static UUID node(RaftPeerId id) {
    return UUID.fromString(id.toString());
  }
}
