package dunlin.model;

import java.util.Optional;

/**
 * A valid topic filter of a subscription, plain or shared; MQTT 5, sections 4.7 and 4.8.2.
 *
 * <p>Clients can choose many filters with the same hash code. Filters are comparable, so that a hash table finds one
 * among those in logarithmic time; a record that has a filter and is a key of a hash table must be comparable, too.
 *
 * @param filter the filter that topic names are matched with, without the prefix {@code $share/group/}
 * @param group the name of the shared subscription's group, empty for a plain subscription
 * @param ordered whether a publisher stays with one member of the group ({@code $oshare})
 */
public record TopicFilter(String filter, String group, boolean ordered) implements Comparable<TopicFilter> {

  private static final String SHARE = "$share/";
  private static final String ORDERED_SHARE = "$oshare/";

  public TopicFilter {
    if (!isValidFilter(filter)) throw new IllegalArgumentException("not a topic filter: " + filter);
    if (!group.isEmpty() && !isValidGroup(group)) throw new IllegalArgumentException("not a group name: " + group);
    if (ordered && group.isEmpty()) throw new IllegalArgumentException("ordered without a group: " + filter);
  }

  /** A plain subscription's filter. */
  public static TopicFilter plain(String filter) {
    return new TopicFilter(filter, "", false);
  }

  /**
   * Parses a topic filter of a SUBSCRIBE packet. Empty when it is not valid: a wildcard that is not alone in its level,
   * {@code #} before the end, an empty text, U+0000, {@code $share} without a group or a filter [MQTT-4.7.1-1, -2,
   * MQTT-4.7.3-1, -2, MQTT-4.8.2-1, -2].
   */
  public static Optional<TopicFilter> parse(String text) {
    String prefix = text.startsWith(SHARE) ? SHARE : text.startsWith(ORDERED_SHARE) ? ORDERED_SHARE : "";
    if (prefix.isEmpty()) {
      boolean bare = text.equals("$share") || text.equals("$oshare");
      return bare || !isValidFilter(text) ? Optional.empty() : Optional.of(plain(text));
    }
    int end = text.indexOf('/', prefix.length());
    if (end < 0) return Optional.empty();
    String group = text.substring(prefix.length(), end);
    String filter = text.substring(end + 1);
    if (!isValidGroup(group) || !isValidFilter(filter)) return Optional.empty();
    return Optional.of(new TopicFilter(filter, group, prefix.equals(ORDERED_SHARE)));
  }

  /** Whether this belongs to a shared subscription. */
  public boolean shared() {
    return !group.isEmpty();
  }

  /** The number of levels of the filter, including empty ones, without the prefix of a shared subscription. */
  public int levels() {
    int levels = 1;
    for (int slash = filter.indexOf('/'); slash >= 0; slash = filter.indexOf('/', slash + 1)) levels++;
    return levels;
  }

  /** The characters of the filter and of its group's name, without the prefix of a shared subscription. */
  public int length() {
    return filter.length() + group.length();
  }

  /** The filter as in a SUBSCRIBE packet. */
  public String text() {
    if (!shared()) return filter;
    return (ordered ? ORDERED_SHARE : SHARE) + group + '/' + filter;
  }

  @Override
  public int compareTo(TopicFilter other) {
    int byFilter = filter.compareTo(other.filter);
    if (byFilter != 0) return byFilter;
    int byGroup = group.compareTo(other.group);
    return byGroup != 0 ? byGroup : Boolean.compare(ordered, other.ordered);
  }

  /** Whether a topic name matches: the reference implementation, which faster ones are tested against. */
  public boolean matches(String topic) {
    if (topic.startsWith("$") && (filter.startsWith("#") || filter.startsWith("+"))) return false;
    int f = 0;
    int t = 0;
    while (true) {
      int filterEnd = levelEnd(filter, f);
      String level = filter.substring(f, filterEnd);
      if (level.equals("#")) return true;
      if (t > topic.length()) return false;
      int topicEnd = levelEnd(topic, t);
      if (!level.equals("+") && !level.equals(topic.substring(t, topicEnd))) return false;
      boolean filterDone = filterEnd == filter.length();
      boolean topicDone = topicEnd == topic.length();
      if (filterDone) return topicDone;
      f = filterEnd + 1;
      // "a/#" matches its parent "a": one step past the topic's end only "#" is left to match.
      t = topicDone ? topic.length() + 1 : topicEnd + 1;
    }
  }

  private static int levelEnd(String text, int from) {
    int slash = text.indexOf('/', from);
    return slash < 0 ? text.length() : slash;
  }

  private static boolean isValidFilter(String filter) {
    if (filter.isEmpty()) return false;
    for (int i = 0; i < filter.length(); i++) {
      char c = filter.charAt(i);
      if (c == 0) return false;
      if (c != '+' && c != '#') continue;
      boolean startsLevel = i == 0 || filter.charAt(i - 1) == '/';
      boolean endsLevel = i == filter.length() - 1 || filter.charAt(i + 1) == '/';
      if (!startsLevel || !endsLevel) return false;
      if (c == '#' && i != filter.length() - 1) return false;
    }
    return true;
  }

  private static boolean isValidGroup(String group) {
    if (group.isEmpty()) return false;
    for (int i = 0; i < group.length(); i++) {
      char c = group.charAt(i);
      if (c == '+' || c == '#' || c == '/' || c == 0) return false;
    }
    return true;
  }
}
