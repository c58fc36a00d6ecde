package dunlin.chaos.mqtt.check;

/** Matches filters (section 4.7), for the topics of the load. */
public final class Filters {
  private Filters() {}

  static boolean shared(String filter) {
    return filter.startsWith("$share/") || filter.startsWith("$oshare/");
  }

  static boolean ordered(String filter) {
    return filter.startsWith("$oshare/");
  }

  /** The filter inside of a shared subscription, or the filter itself. */
  static String plain(String filter) {
    return shared(filter) ? filter.split("/", 3)[2] : filter;
  }

  public static boolean matches(String filter, String topic) {
    var wanted = plain(filter).split("/", -1);
    var levels = topic.split("/", -1);
    for (int i = 0; i < wanted.length; i++) {
      if (wanted[i].equals("#")) return true;
      if (i == levels.length || (!wanted[i].equals("+") && !wanted[i].equals(levels[i]))) return false;
    }
    return wanted.length == levels.length;
  }
}
