package dunlin.bench;

import dunlin.model.FilterIndex;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

/** Topic filters of the shapes that load tests of MQTT brokers use, and topics that each match one of these filters. */
public final class Filters {
  static final String TENANT = "default";

  private Filters() {}

  /** The kind of filters. */
  public enum Shape {
    /** No wildcards, five levels: fleets, then devices. */
    EXACT {
      @Override
      String filter(int i) {
        return "fleet/" + i % 1000 + "/device/" + i + "/state";
      }

      @Override
      String topic(int i) {
        return filter(i);
      }
    },
    HASH {
      @Override
      String filter(int i) {
        return "bench/" + i + "/#";
      }

      @Override
      String topic(int i) {
        return "bench/" + i + "/sensor/temperature";
      }
    },
    PLUS {
      @Override
      String filter(int i) {
        return "t/mqttx/+/" + i + "/sub/+/#";
      }

      @Override
      String topic(int i) {
        return "t/mqttx/pub/" + i + "/sub/x/status";
      }
    },
    /** One third of each other shape. */
    MIXED {
      @Override
      String filter(int i) {
        return part(i).filter(i);
      }

      @Override
      String topic(int i) {
        return part(i).topic(i);
      }

      private Shape part(int i) {
        return i % 3 == 0 ? EXACT : i % 3 == 1 ? HASH : PLUS;
      }
    };

    abstract String filter(int i);

    abstract String topic(int i);
  }

  /** Topic names back to back. */
  record Topics(byte[] bytes, int[] starts) {
    static final Topics NONE = new Topics(new byte[0], new int[1]);

    static Topics random(Shape shape, int filters, int count) {
      var random = new Random(1);
      byte[] bytes = new byte[64 * count];
      int[] starts = new int[count + 1];
      for (int i = 0; i < count; i++) {
        byte[] topic = shape.topic(random.nextInt(filters)).getBytes(StandardCharsets.UTF_8);
        System.arraycopy(topic, 0, bytes, starts[i], topic.length);
        starts[i + 1] = starts[i] + topic.length;
      }
      return new Topics(Arrays.copyOf(bytes, starts[count] + 8), starts);
    }

    int start(int topic) {
      return starts[topic];
    }

    int length(int topic) {
      return starts[topic + 1] - starts[topic];
    }
  }

  /** Prints the memory of the index for each filter, and the time to build it. */
  public static void main(String[] args) {
    Integer value = 1;
    for (Shape shape : Shape.values()) {
      for (int filters : new int[] {10_000, 1_000_000, 1_000_000}) {
        long before = used();
        long start = System.nanoTime();
        var index = new FilterIndex<Integer>();
        for (int i = 0; i < filters; i++) index.put(TENANT, shape.filter(i), value);
        long nanos = System.nanoTime() - start;
        double bytes = (double) (used() - before) / index.size();
        System.out.printf(
            "%-6s %,9d filters: %5.1f bytes a filter, %5.0f ns a put with making its text%n",
            shape, index.size(), bytes, (double) nanos / filters);
      }
    }
  }

  private static long used() {
    for (int i = 0; i < 3; i++) System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }
}
