/** Scenario files: YAML to a plan, and what is wrong with one in a sentence that names file and line. */
@NullMarked
package dunlin.load.scenario;

import org.jspecify.annotations.NullMarked;
