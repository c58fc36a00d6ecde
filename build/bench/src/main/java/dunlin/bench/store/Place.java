package dunlin.bench.store;

import dunlin.store.Member;
import dunlin.store.serve.RangeLocation;
import java.util.List;
import java.util.UUID;

/** A node and its ports on this machine, as `NODE/RAFT-PORT/SERVICE-PORT`. */
record Place(UUID node, int raftPort, int servicePort) {
  private static final String HOST = "127.0.0.1";

  static Place parse(String text) {
    var parts = text.split("/", -1);
    if (parts.length != 3) throw new IllegalArgumentException("'" + text + "' is not NODE/PORT/PORT");
    return new Place(UUID.fromString(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
  }

  static List<Place> parseAll(List<String> texts) {
    return texts.stream().map(Place::parse).toList();
  }

  /** The location of a range of all keys with a replica at each place. */
  static RangeLocation location(UUID range, List<Place> places) {
    return new RangeLocation(range, 1, new byte[0], null, places.stream().map(Place::peer).toList(), null);
  }

  Member member() {
    return new Member(node, HOST, raftPort);
  }

  private RangeLocation.Peer peer() {
    return new RangeLocation.Peer(node, HOST, servicePort);
  }

  @Override
  public String toString() {
    return node + "/" + raftPort + "/" + servicePort;
  }
}
