package dunlin.retain.remote;

import dunlin.model.Publication;
import dunlin.retain.RetainClient.Cursor;
import org.jspecify.annotations.Nullable;

/** What a frontend asks of the retain tier: the calls of {@link dunlin.retain.RetainClient}. */
sealed interface RetainCall {
  record Set(Publication message) implements RetainCall {}

  record Find(String tenant, String filter, @Nullable Cursor after, int messagesMax, int bytesMax) implements RetainCall {}

  record Count() implements RetainCall {}
}
