@NullMarked
package dunlin.load.scenario;

import org.jspecify.annotations.NullMarked;
