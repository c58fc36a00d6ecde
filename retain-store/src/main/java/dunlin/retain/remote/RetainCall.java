package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.retain.RetainClient.Cursor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a node asks of a range of retained messages: the calls of {@link dunlin.retain.RetainRangeClient}. */
sealed interface RetainCall {
  record Set(long epoch, Publication message) implements RetainCall {}

  record Add(long epoch, Publication message) implements RetainCall {}

  record Find(long epoch, String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) implements RetainCall {}

  record ListKeys(long epoch, byte[] prefix, byte[] from, int max) implements RetainCall {}

  record AskSums() implements RetainCall {}

  record AskHeld(List<String> tenants) implements RetainCall {}
}
