package dunlin.store.disk;

import dunlin.store.Member;
import dunlin.store.RangeDescriptor;
import java.util.ArrayList;
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
    return peer(member, RaftPeerRole.FOLLOWER, priority);
  }

  public static RaftPeer listener(Member member) {
    return peer(member, RaftPeerRole.LISTENER, 0);
  }

  public static List<RaftPeer> voters(Collection<Member> members) {
    return members.stream().map(member -> voter(member, 0)).toList();
  }

  /** The peers of a group, with this node as a listener. */
  public static List<RaftPeer> withListener(Collection<Member> members, Member listener) {
    var peers = new ArrayList<RaftPeer>();
    for (var member : members) if (!member.node().equals(listener.node())) peers.add(voter(member, 0));
    peers.add(listener(listener));
    return peers;
  }

  /** The peers of a configuration entry of the log. */
  public static List<RangeDescriptor.Peer> peers(RaftConfigurationProto configuration) {
    var peers = new ArrayList<RangeDescriptor.Peer>();
    for (var peer : configuration.getPeersList())
      peers.add(new RangeDescriptor.Peer(node(RaftPeerId.valueOf(peer.getId())), RangeDescriptor.Role.VOTER));
    for (var peer : configuration.getListenersList())
      peers.add(new RangeDescriptor.Peer(node(RaftPeerId.valueOf(peer.getId())), RangeDescriptor.Role.LISTENER));
    return peers;
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

  private static RaftPeer peer(Member member, RaftPeerRole role, int priority) {
    return RaftPeer.newBuilder()
        .setId(id(member.node()))
        .setAddress(member.address())
        .setStartupRole(role)
        .setPriority(priority)
        .build();
  }
}
