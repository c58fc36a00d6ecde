/** The plan of a run: pools of clients, steps and expectations. Values only. */
@NullMarked
package dunlin.load.plan;

import org.jspecify.annotations.NullMarked;
