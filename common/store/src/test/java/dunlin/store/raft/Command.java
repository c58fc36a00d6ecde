package dunlin.store.raft;

import dunlin.store.CommandCodec;
import dunlin.store.CommandKind;
import dunlin.store.RangeLogic;
import dunlin.store.RangeReader;
import dunlin.store.RangeWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The commands of a small key-value store, for tests of ranges. */
public sealed interface Command {
  record Put(String key, String value) implements Command {}

  record Delete(String key) implements Command {}

  /** Appends to the row, so that its content shows the order in which commands were applied. */
  record Append(String key, String more) implements Command {}

  /** Answers all rows of an interval, as seen while commands are applied. */
  record Rows(String from, String to) implements Command {}

  /** Throws while it is applied, which no real command may do. */
  record Break(String how) implements Command {}

  CommandCodec<Command> CODEC =
      new CommandCodec<>() {
        @Override
        public CommandKind kind(Command command) {
          return switch (command) {
            case Append _ -> CommandKind.FLOW;
            case Delete _, Rows _ -> CommandKind.RELEASE;
            case Put _, Break _ -> CommandKind.CALL;
          };
        }

        @Override
        public int encodedLength(Command command) {
          return 1 + 4 + 4 + bytes(first(command)).length + bytes(second(command)).length;
        }

        @Override
        public void encode(Command command, ByteBuffer out) {
          out.put(number(command));
          for (String text : List.of(first(command), second(command))) out.putInt(bytes(text).length).put(bytes(text));
        }

        @Override
        public Command decode(ByteBuffer in) {
          byte kind = in.hasRemaining() ? in.get() : 0;
          String first = text(in);
          String second = text(in);
          return switch (kind) {
            case 1 -> new Put(first, second);
            case 2 -> new Delete(first);
            case 3 -> new Append(first, second);
            case 4 -> new Rows(first, second);
            case 5 -> new Break(first);
            default -> throw new IllegalStateException("command of kind " + kind);
          };
        }
      };

  /** Applies commands and counts what it applied. */
  final class Logic implements RangeLogic<Command, String> {
    int opened;
    int applied;

    /** How many times more it fails to open. */
    int failsToOpen;

    final AtomicInteger settled = new AtomicInteger();
    volatile boolean failsToSettle;
    volatile boolean settlesLong;
    final List<String> rowsAtOpen = new ArrayList<>();

    /** Whether it opens by what a parent has kept, and what it was given then. */
    boolean takesOver;

    @Nullable RangeLogic<?, ?> parent;
    byte @Nullable [] start;

    @Override
    public boolean openSplit(RangeLogic<?, ?> of, byte[] from) {
      parent = of;
      start = from;
      return takesOver;
    }

    @Override
    public void settle(BooleanSupplier over) {
      while (settlesLong && !over.getAsBoolean()) LockSupport.parkNanos(1_000_000);
      settled.incrementAndGet();
      if (failsToSettle) throw new IllegalStateException("the test has it fail");
    }

    @Override
    public void open(RangeReader state) {
      opened++;
      if (failsToOpen-- > 0) throw new IllegalStateException("too many open files");
      state.scan(bytes(""), null, (key, value) -> rowsAtOpen.add(text(key) + "=" + text(value)));
    }

    @Override
    public List<String> apply(List<Command> commands, RangeWriter out) {
      return commands.stream().map(command -> apply(command, out)).toList();
    }

    private String apply(Command command, RangeWriter out) {
      applied++;
      return switch (command) {
        case Put(var key, var value) -> {
          out.put(bytes(key), bytes(value));
          yield "put";
        }
        case Delete(var key) -> {
          out.delete(bytes(key));
          yield "deleted";
        }
        case Append(var key, var more) -> {
          byte[] before = out.get(bytes(key));
          String after = (before == null ? "" : text(before)) + more;
          out.put(bytes(key), bytes(after));
          yield after;
        }
        case Rows(var from, var to) -> {
          var rows = new ArrayList<String>();
          out.scan(bytes(from), bytes(to), (key, value) -> rows.add(text(key) + "=" + text(value)));
          yield rows.toString();
        }
        case Break(var how) -> throw new IllegalStateException("broken by " + how);
      };
    }
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static String text(ByteBuffer in) {
    int length = in.remaining() < 4 ? -1 : in.getInt();
    if (length < 0 || length > in.remaining()) throw new IllegalStateException("text of " + length + " bytes");
    byte[] bytes = new byte[length];
    in.get(bytes);
    return text(bytes);
  }

  private static byte number(Command command) {
    return switch (command) {
      case Put _ -> 1;
      case Delete _ -> 2;
      case Append _ -> 3;
      case Rows _ -> 4;
      case Break _ -> 5;
    };
  }

  private static String first(Command command) {
    return switch (command) {
      case Put put -> put.key();
      case Delete delete -> delete.key();
      case Append append -> append.key();
      case Rows list -> list.from();
      case Break broken -> broken.how();
    };
  }

  private static String second(Command command) {
    return switch (command) {
      case Put put -> put.value();
      case Append append -> append.more();
      case Rows list -> list.to();
      case Delete _, Break _ -> "";
    };
  }
}
