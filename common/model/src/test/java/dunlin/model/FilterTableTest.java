package dunlin.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class FilterTableTest {
  private static final byte[] ONE = "a/1".getBytes(StandardCharsets.UTF_8);
  private static final byte[] TWO = "a/2".getBytes(StandardCharsets.UTF_8);

  private final FilterTexts texts = new FilterTexts();
  private final FilterTable<String> table =
      new FilterTable<>(new PathHash(0x9E3779B97F4A7C15L, 0xD1B54A32D192ED03L), texts, 0);
  private final long path = table.hash.plus(table.hash.root(0));

  /** A reader may have the word of one filter and the value of the next; it must be able to detect that. */
  @Test
  void aWordNeverStandsForTwoFilters() {
    table.add(path, texts.append(0, ONE, ONE.length), true, "one");
    int place = table.find(path);
    long first = table.word(place);

    assertThat(table.clearFilter(place)).isTrue();
    assertThat(FilterTable.sameText(first, table.word(place))).isFalse();
    assertThat(table.value(place)).isNull();
    table.add(path, texts.append(0, TWO, TWO.length), true, "two");
    assertThat(table.find(path)).isEqualTo(place);
    assertThat(FilterTable.sameText(first, table.word(place))).isFalse();
    table.clearFilter(place);
    table.add(path, texts.append(0, ONE, ONE.length), true, "one again");

    assertThat(FilterTable.sameText(first, table.word(place))).isFalse();
    assertThat(texts.text(FilterTable.text(table.word(place)))).isEqualTo(ONE);
  }

  @Test
  void aTailIsGoneOnceItHasMovedDown() {
    table.add(path, texts.append(0, ONE, ONE.length), true, "one");
    int place = table.find(path);
    long tail = table.word(place);

    table.link(place, FilterTable.edge(ONE, 2, 3));

    assertThat(FilterTable.sameText(tail, table.word(place))).isFalse();
    assertThat(FilterTable.hasFilter(table.word(place))).isFalse();
    assertThat(table.value(place)).isNull();
    assertThat(table.unlink(place, FilterTable.edge(ONE, 2, 3))).isTrue();
    assertThat(table.wordOf(path)).isZero();
  }

  @Test
  void textsFillOneChunkAfterTheOther() {
    byte[] text = new byte[60_000];
    for (int i = 0; i < 50; i++) {
      text[0] = (byte) i;
      long offset = texts.append(1L << 40 | i, text, text.length - i);

      assertThat(texts.tenant(offset)).isEqualTo(1L << 40 | i);
      assertThat(texts.text(offset)).hasSize(text.length - i).startsWith(i);
    }
    assertThat(texts.size()).isBetween(50L * 59_000, 60L * 60_000);
  }
}
