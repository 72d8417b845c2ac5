#include "kernels/instruction_set.h"

#include "kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/instruction_set.cpp"  // NOLINT: read once per instruction set
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace residual::kernels::HWY_NAMESPACE {

const char* name() {
  return HWY_TARGET == HWY_AVX2 && has_avx_vnni() ? "AVX2_VNNI" : hwy::TargetName(HWY_TARGET);
}

}  // namespace residual::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace residual::kernels {

HWY_EXPORT(name);

bool has_avx_vnni() { return (hwy::SupportedTargets() & RESIDUAL_AVX_VNNI) != 0; }

const char* instruction_set() {
  hwy::SupportedTargets();  // refuses a wrong RESIDUAL_CPU also where there is one target only
  return HWY_DYNAMIC_DISPATCH(name)();
}

}  // namespace residual::kernels
#endif
