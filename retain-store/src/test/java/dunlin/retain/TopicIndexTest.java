package dunlin.retain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dunlin.model.Publication;
import dunlin.retain.index.SizeClass;
import dunlin.retain.index.TopicIndex;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class TopicIndexTest {
  static LongStream seeds() {
    return LongStream.rangeClosed(1, 10);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void behavesAsASortedSet(long seed) {
    Random random = new Random(seed);
    TopicIndex index = new TopicIndex();
    NavigableMap<byte[], Integer> model = new TreeMap<>(Arrays::compareUnsigned);

    for (int i = 0; i < 6000; i++) {
      byte[] key = key(random, 3000);
      // The index grows, shrinks to almost nothing, and grows again.
      boolean adds = random.nextInt(10) < (i / 2000 == 1 ? 1 : 7);
      int size = random.nextInt(256);
      int had = adds ? index.put(key, (byte) size) : index.remove(key);
      Integer expected = adds ? model.put(key, size) : model.remove(key);
      if (had != (expected == null ? SizeClass.NONE : expected)) fail("seed %d, step %d", seed, i);
      if (index.sizeClass(key) != (adds ? size : SizeClass.NONE)) fail("seed %d, step %d", seed, i);
      if (i % 1000 == 999) {
        assertThat(all(index)).as("seed %d, step %d", seed, i).isEqualTo(texts(model.navigableKeySet()));
        var sizes = new TreeMap<byte[], Integer>(Arrays::compareUnsigned);
        for (byte[] each : model.keySet()) sizes.put(each, index.sizeClass(each));
        assertThat(sizes).as("seed %d, step %d", seed, i).isEqualTo(model);
      }
    }

    assertThat(index.size()).isEqualTo(model.size());
    TopicIndex.Walk walk = index.walk();
    for (byte[] target = key(random, 3000); ; target = next(walk, random)) {
      byte[] expected = model.ceilingKey(target);
      assertThat(walk.seek(target, target.length)).as("seed %d", seed).isEqualTo(expected != null);
      if (expected == null) break;
      assertThat(walk.copy()).as("seed %d", seed).isEqualTo(expected);
    }
  }

  private static byte[] next(TopicIndex.Walk walk, Random random) {
    byte[] target = Arrays.copyOf(walk.copy(), walk.length() + 1 + random.nextInt(2));
    if (random.nextInt(3) == 0) target[random.nextInt(target.length)]++;
    return Arrays.compareUnsigned(target, 0, target.length, walk.key(), 0, walk.length()) > 0
        ? target
        : Arrays.copyOf(walk.copy(), walk.length() + 1);
  }

  private static byte[] key(Random random, int different) {
    int number = random.nextInt(different);
    // Some are prefixes of others, and some are longer than a block.
    String text = number % 97 == 0 ? "x".repeat(number) : "device/" + number / 7 + "/" + "state".substring(number % 6 / 2);
    return TopicKeys.of(Messages.message(text.isEmpty() ? "x" : text, "1"));
  }

  private static List<String> all(TopicIndex index) {
    List<String> keys = new ArrayList<>();
    TopicIndex.Walk walk = index.walk();
    byte[] target = {};
    while (walk.seek(target, target.length)) {
      keys.add(Arrays.toString(walk.copy()));
      target = Arrays.copyOf(walk.copy(), walk.length() + 1);
    }
    return keys;
  }

  private static List<String> texts(NavigableSet<byte[]> keys) {
    return keys.stream().map(Arrays::toString).toList();
  }

  @Test
  void walksMeetEveryLastingKeyExactlyOnceDuringChanges() throws Exception {
    TopicIndex index = new TopicIndex();
    Set<String> stable = new HashSet<>();
    for (int i = 0; i < 5000; i += 5) {
      Publication message = Messages.message("t/" + i, "1");
      index.put(TopicKeys.of(message), SizeClass.of(1));
      stable.add(message.topic());
    }

    AtomicBoolean done = new AtomicBoolean();
    try (var pool = Executors.newVirtualThreadPerTaskExecutor()) {
      Future<?> writer = pool.submit(() -> {
        Random random = new Random(7);
        // Bursts of additions split blocks, bursts of removals empty them.
        for (int i = 0; !done.get(); i++) {
          int number = random.nextInt(5000);
          byte[] key = TopicKeys.of(Messages.message("t/" + number + (number % 5 == 0 ? "/x" : ""), "1"));
          if (i / 20_000 % 2 == 0) index.put(key, SizeClass.of(1));
          else index.remove(key);
        }
      });
      try {
        for (int round = 0; round < 20; round++) {
          List<String> met = new ArrayList<>();
          TopicIndex.Walk walk = index.walk();
          byte[] target = {};
          while (walk.seek(target, target.length)) {
            met.add(topic(walk));
            target = Arrays.copyOf(walk.copy(), walk.length() + 1);
          }
          assertThat(met).doesNotHaveDuplicates().containsAll(stable);
        }
      } finally {
        done.set(true);
      }
      writer.get();
    }
  }

  private static String topic(TopicIndex.Walk walk) {
    int prefix = TopicKeys.prefix(Messages.TENANT).length;
    return new String(walk.key(), prefix, walk.length() - prefix, StandardCharsets.UTF_8).replace('\0', '/');
  }
}
