/* Translates lines with libresidual's C functions:
 *
 *   translate MODEL [SETTINGS] < lines > translations
 */

#define _POSIX_C_SOURCE 200809L /* getline */

#include <residual/residual.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(void) {
  fprintf(stderr, "translate: %s\n", residual_error());
  return 1;
}

int main(int argc, char** argv) {
  char* buffer = NULL;
  size_t size = 0;
  residual_translator* translator;
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: translate MODEL [SETTINGS]\n%s", residual_settings());
    return 2;
  }
  translator = residual_open(argv[1], argc > 2 ? argv[2] : NULL);
  if (!translator) return fail();
  while (getline(&buffer, &size, stdin) >= 0) {
    residual_translations* found;
    const char* line = buffer;
    buffer[strcspn(buffer, "\n")] = '\0';
    found = residual_translate(translator, &line, 1);
    if (!found) return fail();
    puts(residual_text(found, 0, 0));
    residual_free(found);
  }
  free(buffer);
  residual_close(translator);
  return 0;
}
