/**
 * The admin API: HTTP and JSON over the node's MXBeans, so that it and JMX do the same by the same code.
 *
 * <p>It promises that a request is answered or its connection closed within {@link dunlin.admin.AdminApi}'s time, that what a request may
 * say is checked against {@link dunlin.admin.api.Endpoints} before anything is called, and that nothing of it runs on an event loop. It
 * has no state but the tokens, the operators and the open streams of events. It serves the operations page as well, whose files are resources of this
 * package. See docs/admin-api.md, ADR 30, ADR 31 and ADR 38.
 */
@NullMarked
package dunlin.admin;

import org.jspecify.annotations.NullMarked;
