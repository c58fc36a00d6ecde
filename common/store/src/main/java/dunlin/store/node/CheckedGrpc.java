package dunlin.store.node;

import dunlin.runtime.Surroundings;
import dunlin.store.Member;
import dunlin.store.disk.RatisPeers;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Collection;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.grpc.GrpcFactory;
import org.apache.ratis.grpc.server.GrpcLogAppender;
import org.apache.ratis.grpc.server.GrpcServices;
import org.apache.ratis.grpc.server.GrpcServicesImpl;
import org.apache.ratis.proto.RaftProtos.AppendEntriesReplyProto;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotReplyProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteReplyProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionReplyProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionRequestProto;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.rpc.RpcFactory;
import org.apache.ratis.rpc.RpcType;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerRpcWithProxy;
import org.apache.ratis.server.leader.FollowerInfo;
import org.apache.ratis.server.leader.LeaderState;
import org.apache.ratis.server.leader.LogAppender;
import org.apache.ratis.server.protocol.RaftServerAsynchronousProtocol;
import org.apache.ratis.server.raftlog.RaftLogIOException;
import org.jspecify.annotations.Nullable;

/**
 * Ratis' gRPC, with a bound for the terms in peers' answers as there is for those in their calls ({@link PeerCallers}).
 * Ratis creates it by name and reflection. Interceptors see incoming calls only, so the two places that adopt the term
 * of an answer are wrapped: a leader's appender, and a candidate's request for a vote.
 */
final class CheckedGrpc implements RpcType {
  private static final String CALLERS = "dunlin.peer-callers";
  private static final String ROUTES = "dunlin.peer-routes";

  /** Sets the judge of terms; required where this RPC type is used. */
  static void judgedBy(PeerCallers callers, Parameters parameters) {
    parameters.put(CALLERS, callers, PeerCallers.class);
  }

  /** Sets where the addresses of peers are connected to; required where this RPC type is used. */
  static void reachedBy(Surroundings routes, Parameters parameters) {
    parameters.put(ROUTES, routes, Surroundings.class);
  }

  @Override
  public String name() {
    return CheckedGrpc.class.getName();
  }

  @Override
  public RpcFactory newFactory(Parameters parameters) {
    return new Factory(parameters);
  }

  /** The connections of a server that uses this RPC type. */
  static RaftServerRpcWithProxy<?, ?> connections(RaftServer server) {
    return grpc(server);
  }

  private static GrpcServicesImpl grpc(RaftServer server) {
    return ((Services) server.getServerRpc()).grpc;
  }

  private static final class Factory extends GrpcFactory {
    private final PeerCallers callers;
    private final Surroundings routes;

    Factory(Parameters parameters) {
      super(parameters);
      callers = parameters.getNonNull(CALLERS, PeerCallers.class);
      routes = parameters.getNonNull(ROUTES, Surroundings.class);
    }

    @Override
    public GrpcServices newRaftServerRpc(RaftServer server) {
      return new Services((GrpcServicesImpl) super.newRaftServerRpc(server), callers, routes);
    }

    @Override
    public LogAppender newLogAppender(RaftServer.Division group, LeaderState leader, FollowerInfo follower) {
      return new Appender(group, leader, follower, callers);
    }
  }

  /** A leader's stream of entries to one follower. */
  private static final class Appender extends GrpcLogAppender {
    private final PeerCallers callers;
    private final UnansweredAppends unanswered = new UnansweredAppends();

    Appender(RaftServer.Division group, LeaderState leader, FollowerInfo follower, PeerCallers callers) {
      super(group, leader, follower);
      this.callers = callers;
    }

    @Override
    public GrpcServicesImpl getServerRpc() {
      return grpc(getServer().getRaftServer());
    }

    @Override
    public boolean hasAppendEntries() {
      return super.hasAppendEntries() && !isFull();
    }

    @Override
    public @Nullable AppendEntriesRequestProto newAppendEntriesRequest(long call, boolean heartbeat) throws RaftLogIOException {
      var request = super.newAppendEntriesRequest(call, heartbeat || isFull());
      int entries = request == null ? 0 : request.getEntriesCount();
      if (entries > 0) unanswered.sent(request.getEntries(entries - 1).getIndex(), request.getSerializedSize());
      return request;
    }

    private boolean isFull() {
      return unanswered.isFull(getFollower().getMatchIndex(), getFollower().getNextIndex());
    }

    @Override
    public boolean onFollowerTerm(long term) {
      return callers.believes(getServer().getGroup().getGroupId(), getFollowerId(), term) && super.onFollowerTerm(term);
    }
  }

  /** Passes everything on, except answers to requests for votes with an impossible term. */
  private static final class Services implements GrpcServices {
    private final GrpcServicesImpl grpc;
    private final PeerCallers callers;
    private final Surroundings routes;

    Services(GrpcServicesImpl grpc, PeerCallers callers, Surroundings routes) {
      this.grpc = grpc;
      this.callers = callers;
      this.routes = routes;
    }

    @Override
    public RequestVoteReplyProto requestVote(RequestVoteRequestProto request) throws IOException {
      var reply = grpc.requestVote(request);
      var asked = request.getServerRequest();
      var group = RaftGroupId.valueOf(asked.getRaftGroupId().getId());
      if (!callers.believes(group, RaftPeerId.valueOf(asked.getReplyId()), reply.getTerm()))
        throw new IOException("the answer to a request for a vote has term " + reply.getTerm());
      return reply;
    }

    @Override
    public AppendEntriesReplyProto appendEntries(AppendEntriesRequestProto request) {
      return grpc.appendEntries(request);
    }

    @Override
    public InstallSnapshotReplyProto installSnapshot(InstallSnapshotRequestProto request) {
      return grpc.installSnapshot(request);
    }

    @Override
    public StartLeaderElectionReplyProto startLeaderElection(StartLeaderElectionRequestProto request) throws IOException {
      return grpc.startLeaderElection(request);
    }

    @Override
    public RaftServerAsynchronousProtocol async() {
      return grpc.async();
    }

    @Override
    public void notifyNotLeader(RaftGroupId group) {
      grpc.notifyNotLeader(group);
    }

    @Override
    public void handleException(RaftPeerId peer, Exception failure, boolean reconnect) {
      grpc.handleException(peer, failure, reconnect);
    }

    @Override
    public void addRaftPeers(Collection<RaftPeer> peers) {
      grpc.addRaftPeers(peers.stream().map(this::reached).toList());
    }

    private RaftPeer reached(RaftPeer peer) {
      var named = RatisPeers.member(peer);
      var taken = routes.route(named.host(), named.port());
      return RaftPeer.newBuilder(peer).setAddress(new Member(named.node(), taken.getHostString(), taken.getPort()).address()).build();
    }

    @Override
    public RpcType getRpcType() {
      return grpc.getRpcType();
    }

    @Override
    public InetSocketAddress getInetSocketAddress() {
      return grpc.getInetSocketAddress();
    }

    @Override
    public InetSocketAddress getClientServerAddress() {
      return grpc.getClientServerAddress();
    }

    @Override
    public InetSocketAddress getAdminServerAddress() {
      return grpc.getAdminServerAddress();
    }

    @Override
    public void start() throws IOException {
      grpc.start();
    }

    @Override
    public void close() throws IOException {
      grpc.close();
    }
  }
}
