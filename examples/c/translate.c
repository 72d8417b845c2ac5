/* translate MODEL [SETTINGS] < lines > translations, with libresidual's C functions. */

#include <residual/residual.h>
#include <stdio.h>
#include <string.h>

static int fail(void) {
  fprintf(stderr, "translate: %s\n", residual_error());
  return 1;
}

int main(int argc, char** argv) {
  static char buffer[1 << 16];
  const char* line = buffer;
  residual_translator* translator;
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: translate MODEL [SETTINGS]\n%s", residual_settings());
    return 2;
  }
  translator = residual_open(argv[1], argc > 2 ? argv[2] : NULL);
  if (!translator) return fail();
  while (fgets(buffer, sizeof buffer, stdin)) {
    residual_translations* found;
    buffer[strcspn(buffer, "\n")] = '\0';
    found = residual_translate(translator, &line, 1);
    if (!found) return fail();
    puts(residual_text(found, 0, 0));
    residual_free(found);
  }
  residual_close(translator);
  return 0;
}
