/**
 * Sends what hops do with messages as spans to a collector of OpenTelemetry, on request.
 *
 * <p>It promises that nothing is done for it without the setting, that a collector which is slow or gone costs memory within bounds and holds up no message, and that
 * each span that is not sent is counted. See docs/tracing.md and ADR 47.
 */
@NullMarked
package dunlin.admin.spans;

import org.jspecify.annotations.NullMarked;
