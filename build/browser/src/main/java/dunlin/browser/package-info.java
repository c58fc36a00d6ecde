/**
 * A headless Chromium, for the tests of pages: that of the load test and that of the node. It is the one of the machine, and is driven by its
 * DevTools protocol over the JDK's own WebSocket. Tests that find none are skipped.
 */
@NullMarked
package dunlin.browser;

import org.jspecify.annotations.NullMarked;
