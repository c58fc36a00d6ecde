/**
 * What the endpoints of the admin API do: each is an operation of an MXBean, whose refusals become HTTP statuses with a sentence.
 *
 * <p>It promises that each endpoint of {@link dunlin.admin.api.Endpoints} has an action, and that an action begins with parameters that are within their bounds. It
 * knows no HTTP but the statuses, keeps nothing between two requests, and runs on the thread of the request, which may block. See ADR 30.
 */
@NullMarked
package dunlin.admin.operate;

import org.jspecify.annotations.NullMarked;
