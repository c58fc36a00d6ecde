/** Reads YAML scenario files into plans. An error is one sentence with file and line. */
@NullMarked
package dunlin.load.scenario;

import org.jspecify.annotations.NullMarked;
