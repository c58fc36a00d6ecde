package dunlin.inbox.operate;

import dunlin.store.FieldReader;
import dunlin.store.FieldWriter;
import org.jspecify.annotations.Nullable;

/**
 * Where a page of an export begins.
 *
 * @param shard whose rows are read
 * @param name the client identifier, or the filter of the group
 * @param birth of the session or queue whose messages are read; 0 for none
 * @param sequence the last one that was read there; 0 for none
 * @param filter the last subscription that was read; empty for none
 */
record ExportPosition(Stage stage, int shard, String name, long birth, long sequence, String filter) {
  /** What is read next. */
  enum Stage {
    /** The first session of the shard. */
    SESSION(1),
    /** The first one behind this client identifier. */
    NEXT_SESSION(2),
    MESSAGES(3),
    SUBSCRIPTIONS(4),
    /** The first group of the shard. */
    GROUP(5),
    /** The first one behind this filter. */
    NEXT_GROUP(6),
    /** The queues of an ordered group's members. */
    QUEUES(7),
    GROUP_INBOX(8);

    private final int code;

    Stage(int code) {
      this.code = code;
    }

    private static Stage of(int code) {
      for (Stage each : values()) if (each.code == code) return each;
      throw new IllegalStateException("stage " + code);
    }
  }

  static ExportPosition sessions(int shard) {
    return new ExportPosition(Stage.SESSION, shard, "", 0, 0, "");
  }

  static ExportPosition groups(int shard) {
    return new ExportPosition(Stage.GROUP, shard, "", 0, 0, "");
  }

  /** Whether groups are read, which come behind all sessions. */
  boolean ofGroups() {
    return stage.code >= Stage.GROUP.code;
  }

  ExportPosition at(Stage next) {
    return new ExportPosition(next, shard, name, 0, 0, "");
  }

  ExportPosition at(Stage next, String nextName, long nextBirth) {
    return new ExportPosition(next, shard, nextName, nextBirth, 0, "");
  }

  ExportPosition behind(long lastSequence) {
    return new ExportPosition(stage, shard, name, birth, lastSequence, "");
  }

  ExportPosition behind(String lastFilter) {
    return new ExportPosition(stage, shard, name, birth, 0, lastFilter);
  }

  byte[] encode() {
    return FieldWriter.bytesOf(
        out -> {
          out.octet(stage.code);
          out.number(shard);
          out.text(name);
          out.number(birth);
          out.number(sequence);
          out.text(filter);
        });
  }

  /** @throws IllegalArgumentException when it is none */
  static ExportPosition decode(byte[] bytes) {
    try {
      return FieldReader.read(bytes, in -> new ExportPosition(Stage.of(in.octet()), in.count(), in.text(), in.number(), in.number(), in.text()));
    } catch (IllegalStateException wrong) {
      throw none(wrong);
    }
  }

  static IllegalArgumentException none(@Nullable Throwable cause) {
    return new IllegalArgumentException("the cursor is none that a page has given", cause);
  }
}
