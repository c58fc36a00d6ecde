package dunlin.documents;

import com.sun.source.tree.AnnotationTree;
import com.sun.source.tree.AssignmentTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreeScanner;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * A tag on a test, read from the sources of any module by the compiler's parser, so that tests need not be on this
 * module's class path.
 *
 * @param file relative to the root of the repository
 * @param name the class, and the method if the tag is on one
 * @param runs whether each build runs it as a test, and not only one with the profile thorough
 */
record TaggedTest(String tag, Path file, String name, boolean runs) {
  private static final Set<String> TESTS = Set.of("Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate");
  private static final String THOROUGH = "thorough";
  private static final Path SOURCES = Path.of("src", "test", "java");
  private static final int MODULE_DEPTH = 2;

  /** All tags, module by module in the order of their paths. */
  static List<TaggedTest> inModulesBelow(Path root) throws IOException {
    var compiler = ToolProvider.getSystemJavaCompiler();
    try (var manager = compiler.getStandardFileManager(null, null, StandardCharsets.UTF_8)) {
      var task = (JavacTask) compiler.getTask(null, manager, null, List.of("-proc:none"), null, units(manager, root));
      List<TaggedTest> found = new ArrayList<>();
      for (CompilationUnitTree unit : task.parse()) {
        Path file = root.toAbsolutePath().normalize().relativize(Path.of(unit.getSourceFile().toUri()));
        new Finder(file, found).scan(unit, null);
      }
      return found;
    }
  }

  private static Iterable<? extends JavaFileObject> units(StandardJavaFileManager manager, Path root) throws IOException {
    List<Path> files = new ArrayList<>();
    for (Path module : modules(root)) {
      try (Stream<Path> sources = Files.walk(module.resolve(SOURCES))) {
        sources.filter(file -> file.toString().endsWith(".java")).sorted().forEach(files::add);
      }
    }
    return manager.getJavaFileObjectsFromPaths((Collection<Path>) files);
  }

  private static List<Path> modules(Path root) throws IOException {
    try (Stream<Path> folders = Files.walk(root.toAbsolutePath().normalize(), MODULE_DEPTH)) {
      return folders.filter(folder -> Files.isDirectory(folder.resolve(SOURCES))).sorted().toList();
    }
  }

  /** Walks one file, and tracks the enclosing classes. */
  private static final class Finder extends TreeScanner<@Nullable Void, @Nullable Void> {
    private final Path file;
    private final List<TaggedTest> found;
    private final Deque<String> classes = new ArrayDeque<>();

    /** The class among {@link #classes} that only the profile runs, with all that is in it. */
    private @Nullable ClassTree thorough;

    Finder(Path file, List<TaggedTest> found) {
      this.file = file;
      this.found = found;
    }

    @Override
    public @Nullable Void visitClass(ClassTree type, @Nullable Void none) {
      classes.addLast(type.getSimpleName().toString());
      if (thorough == null && isThorough(type.getModifiers())) thorough = type;
      note(type.getModifiers(), String.join(".", classes), true);
      super.visitClass(type, null);
      if (type.equals(thorough)) thorough = null;
      classes.removeLast();
      return null;
    }

    @Override
    public @Nullable Void visitMethod(MethodTree method, @Nullable Void none) {
      boolean test = method.getModifiers().getAnnotations().stream().anyMatch(each -> TESTS.contains(nameOf(each)));
      note(method.getModifiers(), String.join(".", classes) + '.' + method.getName(), test);
      return super.visitMethod(method, null);
    }

    private void note(ModifiersTree modifiers, String name, boolean test) {
      String outermost = classes.getFirst();
      boolean disabled = modifiers.getAnnotations().stream().anyMatch(each -> nameOf(each).startsWith("Disabled"));
      boolean runs = test && !disabled && thorough == null && !isThorough(modifiers) && (outermost.endsWith("Test") || outermost.endsWith("IT"));
      for (AnnotationTree annotation : modifiers.getAnnotations()) {
        if (nameOf(annotation).equals("Tag")) found.add(new TaggedTest(valueOf(annotation), file, name, runs));
      }
    }

    private static boolean isThorough(ModifiersTree modifiers) {
      return modifiers.getAnnotations().stream().anyMatch(each -> nameOf(each).equals("Tag") && valueOf(each).equals(THOROUGH));
    }

    private static String nameOf(AnnotationTree annotation) {
      String name = annotation.getAnnotationType().toString();
      return name.substring(name.lastIndexOf('.') + 1);
    }

    private static String valueOf(AnnotationTree annotation) {
      ExpressionTree argument = annotation.getArguments().getFirst();
      ExpressionTree value = argument instanceof AssignmentTree assignment ? assignment.getExpression() : argument;
      // Only literals: a search would not find a tag in a constant.
      if (value instanceof LiteralTree literal) return String.valueOf(literal.getValue());
      throw new IllegalArgumentException("a tag that is not a string literal: " + annotation);
    }
  }
}
