package dunlin.retain;

import dunlin.model.TopicFilter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Finds the topics of a filter in the order of {@link TopicKeys}; MQTT 5, section 4.7. */
final class FilterSeek {
  /*
   * The target is always the lowest key that could match next. The caller seeks to the first key at or after it and
   * passes that key to visit(), which says whether it matches and moves the target forward as far as possible. So "+/x"
   * costs two or three keys for each topic branch, however many topics the branch has.
   *
   * Owner: one page on one thread.
   * Bounds: a copy of the filter, and a target no longer than the longest key plus the filter.
   */
  private record Level(boolean any, byte[] name) {}

  private final byte[] tenant;
  private final List<Level> levels;
  private final boolean withBranch;
  private final boolean wildFirst;

  private byte[] target = new byte[64];
  private int targetLength;
  private boolean done;

  /**
   * @throws IllegalArgumentException when it is not a valid topic filter
   */
  FilterSeek(String tenant, String filter) {
    this.tenant = TopicKeys.prefix(tenant);
    String text = TopicFilter.plain(filter).filter();
    this.withBranch = text.endsWith("#");
    this.wildFirst = text.startsWith("#") || text.startsWith("+");
    levels = new ArrayList<>();
    for (int from = 0; from <= text.length(); ) {
      int slash = text.indexOf('/', from);
      int to = slash < 0 ? text.length() : slash;
      String level = text.substring(from, to);
      if (!level.equals("#")) levels.add(new Level(level.equals("+"), level.getBytes(StandardCharsets.UTF_8)));
      from = to + 1;
    }
    append(this.tenant, 0, this.tenant.length);
    appendLowest(0);
  }

  private FilterSeek(FilterSeek of) {
    tenant = of.tenant;
    levels = of.levels;
    withBranch = of.withBranch;
    wildFirst = of.wildFirst;
    target = Arrays.copyOf(of.target, of.target.length);
    targetLength = of.targetLength;
    done = of.done;
  }

  /** Another one at the same place. */
  FilterSeek copy() {
    return new FilterSeek(this);
  }

  /** Continues where an earlier page ended. */
  void from(byte[] key) {
    if (Arrays.compareUnsigned(key, 0, key.length, target, 0, targetLength) <= 0) return;
    targetLength = 0;
    append(key, 0, key.length);
  }

  /** Skips to a key, since there is none before it; ends the search when it is null, since there is none any more. */
  void skipTo(byte @Nullable [] key) {
    if (key == null) {
      done = true;
      return;
    }
    if (Arrays.compareUnsigned(key, 0, key.length, target, 0, targetLength) <= 0 || !visit(key, key.length)) return;
    targetLength = 0; // The key itself can match, and may exist.
    append(key, 0, key.length);
  }

  /** Whether no key can match any more. */
  boolean done() {
    return done;
  }

  /** The buffer with the lowest key that could match next; modified by {@link #visit}. */
  byte[] target() {
    return target;
  }

  int targetLength() {
    return targetLength;
  }

  /** Whether this key, the first at or after the target, matches; moves the target behind it. */
  boolean visit(byte[] key, int length) {
    if (length < tenant.length || !Arrays.equals(key, 0, tenant.length, tenant, 0, tenant.length)) {
      done = true;
      return false;
    }
    if (wildFirst && length > tenant.length && key[tenant.length] == '$') {
      // A leading wildcard does not match topics that begin with '$' [MQTT-4.7.2-1]: skip their interval.
      continueAt(key, tenant.length, '$' + 1);
      return false;
    }
    int at = tenant.length;
    int anyEnd = -1;
    for (int i = 0; i < levels.size(); i++) {
      if (at > length) {
        // The topic has fewer levels: its children are next, from the lowest that could match.
        continueAt(key, length, TopicKeys.SEPARATOR);
        appendLowest(i);
        return false;
      }
      int end = levelEnd(key, at, length);
      Level level = levels.get(i);
      if (level.any) {
        anyEnd = end;
      } else {
        int order = Arrays.compareUnsigned(key, at, end, level.name, 0, level.name.length);
        if (order < 0) {
          targetLength = 0;
          append(key, 0, at);
          appendLowest(i);
          return false;
        }
        if (order > 0) {
          skipBranch(key, anyEnd);
          return false;
        }
      }
      at = end + 1;
    }
    if (withBranch) {
      // The branch is one interval that begins with its parent [MQTT-4.7.1-2].
      continueAt(key, length, 0);
      return true;
    }
    skipBranch(key, anyEnd);
    return at > length;
  }

  /** Skips everything with the same levels up to the last one that '+' matches. */
  private void skipBranch(byte[] key, int anyEnd) {
    if (anyEnd < 0) done = true;
    else continueAt(key, anyEnd, TopicKeys.AFTER_BRANCH);
  }

  private void continueAt(byte[] key, int length, int next) {
    targetLength = 0;
    append(key, 0, length);
    append(new byte[] {(byte) next}, 0, 1);
  }

  /** Appends the filter's levels from the given one on, with the lowest level, which is empty, for each '+'. */
  private void appendLowest(int fromLevel) {
    for (int i = fromLevel; i < levels.size(); i++) {
      if (i > fromLevel) append(new byte[] {TopicKeys.SEPARATOR}, 0, 1);
      Level level = levels.get(i);
      if (!level.any) append(level.name, 0, level.name.length);
    }
  }

  private void append(byte[] bytes, int from, int to) {
    int length = to - from;
    if (target.length < targetLength + length) {
      target = Arrays.copyOf(target, Math.max(targetLength + length, target.length * 2));
    }
    System.arraycopy(bytes, from, target, targetLength, length);
    targetLength += length;
  }

  private static int levelEnd(byte[] key, int from, int length) {
    for (int i = from; i < length; i++) if (key[i] == TopicKeys.SEPARATOR) return i;
    return length;
  }
}
