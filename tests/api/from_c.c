/* from_c MODEL < lines: the translations of all lines in one call, each with its score, as
 * "text<TAB>score". Ends with 1 and the name of a check that does not hold. */

#include <math.h>
#include <residual/residual.h>
#include <stdio.h>
#include <string.h>

#define CHECK(holds)                                       \
  if (!(holds)) {                                          \
    fprintf(stderr, "%s: %s\n", #holds, residual_error()); \
    return 1;                                              \
  }

enum { kLines = 100, kLength = 1000 };

static int check_failures(void) {
  residual_free(NULL);
  residual_close(NULL);
  CHECK(residual_open(NULL, NULL) == NULL);
  CHECK(strcmp(residual_error(), "model is a null pointer") == 0);
  CHECK(residual_translate(NULL, NULL, 0) == NULL);
  CHECK(residual_text(NULL, 0, 0) == NULL);
  CHECK(isnan(residual_score(NULL, 0, 0)));
  CHECK(residual_ranks(NULL, 0) == 0);
  CHECK(residual_log_probabilities(NULL, NULL, NULL, 0, NULL) == -1);
  return 0;
}

int main(int argc, char** argv) {
  static char text[kLines][kLength];
  const char* lines[kLines];
  size_t count = 0, i;
  residual_translator* translator;
  residual_translations* found;
  CHECK(argc == 2);
  CHECK(check_failures() == 0);
  CHECK(strcmp(residual_version(), "") != 0);
  CHECK(strstr(residual_settings(), "beam = 5") != NULL);
  while (count < kLines && fgets(text[count], kLength, stdin)) {
    text[count][strcspn(text[count], "\n")] = '\0';
    lines[count] = text[count];
    ++count;
  }
  translator = residual_open(argv[1], NULL);
  CHECK(translator != NULL);
  found = residual_translate(translator, lines, count);
  CHECK(found != NULL);
  CHECK(residual_error()[0] == '\0');
  for (i = 0; i < count; ++i) {
    CHECK(residual_ranks(found, i) == 1);
    printf("%s\t%.4f\n", residual_text(found, i, 0), residual_score(found, i, 0));
  }
  CHECK(residual_text(found, count, 0) == NULL);
  CHECK(residual_text(found, 0, 1) == NULL);
  residual_free(found);
  residual_close(translator);
  return 0;
}
