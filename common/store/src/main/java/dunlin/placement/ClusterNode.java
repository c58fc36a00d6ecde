package dunlin.placement;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import java.util.Collections;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;

/**
 * One process of the cluster as the meta group has it.
 *
 * @param id from the node's data directory: an empty directory makes a new node
 * @param host a name rather than a number: it is resolved again when a connection fails
 * @param ports by what they are for
 * @param roles among them the kinds of the ranges that the node may have replicas of, the words of {@link #preferring}, and the word of {@link Disk}
 */
public record ClusterNode(
    UUID id,
    String host,
    NavigableMap<String, Integer> ports,
    NavigableSet<String> roles,
    String region,
    String zone,
    State state) {
  private static final int FORMAT = 1;
  private static final int WORDS_MAX = 16;
  private static final String PREFERS = "prefers ";
  private static final int WORD_LENGTH_MAX = 255;

  /** What the cluster may expect of a node. */
  public enum State {
    /** Has a lease and takes replicas. */
    JOINED(1),
    /** Its lease has expired: it gets no new replicas and keeps those that it has. */
    SUSPECT(2),
    /** Has been silent for so long that it counts as dead. */
    DOWN(3),
    /** Its replicas are being moved away. Counts as up. */
    DRAINING(4),
    /** Has left for ever: its identity cannot be used again. */
    LEFT(5);

    private final int code;

    State(int code) {
      this.code = code;
    }

    /** Whether its replicas count as healthy. */
    public boolean up() {
      return this == JOINED || this == DRAINING;
    }

    void writeTo(FieldWriter out) {
      out.octet(code);
    }

    static State readFrom(FieldReader in) {
      int code = in.octet();
      for (var state : values()) if (state.code == code) return state;
      throw new IllegalStateException("state " + code + " of a node");
    }
  }

  /**
   * Whether the disk of a node has room, as the node itself says. The word for it is among the roles: nodes of an earlier version read it, show it and do nothing
   * about it, and where commands are applied nothing depends on it, so that all replicas of the meta group decide alike.
   */
  public enum Disk {
    ENOUGH("", "has room"),
    /** A snapshot that a replica was to begin with did not fit. */
    SHORT("disk short", "has no room for the rows of a replica"),
    /** The node takes no commands that need space. */
    LOW("disk low", "is nearly full");

    private final String word;
    private final String text;

    Disk(String word, String text) {
      this.word = word;
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  public ClusterNode {
    ports = Collections.unmodifiableNavigableMap(new TreeMap<>(ports));
    roles = Collections.unmodifiableNavigableSet(new TreeSet<>(roles));
    if (host.isEmpty()) throw new IllegalArgumentException("node " + id + " has no host");
    if (ports.size() > WORDS_MAX || roles.size() > WORDS_MAX)
      throw new IllegalArgumentException("node " + id + " has more than " + WORDS_MAX + " ports or roles");
    for (String word : new String[] {host, region, zone}) checkLength(word);
    ports.keySet().forEach(ClusterNode::checkLength);
    roles.forEach(ClusterNode::checkLength);
    for (int port : ports.values()) if (port < 1 || port > 65_535) throw new IllegalArgumentException("port " + port);
  }

  public static ClusterNode joining(
      UUID id, String host, Map<String, Integer> ports, Set<String> roles, String region, String zone) {
    return new ClusterNode(id, host, new TreeMap<>(ports), new TreeSet<>(roles), region, zone, State.JOINED);
  }

  private static void checkLength(String word) {
    if (word.length() > WORD_LENGTH_MAX)
      throw new IllegalArgumentException("more than " + WORD_LENGTH_MAX + " characters: " + word);
  }

  /** Whether ranges of this kind may lie here. */
  public boolean holds(String kind) {
    return roles.contains(kind);
  }

  /** The word among the roles by which ranges of a kind, and above all their leaders, are placed here rather than on nodes without it. */
  public static String preferring(String kind) {
    return PREFERS + kind;
  }

  /** Whether ranges of this kind are placed here rather than on nodes that only hold them. */
  public boolean prefers(String kind) {
    return roles.contains(preferring(kind));
  }

  /** What the node has said last about its disk. */
  public Disk disk() {
    if (roles.contains(Disk.LOW.word)) return Disk.LOW;
    return roles.contains(Disk.SHORT.word) ? Disk.SHORT : Disk.ENOUGH;
  }

  public ClusterNode with(Disk changed) {
    var words = new TreeSet<>(roles);
    for (var each : Disk.values()) words.remove(each.word);
    if (changed != Disk.ENOUGH) words.add(changed.word);
    return new ClusterNode(id, host, ports, words, region, zone, state);
  }

  public ClusterNode in(State changed) {
    return new ClusterNode(id, host, ports, roles, region, zone, changed);
  }

  void writeTo(FieldWriter out) {
    out.octet(FORMAT);
    out.uuid(id);
    out.text(host);
    out.number(ports.size());
    ports.forEach(
        (name, port) -> {
          out.text(name);
          out.number(port);
        });
    out.number(roles.size());
    roles.forEach(out::text);
    out.text(region);
    out.text(zone);
    state.writeTo(out);
  }

  static ClusterNode readFrom(FieldReader in) {
    in.format(FORMAT, "node");
    var id = in.uuid();
    String host = in.text();
    var ports = new TreeMap<String, Integer>();
    for (int i = in.count(); i > 0; i--) ports.put(in.text(), in.count());
    var roles = new TreeSet<String>();
    for (int i = in.count(); i > 0; i--) roles.add(in.text());
    return new ClusterNode(id, host, ports, roles, in.text(), in.text(), State.readFrom(in));
  }
}
