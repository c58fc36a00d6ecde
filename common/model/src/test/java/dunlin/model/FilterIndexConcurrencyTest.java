package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FilterIndexConcurrencyTest {
  private static final String TENANT = "t";

  /** A value with its filter, and whether that is never removed. */
  private record Value(String filter, boolean stays) {}

  /** An index, topics, and for each topic the number of matching filters that are never removed. */
  private record Round(FilterIndex<Value> index, List<String> topics, List<Integer> stayingMatches) {}

  @Test
  void readersFindEveryLastingFilterExactlyOnceDuringChanges() throws Exception {
    long seed = 42;
    var random = new Random(seed);
    var current = new AtomicReference<@Nullable Round>(newRound(random));
    long writes = 0;

    try (var threads = Executors.newFixedThreadPool(2)) {
      Callable<Long> reading = () -> read(current);
      var readers = List.of(threads.submit(reading), threads.submit(reading));
      // New indexes again and again: filters move down a level only when others are added beside them.
      long end = System.nanoTime() + Duration.ofSeconds(1).toNanos();
      while (System.nanoTime() < end) {
        Round round = newRound(random);
        current.set(round);
        var others = new ArrayList<String>();
        for (int i = 0; i < 3_000; i++, writes++) {
          if (i % 1_500 < 1_000 || others.isEmpty()) {
            String filter = Topics.filter(random, 4);
            Value there = round.index.get(TENANT, filter);
            if (there == null) others.add(filter);
            round.index.put(TENANT, filter, new Value(filter, there != null && there.stays));
          } else {
            round.index.remove(TENANT, others.removeLast());
          }
        }
      }
      current.set(null);

      for (var reader : readers) assertThat(reader.get()).as("topics matched, seed %d", seed).isGreaterThan(100);
    }
    assertThat(writes).isGreaterThan(1_000);
  }

  @Test
  void aFilterThatMovesDownIsFoundExactlyOnce() throws Exception {
    byte[] topic = "a/b/c".getBytes(StandardCharsets.UTF_8);
    var current = new AtomicReference<@Nullable FilterIndex<String>>(new FilterIndex<>());
    writeOneBehindTheOther(current);
    try (var threads = Executors.newSingleThreadExecutor()) {
      var reader =
          threads.submit(
              () -> {
                var found = new int[1];
                Consumer<String> counter =
                    value -> {
                      if (value.equals("a/b/c")) found[0]++;
                    };
                long matches = 0;
                for (FilterIndex<String> index; (index = current.get()) != null; matches++) {
                  found[0] = 0;
                  index.match(TENANT, topic, 0, topic.length, counter);
                  if (found[0] != 1) throw new AssertionError("found " + found[0] + " times");
                  if (!"a/b/c".equals(index.get(TENANT, "a/b/c"))) throw new AssertionError("not there");
                }
                return matches;
              });

      long end = System.nanoTime() + Duration.ofSeconds(1).toNanos();
      while (System.nanoTime() < end && !reader.isDone()) writeOneBehindTheOther(current);
      current.set(null);

      assertThat(reader.get()).isPositive();
    }
  }

  /** The first three puts each move the lasting filter down by a level. Fixed keys are quicker to create. */
  private static void writeOneBehindTheOther(AtomicReference<@Nullable FilterIndex<String>> current) {
    var index = new FilterIndex<String>(() -> 0x9E37_79B9_7F4A_7C15L);
    index.put(TENANT, "a/b/c", "a/b/c");
    current.set(index);
    for (String filter : List.of("x", "a/x", "a/b/x", "+/b/x", "a/b/c/#", "a/b", "a/+/c")) {
      index.put(TENANT, filter, filter);
    }
  }

  @Test
  void aPlaceThatChangesItsFilterNeverReturnsAnothersValue() throws Exception {
    var index = new FilterIndex<String>();
    var filters = List.of("a/1", "a/2", "a/+/x");
    index.put(TENANT, "b", "b"); // so that the other filters use the place of "a", one after the other
    var stop = new AtomicBoolean();
    try (var threads = Executors.newSingleThreadExecutor()) {
      var reader =
          threads.submit(
              () -> {
                // Only matching here: a wrong pair would be visible for about ten nanoseconds.
                byte[] topic = "a/1".getBytes(StandardCharsets.UTF_8);
                Consumer<String> check =
                    value -> {
                      if (!value.equals("a/1")) throw new AssertionError(value + " under a/1");
                    };
                long matches = 0;
                for (; !stop.get(); matches++) {
                  index.match(TENANT, topic, 0, topic.length, check);
                  if (matches % 16 != 0) continue;
                  String own = index.get(TENANT, "a/1");
                  if (own != null && !own.equals("a/1")) throw new AssertionError(own + " of a/1");
                }
                return matches;
              });

      long end = System.nanoTime() + Duration.ofSeconds(1).toNanos();
      while (System.nanoTime() < end && !reader.isDone()) {
        for (String filter : filters) {
          index.put(TENANT, filter, filter);
          index.remove(TENANT, filter);
        }
      }
      stop.set(true);

      assertThat(reader.get()).isPositive();
    }
  }

  private static Round newRound(Random random) {
    var index = new FilterIndex<Value>();
    var filters = new ArrayList<String>();
    for (int i = 0; i < 20; i++) {
      String filter = Topics.filter(random, 4);
      if (index.put(TENANT, filter, new Value(filter, true)) == null) filters.add(filter);
    }
    var topics = new ArrayList<String>();
    var matches = new ArrayList<Integer>();
    for (int i = 0; i < 20; i++) {
      String topic = Topics.topic(random, 4);
      topics.add(topic);
      matches.add((int) filters.stream().filter(filter -> TopicFilter.plain(filter).matches(topic)).count());
    }
    return new Round(index, topics, matches);
  }

  private static long read(AtomicReference<@Nullable Round> current) {
    long matched = 0;
    while (true) {
      Round round = current.get();
      if (round == null) return matched;
      for (int i = 0; i < round.topics.size(); i++, matched++) {
        String topic = round.topics.get(i);
        byte[] bytes = topic.getBytes(StandardCharsets.UTF_8);
        var found = new ArrayList<Value>();
        round.index.match(TENANT, bytes, 0, bytes.length, found::add);
        assertThat(found).allMatch(value -> TopicFilter.plain(value.filter).matches(topic));
        var staying = found.stream().filter(Value::stays).map(Value::filter).toList();
        assertThat(staying).as("lasting filters of '%s'", topic).doesNotHaveDuplicates();
        assertThat(staying).as("lasting filters of '%s'", topic).hasSize(round.stayingMatches.get(i));
      }
    }
  }
}
