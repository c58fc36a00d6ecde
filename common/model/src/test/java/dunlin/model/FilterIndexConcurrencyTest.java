package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FilterIndexConcurrencyTest {
  private static final String TENANT = "t";

  /** A value that knows its filter and whether it stays for the life of its index. */
  private record Value(String filter, boolean stays) {}

  /** An index with the filters of it that are never removed, and topics with how many of those they match. */
  private record Round(FilterIndex<Value> index, List<String> topics, List<Integer> stayingMatches) {}

  @Test
  void readersFindWhatStaysExactlyOnceWhateverTheWriterDoes() throws Exception {
    long seed = 42;
    var random = new Random(seed);
    var current = new AtomicReference<@Nullable Round>(newRound(random));
    long writes = 0;

    try (var threads = Executors.newFixedThreadPool(2)) {
      Callable<Long> reading = () -> read(current);
      var readers = List.of(threads.submit(reading), threads.submit(reading));
      // Fresh indexes again and again: filters move down a level only while their neighbourhood is young.
      long end = System.nanoTime() + Duration.ofSeconds(2).toNanos();
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
        assertThat(staying).as("what stays under '%s'", topic).doesNotHaveDuplicates();
        assertThat(staying).as("what stays under '%s'", topic).hasSize(round.stayingMatches.get(i));
      }
    }
  }
}
