package dunlin.cluster.call;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;

/**
 * Where a node asks for its cluster: addresses separated by commas, or {@code dns:NAME:PORT} for all addresses that the
 * name resolves to, as with a headless service of Kubernetes; the certificates there must have that name. Empty for a
 * single node.
 */
public final class Seeds {
  private static final String DNS = "dns:";
  private static final int MOST = 256;

  private final List<NodeAddress> fixed;
  private final List<NodeAddress> names;

  private Seeds(List<NodeAddress> fixed, List<NodeAddress> names) {
    this.fixed = List.copyOf(fixed);
    this.names = List.copyOf(names);
  }

  /** @throws IllegalArgumentException naming the part that is wrong */
  public static Seeds parse(String text) {
    var fixed = new ArrayList<NodeAddress>();
    var names = new ArrayList<NodeAddress>();
    for (String part : text.split(",", -1)) {
      String seed = part.strip();
      if (seed.isEmpty() && text.isBlank()) continue;
      if (seed.startsWith(DNS)) names.add(NodeAddress.parse(seed.substring(DNS.length())));
      else fixed.add(NodeAddress.parse(seed));
    }
    if (fixed.size() + names.size() > MOST) throw new IllegalArgumentException("more than " + MOST + " seeds");
    return new Seeds(fixed, names);
  }

  /** The addresses as of now. Blocks while names are looked up. Throws for an unknown one: it could stand for any node. */
  public List<NodeAddress> resolve() throws UnknownHostException {
    var addresses = new ArrayList<>(fixed);
    for (var name : names)
      for (var address : InetAddress.getAllByName(name.host()))
        addresses.add(new NodeAddress(address.getHostAddress(), name.port(), name.host()));
    return addresses.stream().distinct().limit(MOST).toList();
  }
}
