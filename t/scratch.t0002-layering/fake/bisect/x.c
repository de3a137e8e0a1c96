#include "src/util/str.h"
