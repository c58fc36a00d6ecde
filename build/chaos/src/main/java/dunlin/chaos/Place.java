package dunlin.chaos;

import dunlin.store.Member;
import dunlin.store.serve.RangeLocation;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;

/** The identity and addresses of a node, as exchanged between nodes and harness. */
record Place(UUID node, String host, int raftPort, int servicePort) {
  static Place parse(String text) {
    var parts = text.split("/", -1);
    if (parts.length != 4) throw new IllegalArgumentException("'" + text + "' is not NODE/HOST/PORT/PORT");
    return new Place(UUID.fromString(parts[0]), parts[1], Integer.parseInt(parts[2]), Integer.parseInt(parts[3]));
  }

  static List<Place> parseAll(String text) {
    return text.isBlank() ? List.of() : Arrays.stream(text.trim().split(" ", -1)).map(Place::parse).toList();
  }

  static String text(List<Place> places) {
    return String.join(" ", places.stream().map(Place::toString).toList());
  }

  static RangeLocation location(long epoch, List<Place> places) {
    return new RangeLocation(Ledger.RANGE.uuid(), epoch, new byte[0], null, places.stream().map(Place::peer).toList(), null);
  }

  Member member() {
    return new Member(node, host, raftPort);
  }

  RangeLocation.Peer peer() {
    return new RangeLocation.Peer(node, host, servicePort);
  }

  @Override
  public String toString() {
    return node + "/" + host + "/" + raftPort + "/" + servicePort;
  }
}
