/** A result as text, JSON, CSV, Markdown and a page. */
@NullMarked
package dunlin.load.report;

import org.jspecify.annotations.NullMarked;
